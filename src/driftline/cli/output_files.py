"""Answers in files of CSV and Parquet, a row for every change, or for every lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from driftline.cli.outputs import Answer, Writer, current, emitted, events_of, history

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.engine.core.batch import Batch
    from driftline.model.columns import StreamColumns


class Files(Writer):
    """One CSV or Parquet file for each query; `thread`: makes their rows while the queries run, and
    writes those of Parquet, group by group."""

    def __init__(
        self, answers: dict[str, Answer], paths: dict[str, Path], table: bool, stack: ExitStack
    ) -> None:
        super().__init__(answers)
        self.paths, self.table = paths, table
        self.parts: dict[str, list[Future[None]]] = {name: [] for name in answers}
        self.groups: dict[str, _RowGroups] = {}
        self.rows: dict[str, list[pa.Table]] = {name: [] for name in answers}
        for name, path in paths.items():
            if not table and not _is_csv(path):
                self.groups[name] = stack.enter_context(_RowGroups(path))
        # Entered last, it has ended when the files are closed.
        self.thread = stack.enter_context(ThreadPoolExecutor(1, "driftline writes"))

    def add(self, name: str, batch: Batch, now: int) -> None:
        if self.table:
            super().add(name, batch, now)
        else:
            self.parts[name].append(self.thread.submit(self._take, self.answers[name], batch))

    def _take(self, answer: Answer, batch: Batch) -> None:
        rows = _change_rows(emitted(answer, batch))
        if answer.name in self.groups:
            self.groups[answer.name].add(rows)
        else:
            self.rows[answer.name].append(rows)

    def finish(self) -> None:
        from driftline.event_log.atomic import atomic_file

        for name, answer in self.answers.items():
            for part in self.parts[name]:
                part.result()
            nothing = _change_rows(events_of(answer, []))
            if name in self.groups:
                self.groups[name].finish(nothing)
                continue
            if answer.current:
                rows = current(answer)
            elif self.table:
                rows = _history_rows(answer)
            else:
                rows = _together(self.rows[name], nothing)
            with atomic_file(self.paths[name]) as file:
                write_rows(rows, file, self.paths[name])


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


def _is_csv(path: Path) -> bool:
    return ".csv" in [suffix.lower() for suffix in path.suffixes]


def write_rows(rows: pa.Table, file: IO[bytes], path: Path) -> None:
    """Write rows as CSV or Parquet, as the name of the file says."""
    if _is_csv(path):
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


def _change_rows(events: StreamColumns) -> pa.Table:
    """kind, vs, ve, vn and the columns; of a cti only vs, its time."""
    import pyarrow as pa

    from driftline.model.columns import CTI, KIND_NAMES, RETRACT
    from driftline.model.time import INFINITY

    kind, stamps = events.kind, events.timestamps
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
