"""`driftline history`: the canonical history table of each stream of a log."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import isfinite, isnan
from typing import TYPE_CHECKING

from driftline.cli.check import collected, need_files_apart
from driftline.cli.progress import reading
from driftline.cli.tables import print_table
from driftline.kernels import announce_compilation
from driftline.running.problems import Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.event_log.reader import LogContents
    from driftline.model.arrays import Int64s, Mask
    from driftline.model.columns import StreamColumns
    from driftline.model.history_columns import HistoryColumns

MOST_ROWS_DRAWN = 40


def history(
    files: Sequence[str],
    *,
    dead_letters: str | None,
    stream: str | None,
    at: str | None,
    prefix: int | None,
    drawn: bool,
) -> None:
    """Prints the history of all streams, or of one; if `at` is given, only what is alive then."""
    from driftline.event_log.reader import read_log
    from driftline.model.history_columns import history_columns

    announce_compilation()
    moment = None if at is None else _moment(at)
    need_files_apart(files, dead_letters)
    with reading(files) as progress:
        log = read_log(files, dead_letters=dead_letters, limit=prefix, progress=progress)
    if dead_letters is not None:
        print(collected(len(log.bad), dead_letters), file=sys.stderr)
    for each in _chosen(log, stream):
        table = history_columns(each)
        if moment is not None:
            table = table.alive(moment)
        if drawn:
            draw(each, table)
        else:
            _write(each, table)


def _moment(text: str) -> int:
    """A time as the user types it: ticks, or ISO 8601."""
    from driftline.model.time import parse_timestamp

    try:
        return int(text)
    except ValueError:
        pass
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise Problem(f"--at: {error}, nor a number of ticks") from None


def _chosen(log: LogContents, name: str | None) -> list[StreamColumns]:
    if name is None:
        return list(log.streams.values())
    if name not in log.streams:
        known = ", ".join(log.streams) or "none"
        raise Problem(f'there is no stream "{name}" in the log; it has: {known}')
    return [log.streams[name]]


def _write(stream: StreamColumns, table: HistoryColumns) -> None:
    from driftline.event_log.writer import history_lines

    for lines in history_lines(stream.name, stream.timestamps, table):
        sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()


def draw(stream: StreamColumns, table: HistoryColumns) -> None:
    """Prints the first rows of a history as a table."""
    times = {"vs": _shown(stream, table.vs), "ve": _shown(stream, table.ve)}
    draw_rows(stream.name, table.payload, times, len(table))


def draw_changes(events: Sequence[StreamColumns], *, is_final: bool) -> None:
    """Prints the first changes of a stream as a table; of final rows only their lifetimes."""
    import numpy as np
    import pyarrow as pa

    from driftline.model.columns import CTI, KIND_NAMES, RETRACT

    first = events[0]
    kind = np.concatenate([each.kind for each in events])
    there = np.flatnonzero(kind != CTI)
    rows = pa.concat_tables([each.payload for each in events]).take(pa.array(there))
    kind = kind[there]
    vs, ve, vn = (
        np.concatenate([getattr(each, name) for each in events])[there]
        for name in ("vs", "ve", "vn")
    )
    before = {"vs": _shown(first, vs), "ve": _shown(first, ve)}
    if not is_final:
        names = [KIND_NAMES[each] for each in kind[: _most(len(kind))].tolist()]
        before = {"kind": names, **before, "vn": _shown(first, vn, kind == RETRACT)}
    draw_rows(first.name, rows, before, len(there))


def _shown(stream: StreamColumns, times: Int64s, there: Mask | None = None) -> list[str]:
    """The times of the rows that are drawn, where there are any."""
    from driftline.model.time import show

    most = _most(len(times))
    which = [True] * most if there is None else there[:most].tolist()
    return [
        show(each, stream.timestamps) if is_there else ""
        for each, is_there in zip(times[:most].tolist(), which, strict=True)
    ]


def _most(count: int) -> int:
    """How many of so many rows are drawn: in a pipe all."""
    return min(count, MOST_ROWS_DRAWN) if sys.stdout.isatty() else count


def draw_rows(
    name: str,
    rows: pa.Table,
    before: Mapping[str, list[str]] | None = None,
    count: int | None = None,
) -> None:
    """Prints the first rows, with other columns before their own; `count`: how many there are, also
    if they have no columns."""
    import pyarrow as pa

    from driftline.event_log.text import plain_values

    first = before or {}
    count = len(rows) if count is None else count
    shown = _most(count)
    columns = [plain_values(each.slice(0, shown)) for each in rows.columns]
    cells = [*first.values(), *([cell(value) for value in values] for values in columns)]
    numeric = {
        len(first) + place
        for place, field in enumerate(rows.schema)
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    }
    print(name)
    print_table(
        [*first, *rows.column_names],
        [list(each) for each in zip(*cells, strict=True)],
        numeric | set(range(len(first))),
    )
    if count > shown:
        print(f"… and {count - shown:,} more; pipe it to see all")


def cell(value: object) -> str:
    """A value as it is drawn, texts and times without quotes; control characters are escaped.

    >>> from datetime import UTC, datetime
    >>> cell("a"), cell(None), cell([1, date(2026, 1, 2)]), cell(Decimal("1.50"))
    ('a', 'null', '[1,"2026-01-02"]', '1.50')
    >>> cell(datetime(2026, 1, 2, 3, tzinfo=UTC))
    '2026-01-02T03:00:00Z'
    >>> cell(float("nan")), cell([1.0, float("-inf")]), cell("a\\x1b[2J")
    ('NaN', '[1.0,"-Infinity"]', 'a\\\\u001b[2J')
    """
    import orjson

    value = _with_words(value)
    text = orjson.dumps(value, default=_text, option=orjson.OPT_UTC_Z).decode()
    if isinstance(value, (str, bytes, date, Decimal, timedelta)):  # a datetime is a date
        from driftline.event_log.text import visible

        return visible(str(orjson.loads(text)))
    return text


def _with_words(value: object) -> object:
    """A value with the numbers that JSON does not have as words."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _with_words(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_words(each) for each in value]
    return value


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
