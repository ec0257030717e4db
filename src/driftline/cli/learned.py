"""What a run has learned of the time of streams that nobody has declared bounds for.

Runners count it with what operators do; it is the same in every shard.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.model.time import TICKS_PER_SECOND

if TYPE_CHECKING:
    from driftline.plan.nodes import Source


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


def learned(counters: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Learned]:
    """By stream, from what the operators of runs or shards have counted: where several have watched
    a stream, the one that has seen most of it.

    >>> seen = {"guessed_disorder": 4, "guessed_skew": 7, "learned_from": 500}
    >>> print(learned([{"s: finalize": seen}, {"s (2): finalize": {"changes_in": 3}}])["s"])
    records are about 4 out of order, and 7 behind the latest, learned from 500
    """
    found: dict[str, Learned] = {}
    for each in counters:
        for operator, counted in each.items():
            records = counted.get("learned_from", 0)
            name = operator.split(":")[0].split(" (")[0]
            if records and (name not in found or found[name].records < records):
                found[name] = Learned(counted["guessed_disorder"], counted["guessed_skew"], records)
    return found


def say_learned(sources: Mapping[str, Source], found: Mapping[str, Learned]) -> None:
    """A word about every stream whose time was guessed, on standard error."""
    for name, each in found.items():
        shown = Learned(each.disorder, each.skew, each.records, sources[name].timestamps)
        print(
            f"driftline: the time of {name} was guessed: {shown}. Declare disorder to be sure, or "
            "heartbeats = 'none' to wait",
            file=sys.stderr,
        )


def span(ticks: int, timestamps: bool) -> str:
    """A stretch of a stream's time, in its own units.

    >>> span(1_500_000, True), span(15, False)
    ('1.5 s', '15')
    """
    return f"{ticks / TICKS_PER_SECOND:g} s" if timestamps else str(ticks)
