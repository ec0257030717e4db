"""Five queries, each for Driftline (as a stream), Polars and DuckDB (on the finished data).

Q1  per key, tumbling 10 s: count, sum, max
Q2  per key, hopping 60 s by 5 s: sum, count
Q3  equi-join on (key, item) of two halves within ± 5 s
Q4  per key, sum and count over the last 10 s after every event
Q5  Q1's result joined with a per-key average over 60 s, and aggregated again

Answers are compared as tables of whole numbers, sorted: they must be equal exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import driftline as dl

SECOND = 1_000
COLUMNS = {
    "ts": "BIGINT",
    "key": "BIGINT",
    "item": "BIGINT",
    "price": "DOUBLE",
    "qty": "BIGINT",
}


@dataclass(frozen=True)
class Case:
    """A query in three ways; `answer` makes the table to compare from Driftline's history."""

    query: Callable[[int], dl.Query]
    inputs: Callable[[pa.Table], dict[str, pa.Table]]
    answer: Callable[[pa.Table, pa.Table], pl.DataFrame]
    polars: Callable[[pl.DataFrame], pl.DataFrame]
    duckdb: str


def trades(disorder: int, name: str = "events") -> dl.Query:
    return dl.stream(name, COLUMNS, time="ts", disorder=disorder)


def whole(table: pa.Table) -> dict[str, pa.Table]:
    return {"events": table}


def halves(table: pa.Table) -> dict[str, pa.Table]:
    even = np.arange(table.num_rows) % 2 == 0
    return {"l": table.filter(pa.array(even)), "r": table.filter(pa.array(~even))}


def q1(disorder: int) -> dl.Query:
    windows = trades(disorder).window(range=10 * SECOND, slide=10 * SECOND)
    return windows.group_by("key").agg("count(*) AS n", "sum(qty) AS s", "max(price) AS m")


def q1_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    return frame.select("key", (pl.col("vs") // (10 * SECOND) - 1).alias("w"), "n", "s", "m").sort(
        "key", "w"
    )


def q1_polars(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.group_by("key", (pl.col("ts") // (10 * SECOND)).alias("w"))
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("qty").sum().alias("s"),
            pl.col("price").max().alias("m"),
        )
        .sort("key", "w")
    )


Q1_DUCKDB = """
    SELECT key, ts // 10000 AS w, count(*) AS n, sum(qty)::BIGINT AS s, max(price) AS m
    FROM events GROUP BY ALL ORDER BY key, w
"""


def q2(disorder: int) -> dl.Query:
    windows = trades(disorder).window(range=60 * SECOND, slide=5 * SECOND)
    return windows.group_by("key").agg("sum(qty) AS s", "count(*) AS n")


def q2_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    """One row for every hop: equal neighbours were emitted in one piece."""
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    step = 5 * SECOND
    return (
        frame.select("key", pl.int_ranges("vs", "ve", step).alias("t"), "s", "n")
        .explode("t")
        .select("key", "t", "s", "n")
        .sort("key", "t")
    )


def q2_polars(frame: pl.DataFrame) -> pl.DataFrame:
    step = 5 * SECOND
    cells = frame.group_by("key", (pl.col("ts") // step).alias("c")).agg(
        pl.col("qty").sum().alias("s"), pl.len().cast(pl.Int64).alias("n")
    )
    hops = pl.DataFrame({"h": list(range(1, 13))}, schema={"h": pl.Int64})
    return (
        cells.join(hops, how="cross")
        .group_by("key", ((pl.col("c") + pl.col("h")) * step).alias("t"))
        .agg(pl.col("s").sum(), pl.col("n").sum())
        .sort("key", "t")
    )


Q2_DUCKDB = """
    WITH cells AS (
        SELECT key, ts // 5000 AS c, sum(qty) AS s, count(*) AS n FROM events GROUP BY ALL)
    SELECT key, (c + h) * 5000 AS t, sum(s)::BIGINT AS s, sum(n)::BIGINT AS n
    FROM cells, (SELECT unnest(range(1, 13)) AS h) GROUP BY ALL ORDER BY key, t
"""


def q3(disorder: int) -> dl.Query:
    left = trades(disorder, "l").window(range=5 * SECOND + 1)
    right = trades(disorder, "r").window(range=5 * SECOND + 1)
    return left.join(right, "l.key = r.key AND l.item = r.item").select(
        "l.key AS key", "l.item AS item", "l.ts AS a", "r.ts AS b", "l.qty AS q", "r.qty AS p"
    )


def q3_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    return frame.select("key", "item", "a", "b", "q", "p").sort(pl.all())


def q3_polars(frame: pl.DataFrame) -> pl.DataFrame:
    even = pl.int_range(pl.len()) % 2 == 0
    left, right = frame.filter(even), frame.filter(~even)
    return (
        left.join(right, on=["key", "item"], suffix="_r")
        .filter((pl.col("ts") - pl.col("ts_r")).abs() <= 5 * SECOND)
        .select(
            "key",
            "item",
            pl.col("ts").alias("a"),
            pl.col("ts_r").alias("b"),
            pl.col("qty").alias("q"),
            pl.col("qty_r").alias("p"),
        )
        .sort(pl.all())
    )


Q3_DUCKDB = """
    WITH n AS (SELECT *, row_number() OVER () AS i FROM events)
    SELECT l.key, l.item, l.ts AS a, r.ts AS b, l.qty AS q, r.qty AS p
    FROM n l JOIN n r ON l.key = r.key AND l.item = r.item AND abs(l.ts - r.ts) <= 5000
    WHERE l.i % 2 = 1 AND r.i % 2 = 0 ORDER BY ALL
"""


def q4(disorder: int) -> dl.Query:
    windows = trades(disorder).window(range=10 * SECOND)
    return windows.group_by("key").agg("sum(qty) AS s", "count(*) AS n")


def q4_answer(history: pa.Table, table: pa.Table) -> pl.DataFrame:
    """After every event: what held for its key at its time."""
    emitted = pl.from_arrow(history)
    events = pl.from_arrow(table.select(["ts", "key"]))
    assert isinstance(emitted, pl.DataFrame)
    assert isinstance(events, pl.DataFrame)
    return (
        events.sort("ts")
        .join_asof(
            emitted.sort("vs"), left_on="ts", right_on="vs", by="key", check_sortedness=False
        )
        .select("key", "ts", "s", "n")
        .sort(pl.all())
    )


def q4_polars(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.sort("ts")
        .with_columns(pl.lit(1, pl.Int64).alias("one"))
        .with_columns(
            pl.col("qty").rolling_sum_by("ts", "10000i").over("key").alias("s"),
            pl.col("one").rolling_sum_by("ts", "10000i").over("key").alias("n"),
        )
        .select("key", "ts", "s", "n")
        .sort(pl.all())
    )


Q4_DUCKDB = """
    SELECT key, ts, (sum(qty) OVER w)::BIGINT AS s, count(*) OVER w AS n FROM events
    WINDOW w AS (PARTITION BY key ORDER BY ts RANGE BETWEEN 9999 PRECEDING AND CURRENT ROW)
    ORDER BY ALL
"""


def q5(disorder: int) -> dl.Query:
    sums = q1(disorder)
    hops = trades(disorder).window(range=60 * SECOND, slide=10 * SECOND)
    averages = hops.group_by("key").agg("avg(price) AS a")
    both = sums.join(averages, on="key")
    return both.agg(
        "count(*) AS n",
        "sum(s) AS s",
        "max(a) AS a",
        "count_if(m > a) AS high",
    )


def q5_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    return (
        frame.select(pl.int_ranges("vs", "ve", 10 * SECOND).alias("t"), "n", "s", "a", "high")
        .explode("t")
        .select("t", "n", "s", "a", "high")
        .sort("t")
    )


def q5_polars(frame: pl.DataFrame) -> pl.DataFrame:
    step = 10 * SECOND
    cells = frame.group_by("key", (pl.col("ts") // step).alias("c")).agg(
        pl.col("qty").sum().alias("s"),
        pl.col("price").max().alias("m"),
        pl.col("price").sum().alias("p"),
        pl.len().cast(pl.Int64).alias("n"),
    )
    hops = pl.DataFrame({"h": list(range(1, 7))}, schema={"h": pl.Int64})
    averages = (
        cells.join(hops, how="cross")
        .group_by("key", ((pl.col("c") + pl.col("h")) * step).alias("t"))
        .agg((pl.col("p").sum() / pl.col("n").sum()).alias("a"))
    )
    return (
        cells.select("key", ((pl.col("c") + 1) * step).alias("t"), "s", "m")
        .join(averages, on=["key", "t"])
        .group_by("t")
        .agg(
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("s").sum(),
            pl.col("a").max(),
            (pl.col("m") > pl.col("a")).sum().cast(pl.Int64).alias("high"),
        )
        .sort("t")
    )


Q5_DUCKDB = """
    WITH cells AS (
        SELECT key, ts // 10000 AS c, sum(qty) AS s, max(price) AS m, sum(price) AS p, count(*) AS n
        FROM events GROUP BY ALL),
    averages AS (
        SELECT key, (c + h) * 10000 AS t, sum(p) / sum(n) AS a
        FROM cells, (SELECT unnest(range(1, 7)) AS h) GROUP BY ALL)
    SELECT t, count(*) AS n, sum(s)::BIGINT AS s, max(a) AS a, (count(*) FILTER (m > a)) AS high
    FROM (SELECT key, (c + 1) * 10000 AS t, s, m FROM cells) JOIN averages USING (key, t)
    GROUP BY ALL ORDER BY t
"""

CASES = {
    "Q1": Case(q1, whole, q1_answer, q1_polars, Q1_DUCKDB),
    "Q2": Case(q2, whole, q2_answer, q2_polars, Q2_DUCKDB),
    "Q3": Case(q3, halves, q3_answer, q3_polars, Q3_DUCKDB),
    "Q4": Case(q4, whole, q4_answer, q4_polars, Q4_DUCKDB),
    "Q5": Case(q5, whole, q5_answer, q5_polars, Q5_DUCKDB),
}


def on_duckdb(sql: str, table: pa.Table) -> pl.DataFrame:
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    connection.register("events", table)
    frame = pl.from_arrow(connection.sql(sql).to_arrow_table())
    assert isinstance(frame, pl.DataFrame)
    return frame
