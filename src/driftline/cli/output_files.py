"""Answers in files of CSV and Parquet, a row for every change, or for every lifetime."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from driftline.cli.outputs import Answer, Writer, current, emitted, events_of, history

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.engine.core.batch import Batch
    from driftline.model.columns import StreamColumns
    from driftline.plan.choices import Format


class Files(Writer):
    """One CSV or Parquet file for each query (None: standard output); `thread`: makes their rows
    while the queries run, and writes those of Parquet, group by group."""

    def __init__(
        self,
        answers: dict[str, Answer],
        form: Format,
        paths: dict[str, Path | None],
        table: bool,
        stack: ExitStack,
    ) -> None:
        super().__init__(answers)
        self.form, self.paths, self.table = form, paths, table
        self.parts: dict[str, list[Future[None]]] = {name: [] for name in answers}
        self.groups: dict[str, _RowGroups] = {}
        self.rows: dict[str, list[pa.Table]] = {name: [] for name in answers}
        for name, path in paths.items():
            if not table and form == "parquet" and path is not None:
                self.groups[name] = stack.enter_context(_RowGroups(path))
        # Entered last, it has ended when the files are closed.
        self.thread = stack.enter_context(ThreadPoolExecutor(1, "driftline writes"))

    def add(self, name: str, batch: Batch, now: int) -> None:
        if self.table:
            super().add(name, batch, now)
        else:
            self.parts[name].append(self.thread.submit(self._take, self.answers[name], batch))

    def _take(self, answer: Answer, batch: Batch) -> None:
        rows = _change_rows(emitted(answer, batch), is_final=answer.is_final)
        if answer.name in self.groups:
            self.groups[answer.name].add(rows)
        else:
            self.rows[answer.name].append(rows)

    def finish(self) -> None:
        for name, answer in self.answers.items():
            for part in self.parts[name]:
                part.result()
            nothing = _change_rows(events_of(answer, []), is_final=answer.is_final)
            if name in self.groups:
                self.groups[name].finish(nothing)
                continue
            if answer.current:
                rows = current(answer)
            elif self.table:
                rows = _history_rows(answer)
            else:
                rows = _together(self.rows[name], nothing)
            with opened(self.paths[name]) as file:
                write_rows(rows, file, self.form)


@contextmanager
def opened(path: Path | None) -> Iterator[IO[bytes]]:
    """A file that is there in full or not at all, or standard output."""
    from driftline.event_log.atomic import atomic_file

    if path is not None:
        with atomic_file(path) as file:
            yield file
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


ROW_GROUP = 1 << 17
"""From so many rows on they are written to a Parquet file as a group."""


class _RowGroups(AbstractContextManager["_RowGroups"]):
    """A Parquet file that is written group by group, and is there when all is written."""

    def __init__(self, path: Path) -> None:
        self.path, self.stack = path, ExitStack()
        self.writer: Any = None
        self.waiting: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        self.waiting.append(rows)
        if sum(map(len, self.waiting)) >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        import pyarrow.parquet as pq

        from driftline.event_log.atomic import atomic_file

        rows, self.waiting = _together(self.waiting), []
        if self.writer is None:
            file = self.stack.enter_context(atomic_file(self.path))
            self.writer = self.stack.enter_context(pq.ParquetWriter(file, rows.schema))
        self.writer.write_table(rows)

    def finish(self, nothing: pa.Table) -> None:
        """Write what is left; a file without rows has the columns of `nothing`."""
        if self.waiting or self.writer is None:
            self.waiting = self.waiting or [nothing]
            self._write()

    def __exit__(self, *error: Any) -> None:
        self.stack.__exit__(*error)


def _together(parts: Sequence[pa.Table], nothing: pa.Table | None = None) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables(parts or [nothing])


def write_rows(rows: pa.Table, file: IO[bytes], form: Format) -> None:
    """Write rows as CSV or Parquet."""
    if form == "csv":
        from pyarrow import csv

        from driftline.model.arrays import without_empty_parts

        csv.write_csv(without_empty_parts(_writable(rows)), file)
    else:
        import pyarrow.parquet as pq

        pq.write_table(rows, file)


def _writable(rows: pa.Table) -> pa.Table:
    """The column as Arrow can write it, which is in the years 0001 to 9999: others become texts."""
    import pyarrow as pa

    from driftline.event_log.text import has_far, moments_text

    for place, name in enumerate(rows.column_names):
        column = rows.column(place)
        if has_far(column):
            texts = [moments_text(chunk) for chunk in column.chunks]
            rows = rows.set_column(place, name, pa.chunked_array(texts))
    return rows


def _times(values: Any, timestamps: bool, mask: Any) -> pa.Array:
    import pyarrow as pa

    kind = pa.timestamp("us", "UTC") if timestamps else pa.int64()
    return pa.array(values, pa.int64(), mask=mask).cast(kind)


def _change_rows(events: StreamColumns, *, is_final: bool) -> pa.Table:
    """kind, vs, ve, vn and the columns, of a cti only vs, its time; of final rows vs, ve and the
    columns."""
    import numpy as np
    import pyarrow as pa

    from driftline.model.arrays import to_arrow
    from driftline.model.columns import CTI, INSERT, KIND_NAMES, RETRACT
    from driftline.model.time import INFINITY

    kind, stamps = events.kind, events.timestamps
    if is_final:
        there = np.flatnonzero(kind == INSERT)
        ve = events.ve[there]
        final = {
            "vs": _times(events.vs[there], stamps, None),
            "ve": _times(ve, stamps, ve == INFINITY),
        }
        return _flat(final, events.payload.take(to_arrow(there)))
    times = {
        "kind": pa.array(KIND_NAMES, pa.string()).take(pa.array(kind)),
        "vs": _times(events.vs, stamps, events.vs == INFINITY),
        "ve": _times(events.ve, stamps, (events.ve == INFINITY) | (kind == CTI)),
        "vn": _times(events.vn, stamps, kind != RETRACT),
    }
    return _flat(times, events.payload)


def _history_rows(answer: Answer) -> pa.Table:
    from driftline.model.time import INFINITY

    whole, stamps = history(answer), answer.plan.timestamps
    times = {
        "vs": _times(whole.vs, stamps, None),
        "ve": _times(whole.ve, stamps, whole.ve == INFINITY),
    }
    return _flat(times, whole.payload)


def _flat(times: dict[str, pa.Array], payload: pa.Table) -> pa.Table:
    """Times and columns side by side; a column that is called as a time is has `row.` before."""
    import pyarrow as pa

    columns: dict[str, Any] = dict(times)
    for name in payload.column_names:
        columns[f"row.{name}" if name in times else name] = payload.column(name)
    return pa.table(columns)
