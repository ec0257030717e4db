"""`driftline check`: is this a valid log, and what is in it?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftline.cli.errors import EXIT_BAD
from driftline.cli.progress import reading
from driftline.cli.tables import print_table
from driftline.event_log.apart import STDOUT, Used, files_of, need_apart
from driftline.kernels import announce_compilation

if TYPE_CHECKING:
    from driftline.event_log.bad import BadEvent
    from driftline.event_log.reader import LogContents
    from driftline.model.columns import StreamColumns

MOST_SHOWN = 20
STREAMS_ABREAST = 4


def check(files: Sequence[str], dead_letters: str | None) -> int:
    """Prints a summary of the log, or each breach on a line; returns the exit code."""
    from driftline.event_log.deadletters import write_dead_letters
    from driftline.event_log.reader import scan_log

    need_files_apart(files, dead_letters)
    announce_compilation()
    with reading(files) as progress:
        log = scan_log(files, progress=progress)
    if dead_letters is not None:
        write_dead_letters(log.bad, dead_letters)
        print(collected(len(log.bad), dead_letters), file=sys.stderr)
    elif log.bad:
        _print_breaches(log.bad)
        return EXIT_BAD
    _print_report(log)
    return 0


def need_files_apart(files: Sequence[str], dead_letters: str | None) -> None:
    """Refuses to write or print over a log that is read."""
    written = [Used("standard output", STDOUT)]
    if dead_letters is not None:
        written.append(Used("--dead-letters", dead_letters))
    need_apart(written, files_of(files))


def collected(count: int, dead_letters: str) -> str:
    """The line about the bad events that were collected."""
    if not count:
        return "no bad events"
    return f"{count:,} bad event{'s' if count > 1 else ''} written to {dead_letters}"


def _print_breaches(bad: Sequence[BadEvent]) -> None:
    for event in bad[:MOST_SHOWN]:
        print(event, file=sys.stderr)
    if len(bad) > MOST_SHOWN:
        print(
            f"and {len(bad) - MOST_SHOWN:,} more; --dead-letters FILE collects them all",
            file=sys.stderr,
        )


def _print_report(log: LogContents) -> None:
    streams = list(log.streams.values())
    what = f"{log.events:,} events in {len(streams):,} streams"
    what = what if len(streams) != 1 else what.removesuffix("s")
    kept = "valid" if not log.bad else "valid without the bad events"
    print(f"{', '.join(log.sources)}: {kept}, {what if log.events else 'no events'}")
    for first in range(0, len(streams), STREAMS_ABREAST):
        some = streams[first : first + STREAMS_ABREAST]
        columns = [_measures(stream) for stream in some]
        rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
        print()
        print_table(["", *(stream.name for stream in some)], rows, set(range(1, len(some) + 1)))


def _measures(stream: StreamColumns) -> dict[str, str]:
    """The measures of one stream, by name."""
    from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT
    from driftline.model.predicates import closed_up_to, is_closed, is_ordered, is_perfect, late
    from driftline.model.time import BEGINNING, show

    def count(kind: int) -> str:
        return f"{int((stream.kind == kind).sum()):,}"

    syncs = stream.sync()[stream.changes]
    closed = closed_up_to(stream)
    late_events, most = late(stream)
    return {
        "events": f"{len(stream):,}",
        "inserts": count(INSERT),
        "retracts": count(RETRACT),
        "ctis": count(CTI),
        "external ctis": count(EXTERNAL_CTI),
        "first sync time": show(int(syncs.min()), stream.timestamps) if len(syncs) else "-",
        "last sync time": show(int(syncs.max()), stream.timestamps) if len(syncs) else "-",
        "closed up to": "-" if closed == BEGINNING else show(closed, stream.timestamps),
        "ordered": _yes(is_ordered(stream)),
        "perfect": _yes(is_perfect(stream)),
        "closed": _yes(is_closed(stream)),
        "late events": f"{late_events:,} ({late_events / max(1, len(syncs)):.1%})",
        "largest lateness": _duration(most, stream.timestamps),
    }


def _yes(whether: bool) -> str:
    return "yes" if whether else "no"


def _duration(ticks: int, timestamps: bool) -> str:
    if not timestamps:
        return f"{ticks:,}"
    from datetime import timedelta

    try:
        return str(timedelta(microseconds=ticks))
    except OverflowError:
        return f"{ticks:,} µs"
