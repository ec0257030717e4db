"""Inputs that are read as they come, as DataFrames of raw events.

    files   Spark's file source over a directory: new files are picked up
    kafka   the values of a topic's messages, as JSON (see `kafka_source`)
    rate    Spark's rate source: columns timestamp and value

Spark finds which files there are, and a task reads each by the same reader as everywhere: values
mean the same, and a record that cannot be read has its line. It becomes an event of no known kind,
which is a dead letter. Spark itself reads Parquet, and files with options of its own readers, of
which the lines are not known.

Beside each there is a directory for the cti ∞ that closes the stream when all has been read: it is
written between two starts of the query, of which the second reads nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.readers.csv_records import CsvFile, CsvForm
from driftline.engine.readers.inputs import (
    CLOSING,
    RawEvents,
    events_from,
    json_records,
    log_events,
)
from driftline.engine.shards.reads import FILE_OF
from driftline.engine.shards.source_messages import BAD, CLOCK, KIND, VE, VN, VS
from driftline.event_log.bad import UnreadableLog
from driftline.event_log.deadletters import to_text
from driftline.event_log.source import COMPRESSIONS
from driftline.model.columns import CTI, INSERT
from driftline.model.time import INFINITY
from driftline.plan.nodes import Source
from driftline.plan.types import quoted, type_name
from driftline.running.kafka import topic_of
from driftline.running.streams import Streamed, csv_form
from driftline.spark.columns import for_spark
from driftline.spark.kafka_source import messages
from driftline.spark.places import address_of
from driftline.spark.session import mapped
from driftline.spark.sources import EVENTS, FILE, ROW, UNREADABLE, payload_name, raw_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

UNREAD = "$unread"
"""A column with the text of a record that Spark could not read as it was to be."""

MOST_BYTES = 64 << 20
"""How much of a directory a micro-batch takes at most, by default."""

MOST_ROWS = 1 << 16
"""How many rows at most go back to Spark at once."""

LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")

OF_FILES = (
    *LIMITS, "latestFirst", "maxFileAge", "fileNameOnly", "cleanSource", "sourceArchiveDir",
    "pathGlobFilter", "recursiveFileLookup", "maxCachedFiles", "discardCachedInputRatio",
)  # fmt: skip
"""Options about which files are read, and not how."""


def streamed_events(
    spark: SparkSession,
    given: Streamed,
    source: Source,
    control: Path,
    *,
    with_files: bool = False,
) -> DataFrame:
    """The raw events of an input, and of `control`, the directory with what closes it.
    `with_files`: and the files that they stood in."""
    from pyspark.sql import functions as f

    if given.kind == "kafka":
        raw = message_events(messages(spark, topic_of(given)), source, given)
    elif given.kind == "files" and not _is_sparks_own(given):
        raw = _file_events(spark, given, source, with_files)
    else:
        raw = _record_events(_records(spark, given, source), source, with_files)
    if source.timing.needs_clock and CLOCK not in raw.columns:
        # As of other streams, the time of the micro-batch: "at" is for logs that are files.
        raw = raw.withColumn(CLOCK, f.unix_millis(f.current_timestamp()))
    control.mkdir(parents=True, exist_ok=True)
    closing = spark.readStream.schema(_CONTROL).parquet(str(control))
    names = [f.col(quoted(each)) for each in (KIND, VS, VE, VN) if each in raw.columns]
    if CLOCK in raw.columns:
        names.append(f.lit(NO_CLOCK).alias(CLOCK))
    return raw.unionByName(closing.select(*names), allowMissingColumns=True)


_CONTROL = f"{quoted(KIND)} TINYINT, {quoted(VS)} BIGINT, {quoted(VE)} BIGINT, {quoted(VN)} BIGINT"


def close(control: Path) -> None:
    """Close a stream: no later event will change anything."""
    ends = {VS: INFINITY, VE: CLOSING, VN: INFINITY}
    times = {name: pa.array([each], pa.int64()) for name, each in ends.items()}
    half = control / ".closing"
    pq.write_table(pa.table({KIND: pa.array([CTI], pa.int8()), **times}), half)
    half.rename(control / "closing.parquet")


def is_closing(control: Path) -> bool:
    """Whether a stream is closed, or will be when the query goes on."""
    return (control / "closing.parquet").exists()


# Files that our own readers read


def _is_sparks_own(given: Streamed) -> bool:
    """Whether Spark reads the records of files: Parquet, and files with options of its own
    readers."""
    known = {option.lower() for option in OF_FILES}
    how = any(option.lower() not in known for option in given.options)
    return given.form == "parquet" or (how and given.form != "log")


def _file_events(
    spark: SparkSession, given: Streamed, source: Source, with_files: bool
) -> DataFrame:
    """The raw events of files, each read by a task, which opens those on this machine itself."""
    options = {"recursiveFileLookup": "true", **_limits(given), **given.options}
    reader = spark.readStream.format("binaryFile").schema(_BINARY_FILE).options(**options)
    is_near = "://" not in given.place or given.place.startswith("file:")
    files = reader.load(address_of(given.place)).select("path", *([] if is_near else ["content"]))
    form = csv_form(given.csv)
    read = partial(read_files, source, given.form, form, given.stream or source.name, with_files)
    schema = _raw_schema(source, events=given.form == "log")
    if with_files:
        schema += f", {quoted(FILE_OF)} STRING"
    return mapped(files, read, schema)


_BINARY_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


def read_files(
    source: Source,
    form: str,
    csv: CsvForm,
    stream: str,
    with_files: bool,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The raw events of files, of which there is the path, and of those elsewhere the content."""
    for batch in batches:
        for row in batch.to_pylist():
            path = unquote(urlsplit(row["path"]).path) if "content" not in row else row["path"]
            if _size(path, row.get("content")) == 0:
                continue
            what = Path(path) if "content" not in row else _opened(path, row["content"])
            first = True
            for table in _tables(source, form, csv, stream, what):
                named = _with_file(table, row["path"] if first else None) if with_files else table
                first = first and table.num_rows == 0
                yield from for_spark(named.to_batches(max_chunksize=MOST_ROWS))


def _size(path: str, content: bytes | None) -> int:
    return Path(path).stat().st_size if content is None else len(content)


def _with_file(table: pa.Table, path: str | None) -> pa.Table:
    """The file that rows stood in, beside the first of them (None: it was named before)."""
    names = [path] + [None] * (table.num_rows - 1) if table.num_rows else []
    return table.append_column(FILE_OF, pa.array(names, pa.string()))


def _opened(path: str, content: bytes) -> io.BytesIO:
    kind = COMPRESSIONS.get(Path(path).suffix.lower())
    try:
        whole = pa.input_stream(pa.BufferReader(content), kind).read() if kind else content
    except OSError as error:
        raise UnreadableLog(f"{path}: cannot be read: {error}") from None
    file = io.BytesIO(whole)
    file.name = path
    return file


def _tables(
    source: Source, form: str, csv: CsvForm, stream: str, what: Path | io.BytesIO
) -> Iterator[pa.Table]:
    """The raw events of a file, part by part."""
    if form == "log":
        yield log_table(what, source, stream)
    elif form == "json":
        yield raw_table(events_from(source, json_records(source, what).records))
    else:
        for part in CsvFile(source, what, form=csv).parts():
            yield raw_table(events_from(source, part))


def _raw_schema(source: Source, *, events: bool) -> str:
    names = [f"{quoted(KIND)} TINYINT, {quoted(VS)} BIGINT"]
    if events:
        names.append(f"{quoted(VE)} BIGINT, {quoted(VN)} BIGINT, {quoted(EVENTS)} BOOLEAN")
    elif source.timing.arrival is not None:
        names.append(f"{quoted(CLOCK)} BIGINT")
    names.append(f"{quoted(BAD)} STRING")
    names += [
        f"{quoted(payload_name(place))} {type_name(column.type)}"
        for place, column in enumerate(source.columns)
    ]
    return ", ".join(names)


def raw_table(events: RawEvents) -> pa.Table:
    """Raw events as rows, and the records that could not be read as events of no known kind."""
    count, bad = len(events), len(events.bad)
    more = np.zeros(bad, np.int64)
    columns: dict[str, Any] = {
        KIND: np.concatenate([events.kind, np.full(bad, UNREADABLE, np.int8)]),
        VS: np.concatenate([events.vs, more]),
    }
    if events.is_log:
        columns[VE] = np.concatenate([events.ve, more])
        columns[VN] = np.concatenate([events.vn, more])
        columns[EVENTS] = pa.nulls(count + bad, pa.bool_())
    elif events.clock is not None:
        columns[CLOCK] = np.concatenate([events.clock, np.full(bad, NO_CLOCK)])
    written = pa.array([to_text(each) for each in events.bad], pa.string())
    columns[BAD] = pa.concat_arrays([pa.nulls(count, pa.string()), written])
    for place, column in enumerate(events.payload.columns):
        parts = [*column.chunks, pa.nulls(bad, column.type)]
        columns[payload_name(place)] = pa.chunked_array(parts, column.type)
    return pa.table(columns)


# Records that Spark reads


def _records(spark: SparkSession, given: Streamed, source: Source) -> DataFrame:
    from pyspark.sql import functions as f

    if given.kind == "rate":
        return spark.readStream.format("rate").options(**given.options).load()
    reader = spark.readStream.options(**_file_options(given)).format(given.form)
    frame = reader.schema(_schema(spark, given, source)).load(address_of(given.place))
    row = f.col("_metadata.row_index") + 1 if given.form == "parquet" else f.lit(0)
    path = f.regexp_replace("_metadata.file_path", "^file:(//)?", "")
    return frame.select("*", path.alias(FILE), row.alias(ROW))


def _file_options(given: Streamed) -> dict[str, str]:
    """The options for reading files as our own readers do; those of users go before."""
    options = {"columnNameOfCorruptRecord": UNREAD, "recursiveFileLookup": "true"}
    if given.form == "csv":
        options |= {"header": "true", "enforceSchema": "false"}
        # As RFC 4180 has it: a quote inside quotes is written twice, and lines may end there.
        # What is empty is null, but not what is empty inside quotes.
        options |= {"multiLine": "true", "escape": '"', "nullValue": "\0"}
    return {**options, **_limits(given), **given.options, **given.csv}


def _limits(given: Streamed) -> dict[str, str]:
    """How much a micro-batch takes, by default. Events of a log have an order, and files of
    one micro-batch have none."""
    if any(limit in given.options for limit in LIMITS):
        return {}
    return {LIMITS[0]: "1"} if given.form == "log" else {LIMITS[1]: str(MOST_BYTES)}


def _schema(spark: SparkSession, given: Streamed, source: Source) -> StructType | str:
    """The columns of files: in CSV as the header has them, in Parquet as they were written; if no
    file is there yet, and in JSON, as the stream has them."""
    from pyspark.errors import AnalysisException

    own = {column.name.lower(): type_name(column.type) for column in source.columns}
    unread = f"{quoted(UNREAD)} STRING"
    declared = [f"{quoted(column.name)} {type_name(column.type)}" for column in source.columns]
    if given.form == "json":
        return ", ".join([*declared, unread])
    reader = spark.read.options(**_file_options(given)).format(given.form)
    try:
        found = reader.load(address_of(given.place)).schema
    except AnalysisException:  # there is none
        return ", ".join([*declared, unread] if given.form == "csv" else declared)
    if given.form == "parquet":
        return found
    if not found.names:
        return ", ".join([*declared, unread])
    header = [f"{quoted(name)} {own.get(name.lower(), 'STRING')}" for name in found.names]
    return ", ".join([*header, unread])


def _record_events(records: DataFrame, source: Source, with_files: bool) -> DataFrame:
    """Records as raw events, whose payload is named by its places."""
    from pyspark.sql import functions as f

    unread = f.col(quoted(UNREAD)) if UNREAD in records.columns else None
    if with_files and FILE in records.columns:
        records = records.withColumn(FILE_OF, f.col(quoted(FILE)))
    events = raw_events(records, source, unread)
    if KIND not in events.columns:
        events = events.withColumn(KIND, f.lit(INSERT).cast("tinyint"))
    payload = [
        f.col(quoted(name)).alias(payload_name(place))
        for place, name in enumerate(source.columns.names)
    ]
    times = [quoted(each) for each in (KIND, VS, CLOCK, BAD, FILE_OF) if each in events.columns]
    return events.select(*times, *payload)


def message_events(found: DataFrame, source: Source, given: Streamed) -> DataFrame:
    """Messages as raw events: their values are records in JSON, or lines of an event log; `source`
    and `line` are where each stood."""
    read = partial(read_messages, source, given.form, given.stream or source.name)
    return mapped(found, read, _raw_schema(source, events=given.form == "log"))


def read_messages(
    source: Source, form: str, stream: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The raw events of messages: their values, and where each stood."""
    for batch in batches:
        values, files, lines = (
            batch.column(name).to_pylist() for name in ("value", "source", "line")
        )
        # A message is a line: white space is all that a line break can be in JSON.
        text = b"\n".join((value or b"null").replace(b"\n", b" ") for value in values)
        if form == "log":
            events = log_events(io.BytesIO(text), source, stream)
        else:
            events = events_from(source, json_records(source, text).records)
        bad = (
            replace(each, source=files[each.line - 1], line=lines[each.line - 1])
            for each in events.bad
        )
        table = raw_table(replace(events, bad=tuple(bad)))
        yield from for_spark(table.to_batches(max_chunksize=MOST_ROWS))


# Event logs


def log_table(what: Path | IO[bytes], source: Source, stream: str) -> pa.Table:
    """Raw events from the lines of a log: those of one stream, and what is no event."""
    return raw_table(log_events(what, source, stream))
