"""The output of `driftline run`: which view of the answers it has, in which format."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from driftline.cli.resumed import OUTPUT, GrowingFile
from driftline.running.problems import Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.cli.resumed import Written
    from driftline.engine.core.batch import Batch
    from driftline.engine.outputs.now_view import NowChanges
    from driftline.model.columns import StreamColumns
    from driftline.model.prefix import Prefix
    from driftline.plan.choices import Clock, Format
    from driftline.plan.nodes import Node
    from driftline.running.progress import RunProgress

STANDARD_OUTPUT = "-"
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
FORMATS: dict[str, Format] = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".log": "json", ".csv": "csv",
    ".parquet": "parquet",
}  # fmt: skip
SUFFIXES: dict[Format, str] = {"json": ".jsonl", "csv": ".csv", "parquet": ".parquet"}


@dataclass(frozen=True)
class OutputTarget:
    """Where answers go: `path`, as --output has it, in the format that is `given` with --format, or
    that the name of the file says."""

    path: str
    given: Format | None = None

    @property
    def is_standard(self) -> bool:
        return self.path == STANDARD_OUTPUT

    @property
    def is_folder(self) -> bool:
        return self.path.endswith(os.sep) or Path(self.path).is_dir()

    @property
    def suffixes(self) -> list[str]:
        return [suffix.lower() for suffix in Path(self.path).suffixes]

    @property
    def form(self) -> Format | None:
        """The format; None: it cannot be seen."""
        if self.given is not None:
            return self.given
        if self.is_standard:
            return "json"
        if self.is_folder:
            return "parquet"
        found = next((FORMATS[each] for each in self.suffixes if each in FORMATS), None)
        path = Path(self.path)
        if found is None and path.exists() and not path.is_file():
            return "json"  # a pipe, /dev/stdout
        return found

    def files(self, names: Iterable[str]) -> list[Path | None]:
        """The files that the answers go to; None: standard output."""
        if self.is_standard:
            return [None]
        if not self.is_folder:
            return [Path(self.path)]
        return [self.file_in_folder(name) for name in names]

    def file_in_folder(self, name: str) -> Path:
        """The file of a query in the folder."""
        return Path(self.path, f"{name}{SUFFIXES.get(self.form or 'parquet', '')}")

    def is_appended_to(self, *, table: bool) -> bool:
        """Whether answers are added to it as they come, and it is never written anew."""
        is_log = self.form == "json" and not self.is_folder
        is_plain = self.is_standard or Path(self.path).suffix.lower() not in COMPRESSIONS
        return not table and is_log and is_plain


@dataclass
class Answer:
    """One query while it is written: its plan, how far it is final, and its batches, if kept.
    `is_final`: its rows come once, when they are final; `current`: of its table only the rows that
    are there in the end, without times."""

    name: str
    plan: Node
    closed: int | None = None
    is_final: bool = False
    current: bool = False
    kept: list[Batch] = field(default_factory=list)


@contextmanager
def writer(
    target: OutputTarget,
    plans: Mapping[str, Node],
    *,
    table: bool,
    current: bool = False,
    final: Collection[str] = (),
    growing: bool = False,
    clocks: Mapping[str, Clock] | None = None,
    so_far: Written | None = None,
) -> Iterator[Writer]:
    """A writer for the answers of the queries; files appear in full or not at all, unless an event
    log is to be read while it grows. `current`: of the table only the rows that are there in the
    end; `final`: the queries whose rows come once, when they are final; `clocks`: the answers now
    are written, by these; `so_far`: what earlier runs have written of an event log."""
    known = {} if so_far is None else so_far.final
    answers = {
        name: Answer(name, plan, known.get(name), name in final, current)
        for name, plan in plans.items()
    }
    with ExitStack() as stack:
        form = _Form(answers, clocks, table=table)
        made = _writer(target, form, stack, growing=growing, so_far=so_far)
        yield made
        made.finish()


@dataclass(frozen=True)
class _Form:
    """What is written of answers: their changes, their history (`table`), or these two of the
    answers now."""

    answers: dict[str, Answer]
    clocks: Mapping[str, Clock] | None
    table: bool

    def to(self, file: IO[bytes]) -> Writer:
        if self.clocks is not None:
            from driftline.cli.now import NowLog

            return NowLog(self.answers, self.clocks, file, table=self.table)
        return (_Tables if self.table else _Log)(self.answers, file)

    def to_files(self, kind: Format, paths: dict[str, Path | None], stack: ExitStack) -> Writer:
        if self.clocks is not None:
            from driftline.cli.now import NowFiles

            return NowFiles(self.answers, self.clocks, kind, paths, table=self.table)
        from driftline.cli.output_files import Files

        return Files(self.answers, kind, paths, self.table, stack)

    def drawn(self) -> Writer:
        if self.clocks is not None:
            from driftline.cli.now import NowDrawn

            return NowDrawn(self.answers, self.clocks, table=self.table)
        return _Drawn(self.answers, table=self.table)


def _writer(
    target: OutputTarget, form: _Form, stack: ExitStack, *, growing: bool, so_far: Written | None
) -> Writer:
    answers, table, kind = form.answers, form.table, target.form
    if kind == "table" and not target.is_standard:
        raise Problem("--format table draws on standard output: leave --output out")
    if target.is_standard:
        is_drawn = target.given is None and table and form.clocks is None and sys.stdout.isatty()
        if kind == "table" or is_drawn:
            return form.drawn()
        if kind == "json":
            return form.to(sys.stdout.buffer)
        assert kind is not None
        _need_one(answers, f"--format {kind}")
        if kind == "parquet" and sys.stdout.isatty():
            raise Problem("--format parquet is not for a terminal: add --output FILE.parquet")
        return form.to_files(kind, dict.fromkeys(answers), stack)
    path = Path(target.path)
    if target.is_folder:
        for name in answers:
            if Path(name).name != name:
                raise Problem(f"--output: the query {name} cannot be the name of a file: rename it")
        path.mkdir(parents=True, exist_ok=True)
        if kind == "json":
            raise Problem(
                "--output: an event log is one file, also of several queries: "
                f"{path / 'answers.jsonl'}"
            )
        assert kind is not None
        return form.to_files(kind, {name: target.file_in_folder(name) for name in answers}, stack)
    scheme, sign, _ = target.path.partition("://")
    if sign:
        raise Problem(
            f"--output: {scheme}:// cannot be written to: give a file, a directory or "
            "postgresql://…, or a sink of the script (CREATE SINK)"
        )
    if not path.parent.is_dir():
        raise Problem(f"--output: there is no directory {path.parent}")
    if kind is None:
        raise Problem(
            f"--output: {path}: the format is inferred from .jsonl, .csv, .parquet or a final / "
            "for a directory: name it so, or say --format"
        )
    if kind != "json":
        _need_one(answers, f"--output: {path}")
        return form.to_files(kind, dict.fromkeys(answers, path), stack)
    last = target.suffixes[-1] if target.suffixes else ""
    if so_far is not None:
        file = stack.enter_context(_growing(so_far.file(OUTPUT)))
    elif growing and not table and last not in COMPRESSIONS:
        file = stack.enter_context(_growing(cast("IO[bytes]", GrowingFile(path))))
    else:
        file = stack.enter_context(_opened(path, last))
    return form.to(file)


def _need_one(answers: Mapping[str, Answer], what: str) -> None:
    if len(answers) > 1:
        raise Problem(f"{what} can hold one query only: give a directory, --output DIR/")


@contextmanager
def _growing(file: IO[bytes]) -> Iterator[IO[bytes]]:
    try:
        yield file
        file.flush()  # it is there also if nothing was written
    finally:
        file.close()


@contextmanager
def _opened(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    from driftline.event_log.atomic import atomic_file

    with atomic_file(path) as file:
        if suffix not in COMPRESSIONS:
            yield file
            return
        import pyarrow as pa

        with pa.CompressedOutputStream(pa.PythonFile(file, "w"), COMPRESSIONS[suffix]) as smaller:
            yield smaller


def check_types(target: OutputTarget, plans: Mapping[str, Node]) -> None:
    """Refuses columns that the format of the output cannot hold."""
    if target.form in ("parquet", "table"):
        return
    is_csv = target.form == "csv"
    for plan in plans.values():
        for name, each in zip(plan.schema.names, plan.schema, strict=True):
            if not (_fits_csv if is_csv else _fits_json)(each.type):
                from driftline.plan.types import type_name

                raise Problem(
                    f"the column {name} is a {type_name(each.type)}, which "
                    f"{'CSV' if is_csv else 'an event log'} cannot hold: cast it, or "
                    "write Parquet (--output FILE.parquet)"
                )


def _fits_csv(kind: Any) -> bool:
    from driftline.plan.types import INTERVAL, INTERVAL_MONTHS, is_nested

    return not is_nested(kind) and kind not in (INTERVAL, INTERVAL_MONTHS)


def _fits_json(kind: Any) -> bool:
    import pyarrow as pa

    from driftline.event_log.text import values_text

    try:
        values_text(pa.array([], kind), "")
    except (ValueError, pa.ArrowException):
        return False
    return True


class Writer:
    """Writes what queries emit, batch by batch."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers

    def add(self, name: str, batch: Batch, now: int) -> None:
        """Write what a query emits after a batch of input; `now`: the time that has come."""
        self.answers[name].kept.append(batch)

    def changed(self, answer: Answer, changes: NowChanges) -> None:
        """Write what has changed in the answer now."""

    def mark(self, name: str, prefix: Prefix) -> None:
        """Note that what a query has emitted so far is the answer for a prefix of the inputs."""

    def advanced(self, progress: RunProgress) -> None:
        """Note how far the run has come."""

    def finish(self) -> None:
        """Complete the output: nothing more comes."""


class _Log(Writer):
    """The changes, as an event log."""

    def __init__(self, answers: dict[str, Answer], file: IO[bytes]) -> None:
        super().__init__(answers)
        self.file = file

    def add(self, name: str, batch: Batch, now: int) -> None:
        from driftline.engine.core.output_events import output_lines

        answer = self.answers[name]
        cti, stamps = new_cti(answer, batch), answer.plan.timestamps
        if len(lines := output_lines(name, batch, timestamps=stamps, cti=cti)):
            self.file.write(lines)
            self.file.flush()

    def mark(self, name: str, prefix: Prefix) -> None:
        from driftline.event_log.writer import mark_line

        self.file.write(mark_line(name, prefix))
        self.file.flush()


class _Tables(Writer):
    """The canonical history in the end, a lifetime a line."""

    def __init__(self, answers: dict[str, Answer], file: IO[bytes]) -> None:
        super().__init__(answers)
        self.file = file

    def finish(self) -> None:
        from driftline.event_log.writer import history_lines, row_lines

        for answer in self.answers.values():
            name = answer.name if len(self.answers) > 1 else None
            stamps = answer.plan.timestamps
            for lines in (
                row_lines(name, current(answer))
                if answer.current
                else history_lines(name, stamps, history(answer))
            ):
                self.file.write(lines)
        self.file.flush()


class _Drawn(Writer):
    """A table for people: of the changes, or, with `table`, of the canonical history or the rows
    that are there in the end."""

    def __init__(self, answers: dict[str, Answer], *, table: bool) -> None:
        super().__init__(answers)
        self.table = table

    def finish(self) -> None:
        from driftline.cli.history import draw, draw_changes, draw_rows

        for answer in self.answers.values():
            if answer.current:
                draw_rows(answer.name, current(answer))
            elif self.table:
                draw(events_of(answer, []), history(answer))
            else:
                draw_changes(
                    [emitted(answer, batch) for batch in answer.kept] or [events_of(answer, [])],
                    is_final=answer.is_final,
                )


def emitted(answer: Answer, batch: Batch) -> StreamColumns:
    """A batch of an answer as events: its changes, and a cti if more is final than before."""
    return events_of(answer, [batch], new_cti(answer, batch))


def new_cti(answer: Answer, batch: Batch) -> int | None:
    """How far an answer is final with a batch, if that is further than before."""
    from driftline.model.time import BEGINNING

    if batch.cti == BEGINNING or (answer.closed is not None and batch.cti <= answer.closed):
        return None
    answer.closed = batch.cti
    return batch.cti


def events_of(answer: Answer, batches: list[Batch], cti: int | None = None) -> StreamColumns:
    """Batches of an answer as events, and then a cti if one is given."""
    from driftline.engine.core.batch import empty, joined
    from driftline.engine.core.output_events import output_events

    whole = joined(batches) if batches else empty(answer.plan.schema.arrow)
    return output_events(answer.name, whole, timestamps=answer.plan.timestamps, cti=cti)


def history(answer: Answer) -> Any:
    """The canonical history of all that was emitted, in order; where only snapshots have a meaning,
    in the longest lifetimes, in whatever pieces it was emitted."""
    from driftline.engine.core.batch import empty, joined
    from driftline.engine.lifetimes.coalesce import coalesced
    from driftline.model.history_columns import history_columns
    from driftline.plan.lifetimes import is_loose

    whole = joined(answer.kept) if answer.kept else empty(answer.plan.schema.arrow)
    return history_columns(
        events_of(answer, [coalesced(whole) if is_loose(answer.plan) else whole])
    )


def current(answer: Answer) -> pa.Table:
    """The rows that are there in the end."""
    from driftline.engine.tables import current_table

    return current_table(answer.kept, answer.plan.schema.arrow)
