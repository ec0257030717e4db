"""What a heartbeat generator knows of each source, for people: `--explain-time` and the docs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING


@dataclass(frozen=True)
class SourceReport:
    """One source. Times are ticks; BEGINNING where nothing is known yet."""

    source: int
    arrivals: int
    greatest: int
    last_arrival: int
    heartbeat: int
    violations: int

    @property
    def lag(self) -> int | None:
        """How far the heartbeat is behind the greatest time seen."""
        if BEGINNING in (self.greatest, self.heartbeat):
            return None
        return self.greatest - self.heartbeat


@dataclass(frozen=True)
class Description:
    """All sources, as arrays by source; what heartbeats follow from, and whether by guess."""

    source: Int64s
    arrivals: Int64s
    greatest: Int64s
    last_arrival: Int64s
    heartbeat: Int64s
    violations: Int64s
    stream: int
    """The heartbeat of the stream."""
    bounds: str
    guessed: bool

    def __len__(self) -> int:
        return len(self.source)

    def rows(self) -> Iterator[SourceReport]:
        columns = (
            self.source, self.arrivals, self.greatest, self.last_arrival, self.heartbeat,
            self.violations,
        )  # fmt: skip
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield SourceReport(*row)
