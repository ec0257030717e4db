"""Where a graph has to hear that time has passed (see `lifetimes.expire`).

An expire operator stands behind every chain of operators that leave lifetimes as they are, from a
source or a window on, and before what acts on time: snapshot operators, and joins, which themselves
know when what they have put out ends.

An operator with several ports goes by the least of their times, and a window farther up makes ends
of which nothing below knows: on the way to either every now-mark goes on. Right before the last
operator with several ports it goes on silently if nothing ends (see `queues`).
"""

from __future__ import annotations

from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.snapshot_operator import EAGER, SnapshotOperator
from driftline.engine.lifetimes.expire import Expire, NegativeTuples
from driftline.model.level import Level
from driftline.plan.choices import Expiry


def hear_of_time(graph: Graph, expiry: Expiry, level: Level) -> None:
    """Let the operators of a finished graph hear of time. At `eager` all ends are emitted in
    advance, so that only negative tuples make a difference."""
    if expiry == "ita" or (level is Level.EAGER and expiry != "nta"):
        return
    graph.expiry = expiry
    unheard = {id(step) for targets in graph.sources.values() for step, _ in targets}
    for step in list(graph.steps):  # inputs come before what they go into
        acts = _acts(step, expiry) or step.operator.knows_ends
        if acts or not (step.operator.sets_ends or id(step) in unheard):
            continue
        unheard |= {id(target) for target, _ in step.outputs}
        _expire(graph, step, expiry)
    for step in graph.steps:
        operator = step.operator
        if isinstance(operator, Expire | NegativeTuples) or operator.knows_ends:
            every = _needs_every(step)
            step.passes_silently = every and _only_ports(step)
            operator.pass_on(every=every and not step.passes_silently)


def _acts(step: Step, expiry: Expiry) -> bool:
    """Whether an operator does something as time passes."""
    operator = step.operator
    return isinstance(operator, SnapshotOperator) and (expiry == "nta" or operator.level != EAGER)


def _expire(graph: Graph, step: Step, expiry: Expiry) -> None:
    """Put an expire operator between a step and what acts on time behind it. Negative tuples also
    come out, if the step is the last one."""
    behind = [
        each for each in step.outputs if _acts(each[0], expiry) or each[0].operator.knows_ends
    ]
    is_last = expiry == "nta" and any(last is step for last, _ in graph.sinks)
    if not behind and not is_last:
        return
    schema = step.operator.schema
    operator = NegativeTuples(schema) if expiry == "nta" else Expire(schema)
    expire = graph.add("expire", operator, wants_order=False)
    graph.steps.insert(graph.steps.index(step) + 1, graph.steps.pop())
    expire.outputs = behind
    step.outputs = [each for each in step.outputs if each not in behind]
    graph.connect(step, expire, 0)
    if is_last:
        graph.sinks = [(expire if last is step else last, sink) for last, sink in graph.sinks]


def _only_ports(step: Step) -> bool:
    """Whether a step goes into operators with several ports, and what follows these may miss times
    at which nothing ends."""
    return all(target.operator.ports > 1 and not _needs_every(target) for target, _ in step.outputs)


def _needs_every(step: Step) -> bool:
    """Whether something farther up has several ports, or makes ends of its own."""
    waiting = [step]
    while waiting:
        for target, _ in waiting.pop().outputs:
            if target.operator.ports > 1 or isinstance(target.operator, Expire | NegativeTuples):
                return True
            waiting.append(target)
    return False
