"""Progress of a loop that runs free, by the three methods: the W query of the recursion paper, over
tosses of a coin with a window of 30.

Time is simulated: a turn of the loop is a unit of it. Ten tosses come at once, with a punctuation;
what is varied is how far every hundredth toss comes before its turn, how much time there is from
one punctuation to the next, and how likely all tosses between two punctuations are missing.

    lag        mean over time of real progress (the earliest change that is still to come) less
               explicit progress (the latest cti)
    silence    the longest time between two outputs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import mean
from typing import get_args

import numpy as np
import pyarrow as pa

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.loop.change_times import change_times
from driftline.engine.loop.free import FreeLoop
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Loops
from workloads.coin_tosses import bring_constants, w_query

METHODS: tuple[Loops, ...] = get_args(Loops)
TOGETHER, OUT_OF_ORDER = 10, 100

Output = tuple[int, int, int]
"""When it was emitted, its earliest change, and its cti."""


@dataclass(frozen=True)
class Input:
    """`early`: by how many punctuations every hundredth toss comes before its turn; `every`: the
    time from one punctuation to the next; `lull`: how likely there is nothing between two."""

    early: int = 0
    every: int = 12
    lull: float = 0.0


@dataclass(frozen=True)
class Found:
    """What one method did with one input."""

    lag: float
    speculative: int
    definite: int
    join_rows: float
    silence: int
    turns: int


def progress_of(method: Loops, given: Input, tosses: int) -> Found:
    query, made = w_query("loop"), list[Batch]()
    graph = compile_plan(query.plan, made.append, Level.EAGER, "round-robin", loop=method)
    bring_constants(query, graph)
    (loop,) = (each.operator for each in graph.steps if isinstance(each.operator, FreeLoop))
    outputs: list[Output] = []
    held: list[int] = []
    before = replace(loop.counters)

    def work() -> None:
        graph.turn()
        held.append(loop.counters.join_rows)
        outputs.extend((loop.counters.turns, change_times(each)[0], each.cti) for each in made)
        made.clear()

    for when, batch in _batches(given, tosses):
        while loop.counters.turns < when:
            work()
        graph.admit("tape", batch)
        work()
    while loop.has_work():
        work()
    times = [when for when, _, _ in outputs]
    return Found(
        _lag(outputs),
        loop.counters.speculative - before.speculative,
        loop.counters.definite - before.definite,
        mean(held),
        int(np.diff(times).max()),
        loop.counters.turns,
    )


def _lag(outputs: list[Output]) -> float:
    """From the first cti to the last output that changes something."""
    to_come = np.minimum.accumulate([earliest for _, earliest, _ in outputs][::-1])[::-1]
    explicit = np.maximum.accumulate([cti for _, _, cti in outputs])
    total = time = 0
    for number in range(len(outputs) - 1):
        real = int(to_come[number + 1])
        if explicit[number] == BEGINNING or real == INFINITY:
            continue
        lasts = outputs[number + 1][0] - outputs[number][0]
        total += (real - int(explicit[number])) * lasts
        time += lasts
    return total / max(time, 1)


def _batches(given: Input, tosses: int) -> Iterator[tuple[int, Batch]]:
    """The tosses that come together, with a punctuation, and when."""
    random = np.random.default_rng(1)
    heads, number = random.integers(0, 2, tosses), np.arange(tosses)
    comes_with = number // TOGETHER
    is_early = number % OUT_OF_ORDER == OUT_OF_ORDER - 1
    comes_with = np.maximum(np.where(is_early, comes_with - given.early, comes_with), 0)
    is_lull = random.random(tosses // TOGETHER + 1) < given.lull
    for group in range(tosses // TOGETHER):
        some = number[(comes_with == group) & ~is_lull[number // TOGETHER]]
        rows = pa.RecordBatch.from_arrays(
            [pa.array(some), pa.array(["D", "U"]).take(pa.array(heads[some]))], ["n", "toss"]
        )
        ones, never = np.ones(len(some), np.int64), np.full(len(some), INFINITY)
        high = int(some.max(initial=BEGINNING))
        yield group * given.every, Batch(some, never, ones, rows, (group + 1) * TOGETHER, high)
