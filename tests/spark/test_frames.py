"""DataFrames in, DataFrames out."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.spark.frames import FrameQuery
from driftline.spark.retried import RetriedQuery

SCHEMA = "symbol STRING, qty BIGINT, ts BIGINT"
# symbol, quantity, time; a line is a micro-batch
BATCHES = [
    [("A", 5, 1), ("B", 7, 3), ("A", 1, 2)],
    [("A", 2, 62), ("B", 4, 58)],
    [("A", 1, 75), ("A", 9, 63), ("B", 6, 130)],
]
VOLUME = """SELECT window_end, symbol, sum(qty) AS qty
            FROM TUMBLE(TABLE trades, DESCRIPTOR(ts), 60) GROUP BY window_end, symbol"""
RECENT = "SELECT symbol, sum(qty) AS qty FROM trades [RANGE 30] GROUP BY symbol"
DECLARED = dl.stream("trades", SCHEMA, time="ts", disorder=20)
Rows = list[dict[str, Any]]


def rows_up_to(number: int) -> Rows:
    names = ("symbol", "qty", "ts")
    return [dict(zip(names, row, strict=True)) for batch in BATCHES[:number] for row in batch]


def write(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    own = rows_up_to(number + 1)[len(rows_up_to(number)) :]
    path = folder / f"{number}.json"
    path.write_text("\n".join(map(json.dumps, own)))
    os.utime(path, (number + 1, number + 1))


@pytest.fixture
def trades(spark: Any, tmp_path: Path) -> Any:
    for number in range(len(BATCHES)):
        write(tmp_path / "in", number)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(tmp_path / "in"))


def micro_batches(frame: Any, folder: Path) -> list[Rows]:
    """What a writeStream of Spark's own is given, micro-batch by micro-batch."""
    found: dict[int, Rows] = {}

    def take(part: Any, number: int) -> None:
        found[number] = [row.asDict() for row in part.collect()]

    writer = frame.writeStream.foreachBatch(take).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder))
    assert RetriedQuery(writer.start).awaitTermination(150)  # the machine may be busy
    return [found[number] for number in sorted(found)]


def local(query: str, number: int) -> Rows:
    """The canonical history of the local runner after so many micro-batches."""
    made = dl.sql(query, trades=DECLARED)
    found = made.run(trades=rows_up_to(number), keep_open=True, emit="eager").history().to_pylist()
    return sorted(found, key=str)


def own(row: dict[str, Any], *view: str) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name not in view)


@pytest.mark.spark
def test_a_view_goes_on_from_its_own_checkpoint_only(trades: Any, tmp_path: Path) -> None:
    """Also where the workers still have the shards of the query before."""
    query = "SELECT symbol, {}(qty) AS qty FROM trades GROUP BY symbol"

    def made(function: str = "sum", disorder: int = 20) -> FrameQuery:
        stream = dl.stream("trades", trades, time="ts", disorder=disorder)
        found = dl.sql(query.format(function), trades=stream)
        assert isinstance(found, FrameQuery)
        return found

    (tmp_path / "in" / "2.json").rename(tmp_path / "later.json")
    before = micro_batches(made().current(keys=["symbol"]), tmp_path / "c")
    assert len(before) == 2
    (tmp_path / "later.json").rename(tmp_path / "in" / "2.json")
    for other in (
        made("max").current(keys=["symbol"]),
        made(disorder=7).current(keys=["symbol"]),
        made().current(),
    ):
        with pytest.raises(Exception, match="has the state of another query: the plan, an option"):
            micro_batches(other, tmp_path / "c")
    assert micro_batches(made().current(keys=["symbol"]), tmp_path / "c")


@pytest.mark.spark
def test_history_adds_up_to_the_canonical_history_after_every_micro_batch(
    trades: Any, tmp_path: Path
) -> None:
    query = dl.sql(VOLUME, trades=dl.stream(trades, time="ts", disorder=20))
    frame = query.history(emit="eager")
    assert frame.columns[:5] == ["system_time", "batch", "weight", "vs", "ve"]
    so_far: Counter[tuple[Any, ...]] = Counter()
    for number, rows in enumerate(micro_batches(frame, tmp_path / "checkpoint")):
        assert {row["batch"] for row in rows} <= {number}
        assert len({row["system_time"] for row in rows}) <= 1
        for row in rows:
            so_far[own(row, "system_time", "batch", "weight")] += row["weight"]
        expected = Counter(map(own, local(VOLUME, number + 1)))
        assert +so_far == expected
        assert min(so_far.values()) >= 0


@pytest.mark.spark
def test_current_has_one_change_for_a_key_and_micro_batch(trades: Any, tmp_path: Path) -> None:
    made = dl.stream("trades", trades, time="ts").group_by("symbol").agg("sum(qty) AS qty")
    table: dict[str, int] = {}
    parts = micro_batches(made.current(keys=["symbol"], emit="eager"), tmp_path / "keyed")
    for number, rows in enumerate(parts):
        assert max(Counter(row["symbol"] for row in rows).values(), default=0) <= 1
        table |= {row["symbol"]: row["qty"] for row in rows if row["op"] == "+"}
        total: Counter[str] = Counter()
        for row in rows_up_to(number + 1):
            total[row["symbol"]] += row["qty"]
        assert table == total


@pytest.mark.spark
def test_the_answer_now_goes_on_after_every_restart(spark: Any, tmp_path: Path) -> None:
    """Into files, which Spark's own sink writes once: what they hold adds up to the answer now."""
    out = tmp_path / "out"
    for number in range(2):
        write(tmp_path / "in", number)
        trades = spark.readStream.schema(SCHEMA).json(str(tmp_path / "in"))
        frame = dl.sql(RECENT, trades=dl.stream(trades, time="ts")).now()
        writer = frame.writeStream.format("parquet").option("path", str(out))
        writer = writer.option("checkpointLocation", str(tmp_path / "cp"))
        started = RetriedQuery(writer.trigger(availableNow=True).start)
        assert started.awaitTermination(150)
        made = dl.sql(RECENT, trades=DECLARED)
        expected = made.now(trades=rows_up_to(number + 1), keep_open=True, emit="eager").table()
        table: Counter[tuple[str, int]] = Counter()
        for row in spark.read.parquet(str(out)).collect():
            table[row.symbol, row.qty] += 1 if row.op == "+" else -1
        assert +table == Counter((row["symbol"], row["qty"]) for row in expected.to_pylist())
        assert min(table.values()) >= 0


@pytest.mark.spark
def test_finals_come_once(trades: Any, tmp_path: Path) -> None:
    query = dl.sql(VOLUME, trades=dl.stream(trades, time="ts", disorder=20))
    finals = [row for rows in micro_batches(query.finals(), tmp_path / "f") for row in rows]
    assert sorted(own(row, "vs", "ve") for row in finals) == [(60, "A", 6), (60, "B", 11)]


@pytest.mark.spark
def test_what_comes_too_late_is_a_view_or_ends_the_query(trades: Any, tmp_path: Path) -> None:
    late = tmp_path / "in" / "3.json"
    late.write_text('{"symbol": "C", "qty": 1, "ts": 5}\n{"symbol": "D", "qty": 1, "ts": null}')
    os.utime(late, (10, 10))
    query = dl.sql(RECENT, trades=dl.stream(trades, time="ts", disorder=20))
    letters = micro_batches(query.dead_letters(), tmp_path / "letters")
    assert [len(rows) for rows in letters] == [0, 0, 0, 2]
    found = sorted((row["stream"], row["reason"], row["letter"]) for row in letters[3])
    assert [each[:2] for each in found] == [
        ("trades", "it has no time: ts is null"),
        ("trades", "too late: its sync time 5 is before the watermark 110"),
    ]
    assert json.loads(found[1][2])["event"]["row"]["symbol"] == "C"
    with pytest.raises(Exception, match="too late|is null"):
        micro_batches(query.current(strict=True), tmp_path / "strict")


@pytest.mark.spark
def test_tables_give_tables(spark: Any) -> None:
    table = spark.createDataFrame(rows_up_to(3), SCHEMA)
    made = dl.sql(RECENT, trades=dl.stream(table, time="ts"))
    frame = made.history()
    assert not frame.isStreaming
    expected = dl.sql(RECENT, trades=DECLARED).run(trades=rows_up_to(3)).history().to_pylist()
    assert sorted((row.asDict() for row in frame.collect()), key=str) == sorted(expected, key=str)
    now = made.now(keys=["symbol"]).collect()
    assert [tuple(row) for row in now] == [("+", 130, "B", 6)]
    changes = made.changes(compact=True).select("kind", "vs", "ve", "symbol", "qty").collect()
    lifetimes = Counter(tuple(row.values()) for row in expected)
    assert Counter(tuple(row)[1:] for row in changes) == lifetimes


HOPS = [(1, 2, 1), (2, 3, 4), (3, 1, 9), (7, 8, 9)]
PAYMENTS = [("x", 1, 1.0, 10), ("x", 3, 900.0, 30), ("y", 2, 2.0, 20), ("x", 2, 2.0, 20)]
TESTING = dl.Automaton(
    "quiet",
    ["fraud"],
    [
        dl.Transition("quiet", "trying", "small", add={"tries": 1}),
        dl.Transition("trying", "trying", "small", add={"tries": 1}),
        dl.Transition("trying", "fraud", "large", at_least={"tries": 2}),
    ],
    {"tries": 0},
    {"small": "amount < 5", "large": "amount > 500"},
)


def loops_and_automata(hops: Any, payments: Any, patterns: Any) -> dict[str, Any]:
    """Queries over streams, or over DataFrames."""
    alarms = {"sequence": "n", "per": "card"}
    return {
        "Python": dl.recursive(
            "reached",
            {"a": "INT", "b": "INT"},
            hops.select("a", "b"),
            lambda reached: reached.join(hops, "reached.b = hops.a").select("reached.a", "hops.b"),
        ),
        "SQL": dl.sql(
            """WITH RECURSIVE far (n, d) AS (
                   SELECT a, 0 FROM hops WHERE a = 1
                   UNION SELECT hops.b, min(far.d + 1) FROM far JOIN hops ON far.n = hops.a
                   GROUP BY hops.b)
               SELECT * FROM far""",
            hops=hops,
        ),
        "operator": payments.automaton(TESTING, **alarms),
        "loop": payments.automaton(TESTING, **alarms, partial=True, by="loop"),
        "table": payments.automaton(TESTING, **alarms, transitions=patterns),
    }


@pytest.mark.spark
def test_loops_and_automata_over_dataframes(spark: Any, tmp_path: Path) -> None:
    hops = "a INT, b INT, t INT"
    payments = "card STRING, n INT, amount DOUBLE, at INT"
    columns = ", ".join(f"{name} {kind}" for name, kind in TESTING.columns().items())
    local = loops_and_automata(
        dl.stream("hops", hops, time="t"),
        dl.stream("payments", payments, time="at"),
        dl.stream("patterns", columns),
    )
    always = [dl.Insert(0, dl.INFINITY, dl.Row(row)) for row in TESTING.rows()]
    names = {"hops": ("a", "b", "t"), "payments": ("card", "n", "amount", "at")}
    came = {
        name: [dict(zip(names[name], row, strict=True)) for row in rows]
        for name, rows in (("hops", HOPS), ("payments", PAYMENTS))
    }
    found = loops_and_automata(
        dl.stream("hops", spark.createDataFrame(HOPS, hops), time="t"),
        dl.stream("payments", spark.createDataFrame(PAYMENTS, payments), time="at"),
        dl.stream("patterns", spark.createDataFrame(TESTING.rows(), columns), timestamps=False),
    )
    for name, query in local.items():
        given = {each: came.get(each, always) for each in query.plan.sources() if each[0] != "$"}
        expected = query.run(given).history().to_pylist()
        assert expected
        assert isinstance(found[name], FrameQuery)
        got = [row.asDict() for row in found[name].history().collect()]
        assert sorted(got, key=str) == sorted(expected, key=str), name


@pytest.mark.spark
def test_a_table_without_a_time_is_always_there_and_an_empty_one_holds_nothing_back(
    spark: Any,
) -> None:
    names = spark.createDataFrame([("A", "Alpha")], "symbol STRING, name STRING")
    trades = spark.sql("SELECT 'A' AS symbol, 1L AS qty, TIMESTAMP '2026-01-01 10:00:00' AS ts")
    made = dl.sql(
        """SELECT name, sum(qty) AS qty FROM trades JOIN names USING (symbol)
           WHERE symbol NOT IN (SELECT symbol FROM gone) GROUP BY name""",
        trades=dl.stream(trades, time="ts"),
        gone=dl.stream(trades.where("qty > 1"), time="ts"),
        names=names,
    )
    assert [tuple(row) for row in made.current().collect()] == [("+", "Alpha", 1)]


@pytest.mark.spark
def test_times_of_the_day_come_in_and_go_out(spark: Any, tmp_path: Path) -> None:
    at = time(10, 20, 30, 123456)
    given = spark.createDataFrame(
        [("A", 1, at), ("B", 2, None)], "symbol STRING, ts BIGINT, at TIME"
    )
    given = given.selectExpr("*", "array(at) AS list", "CAST(at AS TIME(0)) AS short")
    made = dl.sql("SELECT symbol, at, list, short FROM g", g=dl.stream(given, time="ts"))
    assert made.current().schema["short"].dataType.simpleString() == "time(6)"
    rows = [("A", at, [at], at.replace(microsecond=0)), ("B", None, [None], None)]
    assert sorted(own(each.asDict(), "op") for each in made.current().collect()) == rows
    given.write.parquet(str(tmp_path / "in"))
    stream = dl.stream(
        spark.readStream.schema(given.schema).parquet(str(tmp_path / "in")), time="ts"
    )
    (found,) = micro_batches(
        dl.sql(
            "SELECT at, count(*) AS n FROM s WHERE at > TIME'10:00' GROUP BY at", s=stream
        ).changes(emit="eager"),
        tmp_path / "checkpoint",
    )
    assert [own(row, "kind", "vs", "ve", "vn") for row in found] == [(at, 1)]


@pytest.mark.spark
def test_what_a_dataframe_says_of_its_stream(spark: Any, trades: Any) -> None:
    from pyspark.sql import functions as f

    stamped = trades.withColumn("ts", f.timestamp_seconds("ts"))
    plan = dl.sql("SELECT * FROM t", t=stamped.withWatermark("ts", "5 seconds")).plan
    source = plan.sources()["t"]
    assert (source.time, source.timestamps, source.timing.disorder) == ("ts", True, 5_000_000)
    made = dl.stream(stamped, time="TS", disorder="1s")
    assert [str(each.type) for each in made.schema][:2] == ["string", "int64"]
    assert made.plan == dl.stream("stream", stamped.schema, time="ts", disorder="1s").plan
    events = dl.sql("SELECT * FROM t", t=made).changes()
    again = dl.stream(events)
    assert again.schema.names == ("symbol", "qty", "ts")
    assert again.plan.timestamps


@pytest.mark.spark
@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda t, f: t.where(f.col("qty") > 1.5), "qty > 1.5D"),
        (lambda t, f: t.where(f.col("symbol").isin("A", "it's")), r"symbol IN ('A', 'it\'s')"),
        (lambda t, f: t.where(~f.col("symbol").isNull()), "NOT symbol IS NULL"),
        (lambda t, f: t.where(f.expr("qty > 1") & f.col("symbol").like("A%")), None),
        (lambda t, f: t.select((f.col("qty") * 2).alias("n")), None),
        (lambda t, f: t.select(f.when(f.col("qty") > 1, "x").otherwise(None).alias("x")), None),
        (lambda t, f: t.select(f.col("qty").cast("string").alias("s")), None),
        (lambda t, f: t.group_by(f.upper("symbol").alias("u")).agg(f.max("qty").alias("m")), None),
        (lambda t, f: t.agg(f.count_distinct("symbol").alias("n")), None),
        (lambda t, f: t.select(f.col("*"), f.expr("qty + 1 AS n")), None),
        (lambda t, f: t.top(2, by=f.col("qty").desc(), per=f.col("symbol")), None),
    ],
)
@pytest.mark.usefixtures("spark")
def test_columns_of_pyspark_are_expressions(
    build: Callable[[Any, Any], dl.Query], text: str | None
) -> None:
    from pyspark.sql import functions as f

    made = build(DECLARED, f)
    if text is not None:
        assert made.plan == DECLARED.where(text).plan
    assert made.run(trades=rows_up_to(1)).history().num_rows > 0


@pytest.mark.spark
def test_what_cannot_be_done_is_said_in_one_line(spark: Any, trades: Any) -> None:
    from pyspark.sql import functions as f

    double = f.udf(lambda x: x)
    made = dl.stream(trades, time="ts")
    text = trades.withColumn("ts", f.col("ts").cast("string"))
    dated = trades.withColumn("ts", f.lit("2024-01-01").cast("date"))
    cases: list[tuple[Callable[[], object], str]] = [
        (
            lambda: made.where(double("qty")),
            "^<lambda> is a Python function .udf., which Driftline",
        ),
        (lambda: dl.stream(text, time="ts"), r"the time ts is a STRING: make it a TIMESTAMP"),
        (lambda: dl.stream(dated, time="ts"), r"the time ts is a DATE: make it a TIMESTAMP, to_t"),
        (lambda: dl.stream(trades, time="at"), "time column at of stream does not exist"),
        (lambda: dl.stream(trades).changes(), "say which column is its time"),
        (lambda: made.join(dl.stream(text), "qty"), "two DataFrames are called stream"),
        (lambda: made.union(DECLARED), "trades has no DataFrame"),
        (lambda: made.current(keys=["price"]), "the key column price is not in the result"),
        (lambda: made.current(keys="qty"), "keys is a list of names"),
        (lambda: made.select("qty AS op").current(), "the result has a column op"),
        (lambda: dl.sql("SELECT 1 FROM t", t=5), "must be a stream or a query, not a int"),  # type: ignore[call-overload]
    ]
    for case, words in cases:
        with pytest.raises(PlanError, match=words) as raised:
            case()
        assert "\n" not in str(raised.value)


@pytest.mark.spark
def test_a_custom_sink_is_given_dataframes(trades: Any, tmp_path: Path) -> None:
    from driftline.spark.sinks import ForeachBatch

    found: dict[int, Rows] = {}

    def take(frame: Any, number: int) -> None:
        found[number] = [row.asDict() for row in frame.collect()]

    query = dl.stream(trades, time="ts").agg("sum(qty) AS qty")
    assert isinstance(query, FrameQuery)
    running = query.start(
        ForeachBatch(take, "current"), checkpoint=tmp_path, trigger={"availableNow": True}
    )
    assert running.awaitTermination(150)
    sums = [row["qty"] for number in sorted(found) for row in found[number] if row["op"] == "+"]
    assert sums == [13, 19, 35]


@pytest.mark.spark
def test_what_is_deep_is_shipped_to_workers_and_runs_there(trades: Any, tmp_path: Path) -> None:
    """Operators on one another, a long chain of operands and a nest of brackets."""
    views = "; ".join(
        f"CREATE VIEW v{n} AS SELECT symbol, qty + 1 AS qty FROM v{n - 1}" for n in range(1, 300)
    )
    total = " + ".join(["sum(qty)"] * 1200)
    deep = f"""CREATE VIEW v0 AS SELECT symbol, {total} AS qty FROM trades GROUP BY symbol; {views};
               SELECT symbol, max(qty) AS qty FROM v299 GROUP BY symbol"""
    nested = f"""SELECT * FROM trades MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts
                 MEASURES LAST(qty) AS qty PATTERN ({"(A " * 190} A {")?" * 190})
                 DEFINE A AS qty > 0)"""
    before = sys.getrecursionlimit()
    stream = dl.stream("trades", trades, time="ts", disorder=20)
    for name, query in (("deep", deep), ("nested", nested)):
        frame = dl.sql(query, trades=stream).history(emit="eager")
        found: Counter[tuple[Any, ...]] = Counter()
        for row in (row for rows in micro_batches(frame, tmp_path / name) for row in rows):
            found[own(row, "system_time", "batch", "weight")] += row["weight"]
        assert +found == Counter(map(own, local(query, len(BATCHES))))
    assert sys.getrecursionlimit() == before
