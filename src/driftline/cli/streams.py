"""Inputs that are read as they come: directories of files, Kafka topics, Spark's rate source.

    trades=DIR                        the files of a directory, in order of their time
    trades=DIR?maxFilesPerTrigger=1   … with options of Spark's file source
    trades=s3a://BUCKET/DIR?format=parquet
    trades=kafka://HOST:PORT/TOPIC    the values of a topic's messages, as JSON
    ticks=rate://?rowsPerSecond=5     Spark's own source of numbered rows, for trying things out

What follows the ? are options of Spark's source, and two of ours: `format` (json, csv, parquet, or
log for event logs), where it cannot be seen from the files that are there; and of event logs
`stream`, the name that the stream has in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import parse_qsl

from driftline.cli.errors import Problem
from driftline.model.log.apart import HIDDEN, is_there

if TYPE_CHECKING:
    from driftline.plan.nodes import Source

Kind = Literal["files", "kafka", "rate"]
Form = Literal["json", "csv", "parquet", "log", "rows"]

FORMATS = ("json", "csv", "parquet", "log")
SUFFIXES: dict[str, Form] = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".log": "json",
    ".csv": "csv", ".parquet": "parquet",
}  # fmt: skip
COMPRESSED = (".gz", ".zst", ".bz2", ".lz4")


@dataclass(frozen=True)
class Streamed:
    """An input that is read as it comes. `place`: a directory, servers/topic, or nothing; `form`:
    how its records are written; `stream`: what a log calls the stream (None: as the query does)."""

    kind: Kind
    place: str
    form: Form
    options: Mapping[str, str]
    stream: str | None = None

    @property
    def shown(self) -> str:
        return self.place if self.kind == "files" else f"{self.kind}://{self.place}"

    @property
    def is_endless(self) -> bool:
        return self.kind == "rate"


def streamed(text: str) -> Streamed | None:
    """What an argument says, if it is such an input; None: it is a file.

    >>> found = streamed("kafka://a:9092,b:9092/trades?startingOffsets=latest")
    >>> found.kind, found.place, found.options
    ('kafka', 'a:9092,b:9092/trades', {'startingOffsets': 'latest'})
    >>> streamed("trades.csv")
    """
    place, options = parted(text)
    form, stream = options.pop("format", None), options.pop("stream", None)
    if form is not None and form not in FORMATS:
        raise Problem(f"--input: {text}: format is one of {', '.join(FORMATS)}, not {form}")
    said = cast("Form | None", form)
    scheme, sign, rest = place.partition("://")
    if not sign:
        if not Path(place).is_dir():
            return None
        return Streamed("files", place, said or _form_of(Path(place)), options, stream)
    if scheme == "rate":
        return Streamed("rate", rest, "rows", options)
    if scheme == "kafka":
        servers, _, topic = rest.partition("/")
        if not servers or not topic or "/" in topic:
            raise Problem(f"--input: {text}: give kafka://HOST:PORT/TOPIC")
        return Streamed("kafka", rest, said or "json", options, stream)
    if said is None:
        raise Problem(
            f"--input: {text}: say what its files are: {place}?format=json, csv, parquet or log"
        )
    return Streamed("files", place, said, options, stream)


def parted(text: str) -> tuple[str, dict[str, str]]:
    """A place, and what its options say."""
    if is_there(text):
        return text, {}
    place, _, options = text.partition("?")
    return place, dict(parse_qsl(options, keep_blank_values=True))


def files_of(folder: Path) -> list[Path]:
    """The files of a directory in the order in which Spark takes them: by time, then by name."""
    found = (
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)
    )
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, str(path)))


def _form_of(folder: Path) -> Form:
    """How the files of a directory are written: all in the same way."""
    found: dict[Form, Path] = {}
    for path in files_of(folder):
        suffixes = [suffix.lower() for suffix in path.suffixes]
        form = next((SUFFIXES[each] for each in suffixes if each in SUFFIXES), None)
        if form is None:
            raise Problem(f"--input: {path}: its format is told by .jsonl, .csv or .parquet")
        found.setdefault(form, path)
    if not found:
        raise Problem(
            f"--input: {folder} is empty: say what will come, {folder}?format=json, csv, parquet "
            "or log"
        )
    if len(found) > 1:
        one, other, *_ = found.values()
        raise Problem(f"--input: {folder} holds {one.name} and {other.name}: one format is needed")
    ((form, path),) = found.items()
    from driftline.engine.json_records import is_log

    return "log" if form == "json" and is_log(path) else form


def read_here(source: Source, given: Streamed) -> Iterator[Any]:
    """The records of a directory, file after file: for the local runner."""
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"--input {source.name}={given.shown} is for --runner spark")
    return itertools.chain.from_iterable(
        _read_file(source, path, given.form) for path in files_of(Path(given.place))
    )


def _read_file(source: Source, path: Path, form: Form) -> Iterator[Any]:
    import pyarrow as pa

    from driftline.engine.chunks import LARGEST_CHUNK, parts
    from driftline.engine.inputs import json_records

    if path.stat().st_size == 0:
        return
    try:
        if form == "json":
            yield json_records(source, path).records
        else:
            yield from parts(source, path, LARGEST_CHUNK)
    except pa.ArrowInvalid as error:
        raise Problem(f"{path}: {error}") from None
