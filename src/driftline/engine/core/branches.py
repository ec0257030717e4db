"""Branches of a graph that do not wait for each other work at the same time, if much lies in their
queues: kernels let other threads run. Where branches meet, what they bring is queued in the order
of the plan: what comes out does not depend on which was first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING

from driftline.engine.core.batch import Batch
from driftline.engine.core.queues import Item

if TYPE_CHECKING:
    from driftline.engine.core.graph import Graph, Step

WORTH_A_THREAD = 10_000
"""The number of changes in a queue from which on branches run in threads."""


def is_worth_threads(steps: Iterable[Step]) -> bool:
    return any(
        isinstance(item, Batch) and len(item) >= WORTH_A_THREAD
        for step in steps
        if step.queue.items
        for _, item in step.queue.items
    )


def branch_by_branch(graph: Graph) -> None:
    """Let the first steps that have something to do work all of it off, each with those after it
    that have no other input, and the longest of them in threads."""
    while waiting := [step for step in graph.steps if step.queue]:
        ready = [step for step in waiting if not any(each.leads_to(step) for each in waiting)]
        futures = [_pool().submit(copy_context().run, _work_off, graph, step) for step in ready[1:]]
        try:
            brought = [_work_off(graph, ready[0])]
        finally:
            wait(futures)
        brought += [future.result() for future in futures]
        for last, outputs in brought:
            for output in outputs:
                graph.hand_on(last, output)


def _work_off(graph: Graph, step: Step) -> tuple[Step, list[Item]]:
    """Work off a queue, through the chain of steps that are fed by nothing else. Returns the last
    of these, and what it has put out."""
    while True:
        outputs = []
        while (taken := step.queue.take()) is not None:
            output = graph.output_of(step, *taken)
            if output is not None:
                outputs.append(output)
        following = [target for target, _ in step.outputs]
        if len(following) != 1 or following[0].operator.ports != 1:
            return step, outputs
        for output in outputs:
            graph.hand_on(step, output)
        step = following[0]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="driftline")
