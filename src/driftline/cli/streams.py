"""Inputs that are read as they come: directories of files, Kafka topics, Spark's rate source.

    trades=DIR                        the files of a directory, in order of their time
    trades=DIR?maxFilesPerTrigger=1   … with options of Spark's file source
    trades=s3a://BUCKET/DIR?format=parquet
    trades=kafka://HOST:PORT/TOPIC    the values of a topic's messages, as JSON
    ticks=rate://?rowsPerSecond=5     Spark's own source of numbered rows, for trying things out

What follows the ? are options of Spark's source, and some of ours: `format` (json, csv, parquet, or
log for event logs), where it cannot be seen from the files that are there; of event logs `stream`,
the name that the stream has in them; of CSV `delimiter` (or `sep`), `timestampFormat` and
`dateFormat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl

from driftline.event_log.apart import is_there
from driftline.running.problems import Problem
from driftline.running.streams import CSV_OPTIONS, Form, Streamed, csv_form, files_of

FORMATS = ("json", "csv", "parquet", "log")
SUFFIXES: dict[str, Form] = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json", ".log": "json",
    ".csv": "csv", ".parquet": "parquet",
}  # fmt: skip
COMPRESSED = (".gz", ".zst", ".bz2", ".lz4")


def streamed(
    text: str,
    more: Mapping[str, str] | None = None,
    by: str = "--input",
    *,
    holds_events: bool = True,
) -> Streamed | None:
    """The input that an argument names; None: it is a file. `more`: options that a script has;
    `by`: what names it; `holds_events`: it is a log, if that cannot be seen yet.

    >>> found = streamed("kafka://a:9092,b:9092/trades?startingOffsets=latest")
    >>> found.kind, found.place, found.options
    ('kafka', 'a:9092,b:9092/trades', {'startingOffsets': 'latest'})
    >>> streamed("trades.csv")
    """
    place, options = parted(text)
    options |= more or {}
    given, stream = taken_form(options, by), options.pop("stream", None)
    scheme, sign, rest = place.partition("://")
    csv = taken_csv(options)
    if not sign:
        if not Path(place).is_dir():
            return None
        found = given or _form_of(Path(place), by, holds_events)
        need_csv(csv, found, by)
        return Streamed("files", place, found, options, stream, csv=csv)
    if scheme in ("rate", "kafka"):
        need_csv(csv, given or "json", by)
    if scheme == "rate":
        return Streamed("rate", rest, "rows", options)
    if scheme == "kafka":
        servers, _, topic = rest.partition("/")
        if not servers or not topic or "/" in topic:
            raise Problem(f"{by}: {text}: give kafka://HOST:PORT/TOPIC")
        return Streamed("kafka", rest, given or "json", options, stream)
    if scheme in ("postgresql", "postgres", "mysql", "jdbc", "duckdb", "sqlite"):
        raise Problem(
            f"{by}: {scheme}:// is a database, which cannot be read: export the table to a file "
            "(.csv, .parquet), or give its changes as a topic of Kafka"
        )
    if given is None:
        raise Problem(
            f"{by}: {text}: say what its files are: {place}?format=json, csv, parquet or log"
        )
    need_csv(csv, given, by)
    return Streamed("files", place, given, options, stream, csv=csv)


def form_by_name(path: Path) -> Form | None:
    """How a file is written, as its name says: a log is JSON by its name.

    >>> form_by_name(Path("a.CSV.gz")), form_by_name(Path("a.log")), form_by_name(Path("a.txt"))
    ('csv', 'json', None)
    """
    suffixes = (suffix.lower() for suffix in path.suffixes)
    return next((SUFFIXES[each] for each in suffixes if each in SUFFIXES), None)


def taken_form(options: dict[str, str], by: str) -> Form | None:
    """The format that options say, which is then none of them."""
    form = options.pop("format", None)
    if form is not None and form not in FORMATS:
        raise Problem(f"{by}: format is one of {', '.join(FORMATS)}, not {form}")
    return cast("Form | None", form)


def taken_csv(options: dict[str, str]) -> dict[str, str]:
    """The options about how CSV is written, which are then none of the others."""
    names = [name for name in options if name.lower() in CSV_OPTIONS]
    return {CSV_OPTIONS[name.lower()]: options.pop(name) for name in names}


def need_csv(csv: Mapping[str, str], form: Form | None, by: str) -> None:
    """Refuses what is said of CSV if the input is none, or what no CSV can be."""
    if csv and form != "csv":
        raise Problem(f"{by}: {next(iter(csv))} is for CSV, and this is {form}")
    csv_form(csv)


def growing(path: str, more: Mapping[str, str], by: str, *, holds_events: bool) -> Streamed | None:
    """A file whose lines are read as they come; None if it is not one of lines. `more`: options
    that a script has; `holds_events`: it is a log, if that cannot be seen yet."""
    place, options = parted(path)
    options |= more
    given, csv = taken_form(options, by), taken_csv(options)
    form = given or form_by_name(Path(place))
    is_plain = Path(place).is_file() and Path(place).suffix.lower() not in COMPRESSED
    if form is None or form == "parquet" or not is_plain:
        return None
    if form == "json" and given is None:
        from driftline.engine.readers.json_records import is_log

        is_empty = Path(place).stat().st_size == 0
        form = "log" if (holds_events if is_empty else is_log(Path(place))) else "json"
    need_csv(csv, form, by)
    return Streamed("files", place, form, {}, options.get("stream"), csv=csv)


def parted(text: str) -> tuple[str, dict[str, str]]:
    """A place, and its options."""
    if is_there(text):
        return text, {}
    place, _, options = text.partition("?")
    return place, dict(parse_qsl(options, keep_blank_values=True))


def _form_of(folder: Path, by: str, holds_events: bool) -> Form:
    """How the files of a directory are written: all in the same way."""
    found: dict[Form, Path] = {}
    for path in files_of(folder):
        form = form_by_name(path)
        if form is None:
            raise Problem(f"{by}: {path}: its format is inferred from .jsonl, .csv or .parquet")
        if form not in found or found[form].stat().st_size == 0:
            found[form] = path
    if not found:
        raise Problem(
            f"{by}: {folder} is empty: say what will come, {folder}?format=json, csv, parquet "
            "or log"
        )
    if len(found) > 1:
        one, other, *_ = found.values()
        raise Problem(f"{by}: {folder} holds {one.name} and {other.name}: one format is needed")
    ((form, path),) = found.items()
    from driftline.engine.readers.json_records import is_log

    if form != "json":
        return form
    is_empty = path.stat().st_size == 0
    return "log" if (holds_events if is_empty else is_log(path)) else "json"
