"""Which operator of a graph works next, where one works at a time.

depth first    the newest batch goes on before anything else
a round        every operator in turn, with a quantum in proportion to its queue
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from driftline.engine.core.batch import Batch
from driftline.engine.core.marks import Mark

if TYPE_CHECKING:
    from driftline.engine.core.graph import Graph, Step

QUANTUM = 0.5
"""The share of its queue that an operator works off in one turn of round-robin."""


def depth_first(graph: Graph) -> None:
    """Work everything off. Where only one operator follows, and nothing waits there, what comes out
    goes to it without lying in its queue."""
    waiting = [step for step in reversed(graph.steps) if step.queue.items]
    directly = graph.expiry != "time-message"  # which takes batches apart on their way
    while waiting:
        step = waiting[-1]
        taken = step.queue.take()
        if taken is None:
            waiting.pop()
            continue
        while (output := graph.output_of(step, *taken)) is not None:
            following = step.outputs
            if len(following) == 1 and directly and isinstance(output, Batch):
                target, port = following[0]
                if target.queue.is_open:
                    step, taken = target, (port, output)
                    continue
            graph.hand_on(step, output)
            waiting += [target for target, _ in reversed(following)]
            break
        else:
            if step.queue.items:  # its batch was split
                waiting.append(step)


def work_a_round(graph: Graph) -> None:
    """One turn of round-robin. A token is no work: it goes on behind what is before it."""
    for step in graph.steps:
        items = step.queue.items
        left = max(1, int(QUANTUM * len(items))) if items else 0
        while items:
            if isinstance(items[0][1], Mark):
                _pass_token(graph, step)
                continue
            if left <= 0 or (taken := step.queue.take()) is None:
                break
            if isinstance(taken[1], Batch):
                left -= 1
            graph.work_on(step, *taken)
        if step.operator.runs_free:
            graph.work(step)


def _pass_token(graph: Graph, step: Step) -> None:
    """Hand a token on that is the next in the queue of a step, if it has come at all ports."""
    token = step.queue.pass_token()
    if token is None:
        return
    if step in graph.mark_sinks or step.operator.runs_free or graph.passed is not None:
        graph.has_passed(step, token)
    for target, port in step.outputs:
        target.queue.append(port, token)
