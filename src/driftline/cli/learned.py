"""Prints what a run has learned of the time of streams: at its end, or while it goes on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from driftline.running.learned import Learned, learned

if TYPE_CHECKING:
    from driftline.engine.step_outputs import Counted
    from driftline.plan.nodes import Source

TIMES = 2
"""An estimate that has become so many times as much, or as little, is worth another line."""


def say_learned(sources: Mapping[str, Source], found: Mapping[str, Learned]) -> None:
    """Print a line about every stream whose time was estimated, on standard error."""
    for name, each in found.items():
        _say(f"{_line(name, 'was', each, sources)}. {WHAT_TO_DO}")


class Learning:
    """A run that goes on, and may never end: what it has learned is printed when there is an
    estimate, and again when it has changed much. `said`: what was printed last, by stream."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self.sources = sources
        self.said: dict[str, Learned] = {}

    def take(self, counters: Counted) -> None:
        """What operators have counted so far."""
        for name, each in learned(counters).items():
            before = self.said.get(name)
            if before is None:
                _say(f"{_line(name, 'is', each, self.sources)}. {WHAT_TO_DO}")
            elif _has_changed(before.disorder, each.disorder) or _has_changed(
                before.skew, each.skew
            ):
                _say(f"{_line(name, 'is', each, self.sources)}")
            else:
                continue
            self.said[name] = each


WHAT_TO_DO = "Declare disorder to be sure, or heartbeats = 'none' to wait"


def _line(name: str, tense: str, each: Learned, sources: Mapping[str, Source]) -> str:
    shown = Learned(each.disorder, each.skew, each.records, sources[name].timestamps)
    return f"driftline: the time of {name} {tense} guessed: {shown}"


def _has_changed(before: int, now: int) -> bool:
    low, high = sorted((before, now))
    return high >= TIMES * max(low, 1)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
