"""What is measured of a run of the tour's question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from driftline.model.time import TICKS_PER_SECOND

if TYPE_CHECKING:
    import pyarrow as pa

Answer = dict[tuple[str, int], tuple[int, int]]
"""By symbol and end of a minute: how many trades, and how many shares."""


@dataclass(frozen=True)
class Measured:
    """`answer`: what is left in the end; `first`: what was emitted first for each minute; `delays`:
    how long after the end of each minute that was, in ticks of the feed's clock; `taken_back`: how
    many answers were; `state_rows`: the most that was held; `left_out`: how many events had no
    part; `history`: all that was emitted, as a bitemporal table."""

    answer: Answer
    first: Answer
    delays: list[int]
    taken_back: int
    state_rows: int
    left_out: int
    history: pa.Table | None = None

    @property
    def wait(self) -> float:
        """The median delay, in seconds."""
        return median(self.delays) / TICKS_PER_SECOND


def delays(first: Mapping[int, Answer], clock: Sequence[int]) -> list[int]:
    """How long each first answer took after the end of its minute: `first` has them by the number
    of the micro-batch, `clock` has the time after each."""
    return [clock[number] - end for number, answer in first.items() for _, end in answer]


def differing(answer: Answer, truth: Answer) -> int:
    """How many results are wrong, missing ones included.

    >>> differing({("A", 1): (1, 5)}, {("A", 1): (1, 6), ("B", 1): (2, 2)})
    2
    """
    return sum(answer.get(key) != truth.get(key) for key in answer.keys() | truth.keys())
