"""What a run has learned of the time of streams without declared bounds.

Runners count it with what operators do; it is the same in every shard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.model.time import TICKS_PER_SECOND

if TYPE_CHECKING:
    from driftline.engine.step_outputs import Counted


@dataclass(frozen=True)
class Learned:
    """How far records are out of order and behind the latest, and from how many that is known."""

    disorder: int
    skew: int
    records: int
    timestamps: bool = False

    def __str__(self) -> str:
        return (
            f"records are about {span(self.disorder, self.timestamps)} out of order, and "
            f"{span(self.skew, self.timestamps)} behind the latest, learned from {self.records:,}"
        )


def learned(counters: Counted) -> dict[str, Learned]:
    """By stream, from what the operators of a run have counted: where several shards or ports have
    watched a stream, by the one that has seen most of it."""
    found: dict[str, Learned] = {}
    for key, counted in counters.items():
        records = counted.get("learned_from", 0)
        if records and (key.source not in found or found[key.source].records < records):
            guess = Learned(counted["guessed_disorder"], counted["guessed_skew"], records)
            found[key.source] = guess
    return found


def span(ticks: int, timestamps: bool) -> str:
    """A stretch of a stream's time, in its own units.

    >>> span(1_500_000, True), span(15, False)
    ('1.5 s', '15')
    """
    return f"{ticks / TICKS_PER_SECOND:g} s" if timestamps else str(ticks)
