"""`driftline run --explain-time`: when the records of every source came, and how late.

The report is a function of the inputs alone, so it is the same on every runner: how many records
each source had, how far it has come, its heartbeat, how far that is behind, and how many records
came too late for it. Of loops that ran free it says how they have found what is final.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.model.time import BEGINNING, show
from driftline.running.files import PlainFiles
from driftline.running.learned import Learned, span
from driftline.running.problems import Problem
from driftline.running.streams import Streamed

if TYPE_CHECKING:
    from driftline.engine.ingest.source_time import SourceTime
    from driftline.engine.readers.inputs import RawEvents
    from driftline.engine.step_outputs import Counted
    from driftline.plan.nodes import Source
    from driftline.time.chart import Chart

MOST_SOURCES = 20
"""How many rows a table has at most: the sources that are the farthest behind."""

MOST_BOUNDS = 100
"""How many bounds between sources are listed at most."""


@dataclass(frozen=True)
class StreamTime:
    """A stream's time, and what a chart of it shows."""

    source: Source
    time: SourceTime
    chart: Chart


def explain_time(
    sources: Mapping[str, Source], streams: Mapping[str, Any], chart: str | None = None
) -> None:
    """Prints the report on standard error; a chart goes to a file."""
    found = []
    for name, source in sources.items():
        stream = watched(source, streams[name])
        if isinstance(stream, str):
            print(f"driftline: the time of {name}: {stream}", file=sys.stderr)
            continue
        found.append(stream)
        _print(stream)
    if chart is not None:
        _draw(found, Path(chart))


def say_loops(counters: Counted) -> None:
    """Print how every loop that ran free has found how far its answer is final."""
    for key, counted in counters.items():
        if "speculative" in counted:
            print(
                f"driftline: {key}: {counted['speculative']:,} speculative and "
                f"{counted['definite']:,} definite punctuations in {counted['turns']:,} turns; the "
                f"longest silence was {counted['silence']:,} turns, its inputs are "
                f"{counted['lag']:,} ticks ahead, and its joins hold {counted['join_rows']:,} rows",
                file=sys.stderr,
            )


def watched(source: Source, data: Any) -> StreamTime | str:
    """The time of a stream, from the arrival of its records; or why it cannot be known. They are
    read part by part, so that it takes no more memory than the run."""
    from driftline.engine.ingest.source_time import SourceTime
    from driftline.engine.readers.chunks import LARGEST_CHUNK, chunks
    from driftline.model.columns import INSERT
    from driftline.time.chart import Chart

    timing = source.timing
    if isinstance(data, Streamed):
        return "it is read as it comes, which is shown for files only"
    if timing.heartbeats == "none":
        return "no heartbeats, as its declaration says"
    time, chart = SourceTime(timing), Chart()
    if isinstance(data, PlainFiles):
        data = data.parts(LARGEST_CHUNK)
    for events in chunks(source, data, LARGEST_CHUNK):
        if events.is_log and not timing.is_promised:  # the whole of it
            others = int((events.kind != INSERT).sum())
            return f"that of its event log, which has {others:,} events beside inserts"
        _take(events, time, chart)
    return StreamTime(source, time, chart)


def _take(events: RawEvents, time: SourceTime, chart: Chart) -> None:
    """Take in the records of a part, which come after those before it."""
    import numpy as np

    from driftline.model.columns import INSERT

    first, name = time.came, time.timing.apart_by
    sources = None if name is None else events.payload.column(name)
    ctis_before = time.take(events, sources, events.clock)
    heartbeats = np.where(ctis_before == BEGINNING, BEGINNING, ctis_before - 1)
    shown = np.arange(first, first + len(events)) if events.clock is None else events.clock
    inserts = np.flatnonzero((events.kind == INSERT) & (events.vs < events.ve))
    chart.take(shown[inserts], events.vs[inserts], heartbeats[inserts])


def _bounds(stream: StreamTime) -> str:
    """What the heartbeats follow from, in the stream's own units."""
    from driftline.engine.ingest.source_time import NO_CLOCK
    from driftline.time.estimate import Estimated

    timing, stamps = stream.source.timing, stream.source.timestamps
    if isinstance(guessed := stream.time.heartbeats, Estimated):
        return str(Learned(guessed.disorder or 0, guessed.skew or 0, stream.time.came, stamps))
    parts = [] if timing.bounds is None else [f"{len(timing.bounds.pairs)} bounds"]
    parts += [] if timing.groups is None else [f"groups by {timing.groups}"]
    parts += [] if timing.disorder is None else [f"disorder {span(timing.disorder, stamps)}"]
    parts += [] if timing.skew is None else [f"skew {span(timing.skew, stamps)}"]
    parts += [f"latency {span(1_000 * timing.latency, True)}"] if timing.latency else []
    parts += [] if timing.timeout is None else [f"timeout {span(1_000 * timing.timeout, True)}"]
    if timing.rate is not None:
        ticks, milliseconds = timing.rate
        parts.append(f"rate {span(1_000 * ticks // milliseconds, stamps)} in a second")
    if timing.needs_clock and stream.time.shown == NO_CLOCK:
        parts.append("but no arrival clock: in a file time stands still (say arrival = 'column')")
    return ", ".join(parts)


def _closed(stream: StreamTime) -> Iterator[str]:
    """The bounds by source and between sources, closed: one line for every two sources."""
    from driftline.engine.ingest.generators import closed_bounds
    from driftline.time.closure import timeout_reason

    timing, stamps = stream.source.timing, stream.source.timestamps
    if timing.bounds is None:
        return
    names, closed = timing.bounds.names, closed_bounds(timing)
    declared = {tuple(pair) for pair in timing.bounds.pairs}
    pairs = list(zip(*(column.tolist() for column in closed.pairs), strict=True))
    for origin, target, wait, tuples, lag in pairs[:MOST_BOUNDS]:
        after = [span(1_000 * wait, True)] if wait or not tuples else []
        after += [f"{tuples:,} tuples"] if tuples else []
        behind = f"at most {span(lag - 1, stamps)} behind" if lag else "later"
        known = "" if (origin, target, wait, tuples, lag) in declared else ", which follows"
        yield f"  {names[origin]} → {names[target]}: after {' + '.join(after)} {behind}{known}"
    if len(pairs) > MOST_BOUNDS:
        yield f"  and {len(pairs) - MOST_BOUNDS:,} others"
    latencies = closed.latency.tolist()
    if any(latencies):
        each = (f"{n} {span(1_000 * ms, True)}" for n, ms in zip(names, latencies, strict=True))
        yield f"  latency: {', '.join(each)}"
    if timing.timeout is None and timing.rate is None:
        reason = timeout_reason(closed, names)
        if reason is not None:
            yield f"  {reason}"
    if stream.time.strangers:
        yield (
            f"  {stream.time.strangers:,} records were of sources that the bounds do not name: "
            "nothing waits for these"
        )


def _print(stream: StreamTime) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from driftline.event_log.text import visible

    stamps = stream.source.timestamps
    described, names = stream.time.describe(), stream.time.source_names()
    kind = "guessed" if stream.time.is_guess else "promised"
    grouped = stream.source.timing.groups is not None
    table = Table(
        "group" if grouped else "source",
        "records",
        "latest time",
        "heartbeat",
        "behind",
        "too late",
    )
    reports = sorted(described.rows(), key=lambda each: -(each.lag or 0))
    for each in reports[:MOST_SOURCES]:
        lag = "–" if each.lag is None else span(each.lag, stamps)
        table.add_row(
            Text(visible(names[each.source])), f"{each.arrivals:,}", show(each.greatest, stamps),
            show(each.heartbeat, stamps), lag, f"{each.violations:,}",
        )  # fmt: skip
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 120)
    title = f"the time of {stream.source.name}, {kind}: {_bounds(stream)}"
    console.print(title, soft_wrap=True, highlight=False, markup=False)
    for line in _closed(stream):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(table)
    if len(reports) > MOST_SOURCES:
        console.print(f"and {len(reports) - MOST_SOURCES:,} sources that are less far behind")


def check_chart(path: str | None) -> None:
    """Refuse at the beginning a chart that could not be drawn at the end."""
    if path is None:
        return
    from driftline.time.chart import check

    try:
        check(Path(path))
    except ValueError as error:
        raise Problem(f"--time-chart: {error}") from None


def _is_dated(source: Source) -> bool:
    """Whether the arrival clock is a column of timestamps."""
    from driftline.plan.types import is_timestamp

    name = source.timing.arrival
    return name is not None and is_timestamp(source.columns.find(name)[0].type)


def _draw(found: list[StreamTime], path: Path) -> None:
    for stream in found:
        name = stream.source.name
        to = path if len(found) == 1 else path.with_stem(f"{path.stem}-{name}")
        try:
            stream.chart.draw(
                to,
                timestamps=stream.source.timestamps,
                dated=_is_dated(stream.source),
                title=f"{name}: {_bounds(stream)}",
            )
        except (ValueError, OSError) as error:
            raise Problem(f"--time-chart: {error}") from None
        print(f"driftline: {to}: arrivals and heartbeats of {name}", file=sys.stderr)
