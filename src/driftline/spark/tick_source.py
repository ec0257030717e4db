"""A stream of ticks, as a data source of Spark: a row whenever the system's clock has come into
another period.

    offset   milliseconds since 1970, a multiple of the period: Spark writes it down before the
             micro-batch, as it does the time of that, so that both are the same after a crash

It is on its own because the processes that Spark starts for it load nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FORMAT = "driftline_ticks"

Offset = dict[str, int]


class TickSource(DataSource):
    """The data source that Spark asks for a reader."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "tick BIGINT"

    def simpleStreamReader(self, schema: StructType) -> TickReader:
        return TickReader(self.options)


class TickReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Options: `period`, and `heard`, the path of a file: after so long as `patience` since it was
    changed there are no ticks until it is changed again (all in milliseconds). A query that reads
    only what is there now reads one at most."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.period = int(options["period"])
        self.heard = Path(options["heard"]) if "heard" in options else None
        self.patience = int(options.get("patience", 0)) + self.period
        self.target: int | None = None

    def initialOffset(self) -> Offset:
        # The first micro-batch has a tick: what is not new would be read anew, in a worker.
        return {"ms": 0}

    def read(self, start: Offset) -> tuple[Iterator[tuple[int]], Offset]:
        latest = self._latest() if self.target is None else self.target
        if latest <= start["ms"] or self._is_idle(start["ms"]):
            return iter(()), start
        end = {"ms": latest}
        return self.readBetweenOffsets(start, end), end

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[tuple[int]]:
        """A single tick, however many periods have passed."""
        return iter([(end["ms"],)] if start != end else [])

    def prepareForTriggerAvailableNow(self) -> None:
        self.target = self._latest()

    def _latest(self) -> int:
        now = time.time_ns() // 1_000_000
        return now - now % self.period

    def _is_idle(self, last: int) -> bool:
        """Whether the last tick came after all effects of the silence."""
        if self.heard is None or not last:
            return False
        try:
            heard = self.heard.stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return False
        return last > heard + self.patience
