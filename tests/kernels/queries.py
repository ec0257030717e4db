"""Queries that have every operator between them, over inputs of every format, with the answers in
every form. `test_queries.py` names the kernels that none of them calls.

    python tests/kernels/queries.py      runs them with the Driftline that is installed

A wheel is tried with that, in an environment of its own, where nothing may be compiled.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

STREAMS = """
CREATE STREAM t (k BIGINT, s STRING, n INT, x DOUBLE, d DECIMAL(10, 2), b BOOLEAN, day DATE,
                 bytes BINARY);
CREATE STREAM u (k BIGINT, s STRING, n INT, x DOUBLE, d DECIMAL(10, 2), b BOOLEAN, day DATE,
                 bytes BINARY);
"""
RECORDS = """
CREATE STREAM r (at TIMESTAMP, came TIMESTAMP, k BIGINT, s STRING, n INT, x DOUBLE,
                 d DECIMAL(10, 2), b BOOLEAN, day DATE) WITH (time = 'at'{timing});
"""
TIMINGS = (
    "",
    ", disorder = '5s'",
    ", disorder = '5s', source = 's', sources = 3, skew = '5s', arrival = 'came'",
    ", disorder = '5s', source = 's', latency = '5s', timeout = '5s', arrival = 'came'",
    ", arrival = 'came', late = 0.1",
    ", source = 's', arrival = 'came', timeout = '5s'",
)
SUMS = "count(*) AS c, count(x) AS cx, sum(n) AS sn, sum(x) AS sx, avg(n) AS an, avg(x) AS ax"
TOPS = "min(n) AS mn, max(n) AS xn, min(x) AS mx, max(x) AS xx, max(k) AS xk"
OTHERS = (
    "sum(d) AS sd, avg(d) AS ad, stddev(x) AS dx, variance(n) AS vn, median(x) AS m, "
    "first(s) AS f, last(n) AS l, count(DISTINCT n) AS cd, collect_list(s) AS cl, max(d) AS xd, "
    "min(s) AS ms, bool_or(b) AS o, percentile(x, 0.9) AS p, mode(s) AS mo, "
    "corr(x, n) AS co, bit_or(k) AS bo"
)
OVERS = (
    "sum(n) OVER w AS r, lag(s) OVER w AS l, count(DISTINCT n) OVER w AS c, max(x) OVER w AS m, "
    "avg(x) OVER (w ROWS 2 PRECEDING) AS a, median(x) OVER (w ROWS 2 PRECEDING) AS md, "
    "collect_list(s) OVER (w ROWS 1 PRECEDING) AS cl, ntile(2) OVER w AS t, "
    "sum(n) OVER (w RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS d"
)
MATCHES = (
    "SELECT * FROM {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY {} "
    "MEASURES FIRST(a.n) AS f, sum(b.x) AS sx, count(*) AS c, CLASSIFIER() AS v ALL ROWS PER MATCH "
    "PATTERN (a b* c) DEFINE b AS n <= FIRST(n) OR concat(s, FIRST(s)) = 'ab', c AS x > PREV(x));"
)
OF_LOGS = (
    "SELECT upper(s) AS t, n + 1 AS n, x / 2 AS x, d * 2 AS d, bytes FROM t [RANGE 5] WHERE n > 1;",
    f"SELECT k, {SUMS} FROM t [RANGE 5] GROUP BY k;",
    f"SELECT s, {TOPS} FROM t [RANGE 8 SLIDE 4] GROUP BY s;",
    f"SELECT {SUMS}, {TOPS} FROM t;",
    f"SELECT s, n, {OTHERS} FROM t GROUP BY s, n;",
    "SELECT DISTINCT k, s FROM t; SELECT k, s FROM t INTERSECT SELECT k, s FROM u;",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u; SELECT s FROM t UNION SELECT s FROM u;",
    "SELECT t.k, t.s, u.x FROM t JOIN u ON t.k = u.k AND t.n <= u.n;",
    "SELECT t.s, u.n FROM t [RANGE 5] JOIN u [RANGE 5] USING (s); SELECT t.k FROM t CROSS JOIN u;",
    "SELECT t.k, u.s FROM t LEFT JOIN u ON t.k = u.k AND t.n <= u.n;",
    "SELECT t.k, u.s FROM t FULL JOIN u ON t.s = u.s;",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k);",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.s = t.s);",
    "SELECT k, c FROM (SELECT k, count(*) AS c FROM t [RANGE 3] GROUP BY k) [RANGE 4] WHERE c > 1;",
    "SELECT s FROM t [FROM ve FOR 2]; SELECT k FROM t [NOW];",
    "SELECT k, n FROM t ORDER BY n DESC, s LIMIT 2;",
    "SELECT * FROM (SELECT k, n, rank() OVER (PARTITION BY k ORDER BY n) AS p FROM t) WHERE p < 3;",
    f"SELECT k, {OVERS} FROM t WINDOW w AS (PARTITION BY k ORDER BY n);",
    "SELECT k, count(DISTINCT n) OVER (PARTITION BY k ORDER BY n) AS c FROM t;",
    "WITH RECURSIVE p (a, b) AS (SELECT k, CAST(n AS BIGINT) FROM t UNION "
    "SELECT p.a, CAST(t.n AS BIGINT) FROM p JOIN t ON p.b = t.k) SELECT a, b FROM p;",
    "WITH RECURSIVE p (a, b) AS (SELECT a, min(b) FROM (SELECT k AS a, k AS b FROM t UNION ALL "
    "SELECT CAST(t.n AS BIGINT), p.b FROM p JOIN t ON p.a = t.k) GROUP BY a) SELECT a, b FROM p;",
    MATCHES.format("t", "n"),
    "SET emit = eager; SELECT s, sum(n) AS c FROM t GROUP BY s;",
    "SET emit = perfect; SET block = inf; SELECT k, max(x) AS c FROM t [RANGE 5] GROUP BY k;",
    "SET block = 2; SET remember = 9; SELECT s, count(*) AS c FROM t GROUP BY s;",
    # Rows of many derivations.
    "WITH RECURSIVE p (b) AS (SELECT b FROM t UNION SELECT b FROM p WHERE b) SELECT b FROM p;",
    "SELECT t.k, u.s FROM t ASOF LEFT JOIN u MATCH_CONDITION (t.n >= u.n) ON t.k = u.k;",
    "SELECT k, n FROM t [SESSION 3 PER k]; SELECT * FROM SESSION(TABLE t PARTITION BY s, 3);",
    "SELECT k, count(*) OVER (ORDER BY k) AS c FROM t;",
    "SELECT s, count(*) FROM SESSION(TABLE t PARTITION BY s, 3) "
    "GROUP BY s, window_start, window_end;",
)
OF_RECORDS = (
    f"SELECT k, {SUMS} FROM r [RANGE 10 SECONDS] GROUP BY k;",
    f"SELECT s, {TOPS} FROM r [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY s;",
    f"SELECT window_end, k, {SUMS}, {TOPS} FROM TUMBLE(r, INTERVAL 10 SECONDS) "
    "GROUP BY window_end, k;",
    f"SELECT s, {TOPS} FROM r GROUP BY s;",
    "SELECT count(DISTINCT n) AS cd, median(x) AS m, last(s) AS l FROM r [RANGE 1 MINUTE];",
    "SELECT came, k, n, x, count(*) AS c FROM r GROUP BY ALL;",
    MATCHES.format("r", "at"),
    "SELECT * FROM r MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES count(*) AS c "
    "PATTERN (a b+) WITHIN INTERVAL 5 SECONDS DEFINE b AS n > PREV(n));",
    "SELECT a.k, b.s FROM r [RANGE 5 SECONDS] a JOIN r [RANGE 5 SECONDS] b ON a.k = b.k;",
    "SELECT a.k, b.s FROM r a ASOF JOIN r b MATCH_CONDITION (a.at >= b.at) ON a.k = b.k;",
    "SELECT a.k, b.s FROM r a ASOF JOIN r b MATCH_CONDITION (a.at <= b.at) ON a.k = b.k;",
    "SELECT k, x FROM r QUALIFY row_number() OVER (PARTITION BY k ORDER BY at DESC) = 1;",
    "SELECT k, max(x) OVER (PARTITION BY k ORDER BY at ROWS UNBOUNDED PRECEDING) AS m FROM r;",
    "SELECT k, median(n) OVER w AS m, stddev(x) OVER w AS d, covar_pop(x, n) OVER w AS c, "
    "mode(s) OVER w AS o, skewness(x) OVER w AS e, bit_xor(n) OVER w AS b, "
    "sum(DISTINCT x) OVER w AS f FROM r WINDOW w AS (ORDER BY at, k);",
    "SELECT k, count(*) FROM SESSION(TABLE r PARTITION BY k, INTERVAL 3 SECONDS) "
    "GROUP BY k, window_start, window_end;",
    "SELECT k, s, size(array_agg(n)) AS l FROM SESSION(TABLE r PARTITION BY k, INTERVAL 3 SECONDS) "
    "GROUP BY k, window_start, s;",
)
FORMS = (
    ["--table"],
    ["--outputs", "marked", "--heeding", "multiset", "--scheduler", "round-robin"],
    ["--now"],
    ["--now", "--expiry", "nta"],
    ["--now", "--expiry", "time-message"],
    ["--outputs", "marked", "--scheduler", "round-robin"],
)
"""Options for which operators, or what is behind them, have kernels of their own: the queries are
run with these in turn."""
EVENTS, RECORDS_MADE = 60, 800
IN_PYTHON = ["python"]
RECORD_FORMATS = ("csv", "jsonl", "parquet")


def run_all() -> None:
    """Run them, here."""
    from driftline.cli.main import main

    with TemporaryDirectory(prefix="driftline-") as folder:
        os.chdir(folder)
        for command in written(Path(folder)):
            if command == IN_PYTHON:
                in_python()
                continue
            sys.argv = ["driftline", *command]
            try:
                main()
            except SystemExit as end:
                if end.code:
                    raise SystemExit(f"driftline {' '.join(command)}: {end.code}") from end


def in_python() -> None:
    """What has no SQL: an automaton, over windows that end; the snapshot of a loop, which is taken
    on Spark; and a match that grows, of rows in order."""
    import driftline as dl
    from driftline.engine.compile import compile_plan

    again = dl.Automaton("S", ["F"], [dl.Transition("S", "B", "a"), dl.Transition("B", "F", "a")])
    tape = dl.stream("tape", {"n": "INT", "s": "STRING"}, time="n", disorder=1).window(range=3)
    rows = [{"n": n, "s": "a"} for n in range(EVENTS)]
    tape.automaton(again, sequence="n", symbol="s").run(tape=rows)
    reached = dl.recursive("r", {"n": "INT", "s": "STRING"}, tape, lambda r: r.where("n > 0"))
    loop = compile_plan(reached.plan, lambda batch: None)
    loop.restore(loop.snapshot())
    plain = dl.stream("tape", {"n": "INT", "s": "STRING"}, time="n")
    plain.match("a+", {}, {"total": "sum(n)"}, by="n").run(tape=rows, batch=EVENTS // 2)


def written(folder: Path) -> list[list[str]]:
    """The inputs and scripts, as arguments of commands."""
    random = Random(1)
    (folder / "log.jsonl").write_text("\n".join(_log(random)) + "\n")
    _write_records(folder, random)
    never_came = {"kind": "retract", "vs": 0, "ve": 3, "vn": 2, "row": _row(random)}
    with (folder / "log.jsonl").open() as log, (folder / "odd.jsonl").open("w") as odd:
        odd.writelines([json.dumps({"stream": "t", **never_came}) + "\n", *log])
    commands = [["check", "log.jsonl"], ["history", "log.jsonl"]]
    run = ["run", "--runner", "local", "--batch", "50", "--output"]
    for number, queries in enumerate(OF_LOGS):
        script, out = f"log{number}.sql", f"log{number}.out.jsonl"
        (folder / script).write_text(STREAMS + queries)
        commands.append([*run, out, script, "--input", "log.jsonl"])
        form = FORMS[0 if "perfect" in queries else number % len(FORMS)]  # which has no answer now
        commands.append([*run, out, script, "--input", "odd.jsonl", *form])
    for number, (queries, of) in enumerate(product(OF_RECORDS, RECORD_FORMATS)):
        timing = TIMINGS[number % len(TIMINGS)]
        (folder / f"r{number}.sql").write_text(RECORDS.format(timing=timing) + queries)
        out = f"r{number}.out.{of}"
        commands.append([*run, out, f"r{number}.sql", "--input", f"r=records.{of}"])
    return [*commands, IN_PYTHON]


def _row(random: Random) -> dict[str, object]:
    return {
        "k": random.randrange(4),
        "s": random.choice(["a", "b", "a longer text than sixteen bytes"]),
        "n": random.choice([1, 2, 3, None]),
        "x": random.choice([0.5, 1.25, None]),
        "d": random.choice(["1.25", "2.50"]),
        "b": random.random() < 0.5,
        "day": "2024-05-01",
        "bytes": random.choice(["YQ==", None]),
    }


def _log(random: Random) -> Iterator[str]:
    """Inserts, some with an end, out of order; retracts of what came some events ago; ctis."""
    alive: list[dict[str, object]] = []
    for now in range(EVENTS):
        for stream in ("t", "u"):
            vs = max(now - random.randrange(4), now // 10 * 10)
            ve = random.choice([None, vs + 5])
            event: dict[str, object] = {
                "stream": stream,
                "kind": "insert",
                "vs": vs,
                "ve": ve,
                "row": _row(random),
            }
            yield json.dumps(event)
            alive.append(event)
        if now % 10 in (5, 7):
            taken = alive.pop(-10)
            yield json.dumps({**taken, "kind": "retract", "vn": taken["vs"]})
        if now % 10 == 9:
            yield json.dumps({"stream": "t", "kind": "cti", "t": now + 1})
            yield json.dumps({"stream": "u", "kind": "cti", "t": now + 1})


def _write_records(folder: Path, random: Random) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    seconds = [max(0, now // 4 - random.randrange(5)) for now in range(RECORDS_MADE)]
    rows = [
        {"at": _clock(second), "came": _clock(number // 4), **_row(random)}
        for number, second in enumerate(seconds)
    ]
    for row in rows:
        del row["bytes"]
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pa.Table.from_pylist(rows)
    pyarrow.csv.write_csv(table, folder / "records.csv")
    moment = pa.timestamp("us", "UTC")
    kinds = [
        ("at", moment), ("came", moment), ("k", pa.int64()), ("s", pa.string()), ("n", pa.int32()),
        ("x", pa.float64()), ("d", pa.decimal128(10, 2)), ("b", pa.bool_()), ("day", pa.date32()),
    ]  # fmt: skip
    pyarrow.parquet.write_table(table.cast(pa.schema(kinds)), folder / "records.parquet")


def _clock(second: int) -> str:
    return f"2024-05-01T09:{second // 60:02}:{second % 60:02}Z"


if __name__ == "__main__":
    run_all()
