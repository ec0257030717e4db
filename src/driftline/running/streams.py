"""Inputs that are read as they come: directories of files, Kafka topics, Spark's rate source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from driftline.event_log.apart import HIDDEN
from driftline.running.files import FilePlaces
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.readers.csv_records import CsvForm
    from driftline.engine.readers.inputs import RawEvents
    from driftline.plan.nodes import Source

Kind = Literal["files", "kafka", "rate"]
Form = Literal["json", "csv", "parquet", "log", "rows"]


@dataclass(frozen=True)
class Streamed:
    """An input that is read as it comes. `place`: a directory, servers/topic, or nothing; `form`:
    how its records are written, `csv`: and how CSV is; `stream`: what a log calls the stream (None:
    as the query does); `places`: where the records stood that were read in this process; `first`:
    the files that come before all others, in this order."""

    kind: Kind
    place: str
    form: Form
    options: Mapping[str, str]
    stream: str | None = None
    places: FilePlaces = field(default_factory=FilePlaces, compare=False)
    first: tuple[str, ...] = ()
    csv: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return self.place if self.kind == "files" else f"{self.kind}://{self.place}"

    @property
    def is_endless(self) -> bool:
        return self.kind == "rate"


def files_of(folder: Path, first: Sequence[str] = ()) -> list[Path]:
    """The files of a directory in the order in which Spark takes them: by time, then by name;
    `first`: those that come before, by their names in it."""
    found = (
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)
    )
    rest = sorted(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))
    by_name = {inside(str(folder), str(path)): path for path in rest}
    before = []
    for name in first:
        if (path := by_name.pop(inside(str(folder), name), None)) is None:
            raise Problem(f"{folder} has no file {name}: give the directory that was read")
        before.append(path)
    return [*before, *by_name.values()]


def inside(folder: str, path: str) -> str:
    """The name of a file in a directory, of this machine or not; of one elsewhere, its path.

    >>> inside("/data/in/", "/data/in/may/1.csv"), inside("s3a://b/in", "s3a://b/in/1.csv")
    ('may/1.csv', '1.csv')
    """
    for root in (folder.rstrip("/"), str(Path(folder).absolute()), str(Path(folder).resolve())):
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path


def read_here(source: Source, given: Streamed) -> Iterator[Any]:
    """The records of a directory, file after file, or those that a topic has now: for the local
    runner."""
    if given.kind == "kafka":
        return _read_topic(source, given)
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"--input {source.name}={given.shown} is for --runner spark")
    from driftline.engine.readers.ahead import ahead

    return ahead(_read_files(source, given))


def _read_topic(source: Source, given: Streamed) -> Iterator[RawEvents]:
    from driftline.engine.readers.chunks import LARGEST_CHUNK, chunks
    from driftline.engine.readers.inputs import json_records
    from driftline.running.kafka import AT_ONCE, all_there_is, lines, topic_of

    messages = all_there_is(topic_of(given))

    def parts() -> Iterator[Any]:
        while some := list(islice(messages, AT_ONCE)):
            yield json_records(source, lines(some)).records

    return chunks(source, parts(), LARGEST_CHUNK)


def _read_files(source: Source, given: Streamed) -> Iterator[RawEvents]:
    from driftline.engine.readers.chunks import LARGEST_CHUNK, chunks

    places = given.places

    def parts() -> Iterator[Any]:
        for path in files_of(Path(given.place), given.first):
            places.begin(path)
            yield from read_file(source, path, given)

    places.__init__()  # type: ignore[misc]  # start again
    for events in chunks(source, parts(), LARGEST_CHUNK):
        if events.lines is not None:
            places.lines.add(events.lines)
        yield events


def read_file(source: Source, path: Path, given: Streamed) -> Iterator[Any]:
    """The records of a file of a directory, in parts."""
    import pyarrow as pa

    from driftline.engine.readers.chunks import LARGEST_CHUNK, RecordFile, RecordForm, parts

    if path.stat().st_size == 0:
        return
    file = RecordFile(path, cast("RecordForm", given.form), csv_form(given.csv))
    try:
        yield from parts(source, file, LARGEST_CHUNK)
    except pa.ArrowInvalid as error:
        raise Problem(f"{path}: {error}") from None


CSV_OPTIONS = {
    "delimiter": "delimiter", "sep": "delimiter", "timestampformat": "timestampFormat",
    "dateformat": "dateFormat",
}  # fmt: skip
"""How CSV is written, by the names of Spark's options in lower case."""


def csv_form(options: Mapping[str, str]) -> CsvForm:
    """How CSV is written, from options with the names of `CSV_OPTIONS`."""
    from driftline.engine.readers.csv_records import CsvForm

    delimiter = options.get("delimiter", ",").replace("\\t", "\t")  # as Spark has it
    return CsvForm(delimiter, options.get("timestampFormat"), options.get("dateFormat"))
