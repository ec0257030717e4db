"""Inputs that are read as they come, as DataFrames of raw events.

    files   Spark's file source over a directory: new files are picked up
    kafka   Spark's Kafka source, if the connector is there: the values of messages as JSON
    rate    Spark's rate source: columns timestamp and value

Records are read with the types of the stream. One that cannot be read becomes an event of no known
kind, which is a dead letter. Lines of an event log are read by the same reader as everywhere.

Beside each there is a directory for the cti ∞ that closes the stream when all has been read: it is
written between two starts of the query, of which the second reads nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftline.cli.errors import Problem
from driftline.cli.streams import Streamed
from driftline.engine.inputs import check_log_times, typed
from driftline.engine.log_columns import exact_columns
from driftline.engine.source_parcels import CLOCK, KIND, TEXT, VE, VN, VS
from driftline.engine.source_time import NO_CLOCK
from driftline.model.columns import CTI, INSERT, StreamColumns
from driftline.model.log.reader import scan_log
from driftline.model.time import INFINITY
from driftline.plan.nodes import Source
from driftline.plan.types import quoted, type_name
from driftline.spark.sources import EVENTS, payload_name, raw_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

UNREAD = "$unread"
"""A column with the text of a record that could not be read as it was to be."""

UNREADABLE = -1
"""The kind of such an event."""

SCALA = "2.13"
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10"

MOST_BYTES = 64 << 20
"""How much of a directory a micro-batch takes at most, if nothing else is said."""

LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")


def streamed_events(
    spark: SparkSession, given: Streamed, source: Source, control: Path
) -> DataFrame:
    """The raw events of an input, and of `control`, the directory with what closes it."""
    from pyspark.sql import functions as f

    if given.form == "log":
        raw = log_events(_lines(spark, given), source, given.stream or source.name)
        if source.timing.needs_clock:
            # As of other streams, the time of the micro-batch: "at" is for logs that are files.
            raw = raw.withColumn(CLOCK, f.unix_millis(f.current_timestamp()))
    else:
        raw = _record_events(_records(spark, given, source), source)
    control.mkdir(parents=True, exist_ok=True)
    closing = spark.readStream.schema(_CONTROL).parquet(str(control))
    names = [f.col(quoted(each)) for each in (KIND, VS, VE, VN) if each in raw.columns]
    if CLOCK in raw.columns:
        names.append(f.lit(NO_CLOCK).alias(CLOCK))
    return raw.unionByName(closing.select(*names), allowMissingColumns=True)


_CONTROL = f"{quoted(KIND)} TINYINT, {quoted(VS)} BIGINT, {quoted(VE)} BIGINT, {quoted(VN)} BIGINT"


def close(control: Path) -> None:
    """Close a stream: no later event will change anything."""
    times = {name: pa.array([INFINITY], pa.int64()) for name in (VS, VE, VN)}
    half = control / ".closing"
    pq.write_table(pa.table({KIND: pa.array([CTI], pa.int8()), **times}), half)
    half.rename(control / "closing.parquet")


def is_closing(control: Path) -> bool:
    """Whether a stream is closed, or will be when the query goes on."""
    return (control / "closing.parquet").exists()


# Records


def _records(spark: SparkSession, given: Streamed, source: Source) -> DataFrame:
    if given.kind == "rate":
        return spark.readStream.format("rate").options(**given.options).load()
    if given.kind == "kafka":
        return json_records(_messages(spark, given), source)
    reader = spark.readStream.options(**_file_options(given)).format(given.form)
    return reader.schema(_schema(spark, given, source)).load(given.place)


def _file_options(given: Streamed) -> dict[str, str]:
    """As we read files: those of users go before."""
    options = {"columnNameOfCorruptRecord": UNREAD, "recursiveFileLookup": "true"}
    if given.form == "csv":
        options |= {"header": "true", "enforceSchema": "false"}
        # As RFC 4180 has it: a quote inside quotes is written twice, and lines may end there.
        # What is empty is null, but not what is empty inside quotes.
        options |= {"multiLine": "true", "escape": '"', "nullValue": "\0"}
    if not any(limit in given.options for limit in LIMITS):
        # Events of a log have an order, and files of one micro-batch have none.
        options |= {LIMITS[0]: "1"} if given.form == "log" else {LIMITS[1]: str(MOST_BYTES)}
    return {**options, **given.options}


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
        found = reader.load(given.place).schema
    except AnalysisException:  # there is none
        return ", ".join([*declared, unread] if given.form == "csv" else declared)
    if given.form == "parquet":
        return found
    if not found.names:
        return ", ".join([*declared, unread])
    header = [f"{quoted(name)} {own.get(name.lower(), 'STRING')}" for name in found.names]
    return ", ".join([*header, unread])


def _messages(spark: SparkSession, given: Streamed) -> DataFrame:
    """The values of a topic's messages."""
    from pyspark.errors import AnalysisException

    servers, _, topic = given.place.partition("/")
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **given.options,
    }
    try:
        return spark.readStream.format("kafka").options(**options).load().select("value")
    except AnalysisException as error:
        if "data source" not in str(error).lower():
            raise
        package = f"{CONNECTOR}_{SCALA}:{spark.version}"
        raise Problem(
            f"{given.shown} needs Spark's Kafka connector, which is not there: add "
            f"--conf spark.jars.packages={package}"
        ) from None


def json_records(values: DataFrame, source: Source) -> DataFrame:
    """Messages as records: their column `value` is JSON."""
    from pyspark.sql import functions as f

    fields = [f"{quoted(column.name)} {type_name(column.type)}" for column in source.columns]
    schema = ", ".join([*fields, f"{quoted(UNREAD)} STRING"])
    options = {"columnNameOfCorruptRecord": UNREAD}
    record = f.from_json(f.col("value").cast("string"), schema, options)
    return values.select(record.alias("record")).select("record.*")


def _record_events(records: DataFrame, source: Source) -> DataFrame:
    """Records as raw events, whose payload is named by its places."""
    from pyspark.sql import functions as f

    kind = f.lit(INSERT)
    extra = []
    if UNREAD in records.columns:
        unread = f.col(quoted(UNREAD))
        kind = f.when(unread.isNotNull(), f.lit(UNREADABLE)).otherwise(kind)
        extra = [unread.alias(TEXT)]
    # What was not read as it was to be is kept apart from the cast that would fail on it.
    events = raw_events(records, source, extra=[kind.cast("tinyint").alias(KIND), *extra])
    payload = [
        f.col(quoted(name)).alias(payload_name(place))
        for place, name in enumerate(source.columns.names)
    ]
    times = [quoted(each) for each in (KIND, VS, CLOCK, TEXT) if each in events.columns]
    return events.select(*times, *payload)


# Event logs


def _lines(spark: SparkSession, given: Streamed) -> DataFrame:
    if given.kind == "kafka":
        return _messages(spark, given).selectExpr("CAST(value AS STRING) AS value")
    reader = spark.readStream.options(**_file_options(given))
    return reader.text(given.place).select("value")


def log_events(lines: DataFrame, source: Source, stream: str) -> DataFrame:
    """The lines of event logs, in a column `value`, as raw events of one of their streams."""
    times = f"{quoted(KIND)} TINYINT, {quoted(VS)} BIGINT, {quoted(VE)} BIGINT, {quoted(VN)} BIGINT"
    columns = [times, f"{quoted(EVENTS)} BOOLEAN, {quoted(TEXT)} STRING"]
    columns += [
        f"{quoted(payload_name(place))} {type_name(column.type)}"
        for place, column in enumerate(source.columns)
    ]

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = batch.column(0).drop_null().to_pylist()
            yield from log_batch("\n".join(texts).encode(), source, stream).to_batches()

    return lines.mapInArrow(read, ", ".join(columns))


def log_batch(lines: bytes, source: Source, stream: str) -> pa.Table:
    """Raw events from the lines of a log: those of one stream, and what is no event."""
    log = scan_log(
        [io.BytesIO(lines)], valid_streams=False, exact=exact_columns([(stream, source)])
    )
    parts = [
        _columns(source, columns)
        for name, columns in log.streams.items()
        if name.lower() == stream.lower()
    ]
    if log.bad:
        count = len(log.bad)
        nothing = pa.table({each.name: pa.nulls(count, each.type) for each in source.columns.arrow})
        zeros = np.zeros(count, np.int64)
        kinds = np.full(count, UNREADABLE, np.int8)
        texts = pa.array([bad.text.decode(errors="replace") for bad in log.bad], pa.string())
        parts.append(_table(kinds, zeros, zeros, zeros, nothing, texts))
    if not parts:
        empty = np.empty(0, np.int64)
        return _table(
            empty.astype(np.int8), empty, empty, empty, source.columns.arrow.empty_table()
        )
    return pa.concat_tables(parts)


def _columns(source: Source, columns: StreamColumns) -> pa.Table:
    check_log_times(source, columns)
    payload = columns.payload
    if payload.num_rows < len(columns):  # ctis only
        payload = pa.table({"": pa.nulls(len(columns))})
    have = {name.lower() for name in payload.column_names}
    for each in source.columns:
        if each.name.lower() not in have:
            payload = payload.append_column(each.name, pa.nulls(len(columns), each.type))
    return _table(columns.kind, columns.vs, columns.ve, columns.vn, typed(source, payload))


def _table(
    kind: np.ndarray,
    vs: np.ndarray,
    ve: np.ndarray,
    vn: np.ndarray,
    payload: pa.Table,
    texts: pa.Array | None = None,
) -> pa.Table:
    table = pa.table({KIND: kind, VS: vs, VE: ve, VN: vn})
    table = table.append_column(EVENTS, pa.nulls(len(table), pa.bool_()))
    table = table.append_column(TEXT, pa.nulls(len(table), pa.string()) if texts is None else texts)
    for place, column in enumerate(payload.columns):
        table = table.append_column(payload_name(place), column)
    return table
