"""When tokens are put into the sources, and what each of them stands for.

    prefix(n) = how many events of every source stand before the n-th token

All sources get their token at the same moment, after `period` events of whichever source: so a
token waits for no rows, and a source that is silent or has ended holds none back. An adaptive
period is as short as it can be without work piling up: it is halved while the queues keep up, and
doubled when they hold more than came in since the last token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from driftline.engine.core.marks import Mark, MarkKind
from driftline.model.prefix import Prefix
from driftline.plan.choices import ADAPTIVE
from driftline.plan.choices import Tokens as Period

SHORTEST, LONGEST = 64, 1 << 20
"""The bounds of an adaptive period, in events."""


class Tokens:
    """`length`: the events from one token to the next; `prefixes`: by token, until it
    has come out everywhere (`reached`: the latest of every output)."""

    def __init__(self, period: Period, at_first: int, outputs: Iterable[str]) -> None:
        self.reached = dict.fromkeys(outputs, 0)
        self.is_adaptive = period == ADAPTIVE
        self.length = at_first if period == ADAPTIVE else period
        self.inserted = 0
        self.behind = 0  # so many events stands the latest token
        self.prefixes: dict[int, Prefix] = {}

    def next(self, prefix: Prefix, backlog: Callable[[], int], *, at_once: bool) -> Mark | None:
        """The token to put into every source behind a prefix, if it is time for one; `backlog`:
        how many changes lie in the queues."""
        since = sum(prefix.events.values()) - self.behind
        if since < self.length and not at_once:
            return None
        if self.is_adaptive:
            length = self.length // 2 if backlog() <= since else self.length * 2
            self.length = min(max(length, SHORTEST), LONGEST)
        self.behind += since
        self.inserted += 1
        self.prefixes[self.inserted] = prefix
        return Mark(MarkKind.TOKEN, self.inserted)

    def came_out(self, output: str, token: Mark) -> Prefix:
        """The prefix of a token that has come out; what no output waits for is forgotten."""
        prefix = self.prefixes[token.number]
        self.reached[output] = token.number
        last = min(self.reached.values())
        for number in [number for number in list(self.prefixes) if number <= last]:
            self.prefixes.pop(number, None)
        return prefix
