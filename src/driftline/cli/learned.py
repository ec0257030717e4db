"""Prints at the end of a run what it has learned of the time of streams."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from driftline.running.learned import Learned

if TYPE_CHECKING:
    from driftline.plan.nodes import Source


def say_learned(sources: Mapping[str, Source], found: Mapping[str, Learned]) -> None:
    """Print a line about every stream whose time was estimated, on standard error."""
    for name, each in found.items():
        shown = Learned(each.disorder, each.skew, each.records, sources[name].timestamps)
        print(
            f"driftline: the time of {name} was guessed: {shown}. Declare disorder to be sure, or "
            "heartbeats = 'none' to wait",
            file=sys.stderr,
        )
