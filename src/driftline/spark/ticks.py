"""Ticks: micro-batches while no row comes, so that a timeout passes when everybody is silent.

The arrival clock of a stream without one of its own is the time at which a micro-batch began. When
nothing comes there is no micro-batch, and the clock stands still: so a stream of ticks is read
along with the others. A tick carries nothing but the clock, to every shard that has to
know.

    period   a quarter of the shortest timeout or wait of a bound, but at least a second and at
             most half a minute; clocks that advance at a least rate tick every five seconds

There are ticks only until the silence has lasted for the longest timeout or wait: an idle query is
idle. Where clocks advance by themselves there are always ticks.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.engine.ingest.generators import closed_bounds, needs_timeout
from driftline.engine.ingest.source import has_time
from driftline.engine.ingest.source_time import is_watched
from driftline.engine.shards.messages import Message, MessageKind
from driftline.engine.shards.shard import Stage
from driftline.engine.shards.source_messages import POSITION
from driftline.engine.shards.stored import counters_in
from driftline.plan.nodes import Source
from driftline.spark.labels import state_partitions
from driftline.spark.session import mapped, our_python
from driftline.spark.tick_source import FORMAT, TickSource
from driftline.spark.wire import WIRE, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PARTS = 4
SHORTEST, LONGEST = 1_000, 30_000
"""Of a period, in milliseconds."""
AT_A_RATE = 20_000
"""What clocks that advance by themselves are taken to wait for, in milliseconds."""
FOR_EVER = 2**53


def ticking(
    frames: Mapping[str, DataFrame], sources: Mapping[str, Source], block: int = 0
) -> list[Source]:
    """The streams whose timeouts, waits and rates would do nothing without ticks: those that the
    time of micro-batches is the arrival clock of, if an operator waits. Files that were put in
    order have no clock, or one of their own."""
    return [
        source
        for source in _open(frames, sources)
        if is_watched(source.timing, block) and goes_on(source) and source.timing.arrival is None
    ]


def goes_on(source: Source) -> bool:
    """Whether a silence changes anything, and not only what comes after it."""
    timing = source.timing
    by_bounds = timing.bounds is not None and timing.bounds.needs_clock
    return timing.timeout is not None or timing.rate is not None or by_bounds


def without_timeout(frames: Mapping[str, DataFrame], sources: Mapping[str, Source]) -> list[str]:
    """The streams whose last records wait for ever when all their sources pause."""
    return [source.name for source in _open(frames, sources) if needs_timeout(source.timing)]


def _open(frames: Mapping[str, DataFrame], sources: Mapping[str, Source]) -> Iterator[Source]:
    """The streams that go on: not tables, nor files that were put in order, which are closed."""
    for name, source in sources.items():
        if (frame := frames.get(name)) is None:
            continue  # which is refused elsewhere
        if frame.isStreaming and POSITION not in frame.columns:
            yield source


def period(sources: Iterable[Source]) -> int:
    """How often to tick, in milliseconds."""
    shortest = min((wait for source in sources for wait in _waits(source)), default=0)
    return min(max(shortest // PARTS, SHORTEST), LONGEST)


def patience(sources: Iterable[Source]) -> int:
    """For how long a silence changes anything, in milliseconds."""
    return max(
        FOR_EVER if source.timing.rate else max(_latencies(source)) + max(_waits(source))
        for source in sources
    )


def _waits(source: Source) -> list[int]:
    """After how long a silence something changes, in milliseconds."""
    timing = source.timing
    found = [] if timing.timeout is None else [timing.timeout]
    found += [] if timing.rate is None else [AT_A_RATE]
    if timing.bounds is not None and timing.bounds.needs_clock:
        found += [wait for wait in closed_bounds(timing).wait.tolist() if wait]
    return found or [0]


def _latencies(source: Source) -> list[int]:
    timing = source.timing
    own = () if timing.bounds is None else timing.bounds.latencies
    return [timing.latency, *(each for each in own if each is not None)]


def ticks(
    spark: SparkSession,
    sources: Sequence[Source],
    levels: Sequence[Stage],
    heard: Heard | None = None,
    *,
    fixed: bool = True,
) -> DataFrame:
    """A message for every shard whose clock is to go on, as the stages take them. `heard`: when a
    row was heard last, if that is recorded; `fixed`: see `pipeline`. If no clock is to go
    on, the first shard gets the messages: there is a micro-batch all the same."""
    from pyspark.sql import functions as f

    with our_python(spark):
        spark.dataSource.register(TickSource)
    reader = spark.readStream.format(FORMAT).option("period", period(sources))
    if heard is not None:
        reader = reader.option("heard", heard.path).option("patience", patience(sources))
    ticking_levels = [
        (stage.level, stage.shards)
        for stage in levels
        if any(
            port.timing.needs_clock and has_time(port.timing, stage.options, plain=port.plain)
            for port in stage.sources
        )
    ]
    some = slice(None) if ticking_levels else slice(1)
    to = ticking_levels or [(levels[0].level, levels[0].shards)]

    def messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for clock in (clock for batch in batches for clock in batch.column(0).to_pylist()):
            for level, given in to:
                shards = given if fixed else state_partitions(given)
                numbers = range(shards)[some]
                own = (
                    Message(level, MessageKind.CLOCK, "", shard, 0, high=clock) for shard in numbers
                )
                yield from to_arrow(own, shards)

    clock = f.unix_millis(f.current_timestamp())
    return mapped(reader.load().select(clock), messages, WIRE)


class Heard:
    """When a row was heard last, as the time of a file: the process that ticks has no other way to
    know. `rows`: how many each shard has received."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], int] = {}

    @cached_property
    def path(self) -> str:
        """The file, which is made when it is asked for first."""
        file, path = tempfile.mkstemp(prefix="driftline-heard-")
        os.close(file)
        weakref.finalize(self, Path(path).unlink, missing_ok=True)
        return path

    def take(self, heads: Mapping[tuple[int, int], Mapping[str, Any]]) -> None:
        """What shards report after a micro-batch."""
        before = dict(self.rows)
        for place, head in heads.items():
            self.rows[place] = sum(
                counted["changes_in"]
                for counted in counters_in(head).values()
                if "dead_letters" in counted  # it stands at a source
            )
        if self.rows != before and "path" in self.__dict__:
            os.utime(self.path)
