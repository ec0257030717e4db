"""Outputs cut where they belong to a prefix of the inputs.

    outputs = free      updates as they come
              marked    updates as they come, and at every consistent state its prefix
              held      updates only with such a mark: all that lead to one state, at once

An output state is consistent when it is the exact answer for a prefix of each input. After a
drained batch every state is; in a graph that runs free, a state where a token comes out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from driftline.engine.core.batch import Batch
from driftline.model.prefix import Prefix
from driftline.plan.choices import Outputs


@dataclass
class _Emitted:
    """Updates of several queries, by their names, and the prefixes whose answers these are now."""

    batches: dict[str, list[Batch]] = field(default_factory=dict)
    prefixes: dict[str, Prefix] = field(default_factory=dict)


class Collector:
    """Takes what a graph emits, in whatever thread, until it is asked for. `every_mark`: of marks
    that nothing was emitted between, all go out, and not only the last."""

    def __init__(self, names: Iterable[str], outputs: Outputs, *, every_mark: bool = True) -> None:
        self.outputs, self.every_mark = outputs, every_mark
        self.emitted: dict[str, deque[Batch | Prefix]] = {name: deque() for name in names}

    def sink(self, name: str) -> Callable[[Batch], None]:
        return self.emitted[name].append

    def mark(self, name: str, prefix: Prefix) -> None:
        """What the query has emitted so far is the answer for a prefix."""
        if self.outputs != "free":
            self.emitted[name].append(prefix)

    def take(self) -> list[_Emitted]:
        """All that may go out, cut behind every mark; at least one piece, if it is empty."""
        pieces: list[_Emitted] = []
        names = list(self.emitted)
        for row in zip_longest(*map(self._cut, self.emitted.values())):
            piece = _Emitted()
            for name, cut in zip(names, row, strict=True):
                if cut is not None:
                    piece.batches[name], prefix = cut
                    if prefix is not None:
                        piece.prefixes[name] = prefix
            pieces.append(piece)
        return pieces or [_Emitted()]

    def _cut(self, emitted: deque[Batch | Prefix]) -> Iterator[tuple[list[Batch], Prefix | None]]:
        batches: list[Batch] = []
        mark: Prefix | None = None
        for _ in range(len(emitted)):  # what is put in meanwhile is for the next time
            item = emitted.popleft()
            is_mark = isinstance(item, Prefix)
            if mark is not None and (self.every_mark or not is_mark):
                yield batches, mark
                batches, mark = [], None
            if isinstance(item, Prefix):
                mark = item
            else:
                batches.append(item)
        if mark is not None:
            yield batches, mark
            return
        if self.outputs == "held":
            emitted.extendleft(reversed(batches))
        elif batches:
            yield batches, None
