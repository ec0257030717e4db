"""Inputs that are read as they come: directories of files, Kafka topics, Spark's rate source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from driftline.event_log.apart import HIDDEN
from driftline.running.files import Places
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.readers.inputs import RawEvents
    from driftline.plan.nodes import Source

Kind = Literal["files", "kafka", "rate"]
Form = Literal["json", "csv", "parquet", "log", "rows"]


@dataclass(frozen=True)
class Streamed:
    """An input that is read as it comes. `place`: a directory, servers/topic, or nothing; `form`:
    how its records are written; `stream`: what a log calls the stream (None: as the query does);
    `places`: where the records stood that were read in this process."""

    kind: Kind
    place: str
    form: Form
    options: Mapping[str, str]
    stream: str | None = None
    places: Places = field(default_factory=Places, compare=False)

    @property
    def shown(self) -> str:
        return self.place if self.kind == "files" else f"{self.kind}://{self.place}"

    @property
    def is_endless(self) -> bool:
        return self.kind == "rate"


def files_of(folder: Path) -> list[Path]:
    """The files of a directory in the order in which Spark takes them: by time, then by name."""
    found = (
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)
    )
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))


def read_here(source: Source, given: Streamed) -> Iterator[Any]:
    """The records of a directory, file after file: for the local runner."""
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"--input {source.name}={given.shown} is for --runner spark")
    from driftline.engine.readers.ahead import ahead

    return ahead(_read_files(source, Path(given.place), given.form, given.places))


def _read_files(source: Source, folder: Path, form: Form, places: Places) -> Iterator[RawEvents]:
    from driftline.engine.readers.chunks import LARGEST_CHUNK, chunks

    def parts() -> Iterator[Any]:
        for path in files_of(folder):
            places.begin(path)
            yield from _read_file(source, path, form)

    places.__init__()  # type: ignore[misc]  # start again
    for events in chunks(source, parts(), LARGEST_CHUNK):
        if events.lines is not None:
            places.lines.add(events.lines)
        yield events


def _read_file(source: Source, path: Path, form: Form) -> Iterator[Any]:
    import pyarrow as pa

    from driftline.engine.readers.chunks import LARGEST_CHUNK, parts
    from driftline.engine.readers.inputs import json_records

    if path.stat().st_size == 0:
        return
    try:
        if form == "json":
            yield json_records(source, path).records
        else:
            yield from parts(source, path, LARGEST_CHUNK)
    except pa.ArrowInvalid as error:
        raise Problem(f"{path}: {error}") from None
