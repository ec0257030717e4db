"""The answers now, written by `driftline run --now`: their changes, or with --table the rows that
are there at the end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from driftline.cli.output_files import opened, write_rows
from driftline.cli.outputs import Answer, Writer

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.engine.core.batch import Batch
    from driftline.engine.outputs.now_view import NowChanges
    from driftline.plan.choices import Clock, Format


class NowWriter(Writer):
    """Keeps the answer now of every query."""

    def __init__(self, answers: dict[str, Answer], clocks: Mapping[str, Clock]) -> None:
        from driftline.engine.outputs.now_view import NowView

        super().__init__(answers)
        self.views = {
            name: NowView(answer.plan.schema.arrow, clocks[name])
            for name, answer in answers.items()
        }

    def add(self, name: str, batch: Batch, now: int) -> None:
        self.changed(self.answers[name], self.views[name].update(batch, now))

    def shown(self, name: str) -> NowChanges:
        """The rows that are there now, since the clock."""
        import numpy as np

        from driftline.engine.outputs.now_view import NowChanges

        view = self.views[name]
        rows = view.shown()
        at = np.full(rows.num_rows, view.clock)
        return NowChanges(at, np.ones(rows.num_rows, np.int64), rows)


class NowLog(NowWriter):
    """JSON Lines: a change a line, or in the end a row a line."""

    def __init__(
        self,
        answers: dict[str, Answer],
        clocks: Mapping[str, Clock],
        file: IO[bytes],
        *,
        table: bool,
    ) -> None:
        super().__init__(answers, clocks)
        self.file, self.table = file, table

    def changed(self, answer: Answer, changes: NowChanges) -> None:
        if not self.table:
            self._write(answer, changes)

    def finish(self) -> None:
        if self.table:
            for name, answer in self.answers.items():
                self._write(answer, self.shown(name))

    def _write(self, answer: Answer, changes: NowChanges) -> None:
        from driftline.engine.tables import now_json

        if len(changes):
            stamps = answer.plan.timestamps
            self.file.write(now_json(answer.name, changes, timestamps=stamps))
            self.file.flush()


class NowRows(NowWriter):
    """What is written in the end as rows: op, at and the columns."""

    def __init__(
        self, answers: dict[str, Answer], clocks: Mapping[str, Clock], *, table: bool
    ) -> None:
        super().__init__(answers, clocks)
        self.table = table
        self.parts: dict[str, list[pa.Table]] = {
            name: [self._rows(answer, self.shown(name))] for name, answer in answers.items()
        }

    def changed(self, answer: Answer, changes: NowChanges) -> None:
        if not self.table:
            self.parts[answer.name].append(self._rows(answer, changes))

    def _rows(self, answer: Answer, changes: NowChanges) -> pa.Table:
        from driftline.engine.tables import now_table

        return now_table(changes, timestamps=answer.plan.timestamps)

    def rows(self, name: str) -> pa.Table:
        import pyarrow as pa

        if self.table:
            return self._rows(self.answers[name], self.shown(name))
        return pa.concat_tables(self.parts[name])


class NowFiles(NowRows):
    """One CSV or Parquet file for each query."""

    def __init__(
        self,
        answers: dict[str, Answer],
        clocks: Mapping[str, Clock],
        form: Format,
        paths: dict[str, Path | None],
        *,
        table: bool,
    ) -> None:
        super().__init__(answers, clocks, table=table)
        self.form, self.paths = form, paths

    def finish(self) -> None:
        for name in self.answers:
            with opened(self.paths[name]) as file:
                write_rows(self.rows(name), file, self.form)


class NowDrawn(NowRows):
    """A table for people."""

    def finish(self) -> None:
        from driftline.cli.history import draw_rows

        for name in self.answers:
            draw_rows(name, self.rows(name))
