"""Exactly once: a run that is killed again and again emits what an undisturbed run emits.

The command is killed with SIGKILL after a given micro-batch has been emitted: the driver alone, a
Python worker, or everything at once. It is then started again on the same checkpoint; the last
time in this process, where it comes to its end.

    events    late events, retractions and ctis of two streams, in an event log: joined, in
              sessions, as of each other, cut and stitched; and a loop of which every shard has a
              part and the edges whole
    bounds    plain records of several sources, with all bounds there are: heartbeats are promises,
              of one stream by bounds for all, and of another by bounds between its sources; rows
              wait for both, as operators have counted
    guesses   the same records without bounds: heartbeats are guessed, and end the waiting; their
              sums, and a pattern in them
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from driftline.model.history import History, Lifetime
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.spark.session import BOUNDED
from tests.cli.run import COMMAND, driftline
from tests.kafka_cluster import cluster, produce
from tests.spark.sinks.postgres_server import server
from tests.spark.sinks.test_databases import in_sqlite

pytestmark = pytest.mark.spark

EVENTS = """
CREATE STREAM orders (k STRING, x INT);
CREATE STREAM prices (k STRING, p INT);
SET block = '3'; SET remember = '40';
WITH RECURSIVE reached (k, n) AS (
    SELECT k, x FROM orders [RANGE 20]
    UNION
    SELECT r.k, ascii(p.k) % 5 FROM reached r JOIN prices [RANGE 30] AS p ON r.n = p.p
)
SELECT o.k, count(*) AS n, sum(o.x * p.p) AS total
FROM orders [RANGE 20] AS o JOIN prices AS p ON o.k = p.k GROUP BY o.k
UNION ALL
SELECT k, window_end - window_start, count(*) FROM SESSION(TABLE orders PARTITION BY k, 4)
GROUP BY k, window_start, window_end
UNION ALL
SELECT k, count(*), sum(p) FROM prices [SESSION 5 MAX 12 PER k] GROUP BY k
UNION ALL
SELECT o.k, count(*), sum(p.p)
FROM orders [RANGE 15] AS o ASOF LEFT JOIN prices AS p MATCH_CONDITION (o.x >= p.p) ON o.k = p.k
GROUP BY o.k
UNION ALL
SELECT k, count(*), sum(x) FROM orders [UNTIL prices ON orders.k = prices.k] GROUP BY k
UNION ALL
SELECT * FROM (SELECT k, CAST(x AS BIGINT), CAST(x AS BIGINT) FROM orders [RANGE 3]) [STITCH]
UNION ALL
SELECT k, count(*), sum(n) FROM reached GROUP BY k;
"""
BOUNDS = """
CREATE STREAM readings (sensor STRING, value INT, ts BIGINT, got BIGINT)
  WITH (time = 'ts', source = 'sensor', sources = 3, disorder = 6, skew = 9, latency = 4,
        timeout = 25, arrival = 'got');
CREATE STREAM others (sensor STRING, value INT, ts BIGINT, got BIGINT)
  WITH (time = 'ts', source = 'sensor', bounds = '{folder}/bounds.csv', latency = 4, timeout = 25,
        rate = '1/4', arrival = 'got');
SET block = '5'; SET heartbeat = 'memory';
SELECT sensor, count(*) AS n, sum(value) AS total
FROM (SELECT * FROM readings [RANGE 20] UNION ALL SELECT * FROM others [RANGE 7])
GROUP BY sensor;
"""
BETWEEN = """from,to,after,delta,latency
a,a,0,6,
a,b,8,9,
b,b,2 tuples,6,2
b,a,0,30,
"""
GUESSES = """
CREATE STREAM readings (sensor STRING, value INT, ts BIGINT, got BIGINT)
  WITH (time = 'ts', source = 'sensor', heartbeats = 'estimate', late = '1%', timeout = 25,
        arrival = 'got');
SET block = '30'; SET remember = '60';
SELECT sensor, count(*) AS n, sum(value) AS total FROM readings [RANGE 20] GROUP BY sensor
UNION ALL
SELECT sensor, n, total FROM readings MATCH_RECOGNIZE (
    PARTITION BY sensor ORDER BY ts
    MEASURES count(*) AS n, sum(value) AS total
    PATTERN (UP+ DOWN)
    DEFINE UP AS value >= PREV(value), DOWN AS value < PREV(value)
);
"""
QUERIES = {"events": EVENTS, "bounds": BOUNDS, "guesses": GUESSES}
BATCH = 40
MICRO_BATCHES = 8
PATIENCE = 240  # seconds


def write_records(path: Path, seed: int) -> None:
    """Sensors whose clocks differ, on a network that delays, with pauses of one and of all; some
    come later than they may."""
    draw = random.Random(seed)
    now = 0
    paused = ""
    with path.open("w") as file:
        for number in range(BATCH * (MICRO_BATCHES - 1)):
            now += draw.randrange(3)
            if number % 50 == 49:
                paused = draw.choice(["a", "b", "c", ""])
                now += draw.choice([0, 30, 60])
            sensor = draw.choice([each for each in "abc" if each != paused])
            late = 40 if draw.random() < 0.01 else draw.randrange(7)
            ts = max(0, now + "abc".index(sensor) * 4 - late)
            row = {"sensor": sensor, "value": draw.randrange(5), "ts": ts, "got": now}
            file.write(json.dumps(row) + "\n")


def write_events(path: Path, seed: int) -> None:
    """Late events, retractions and ctis, of two streams."""
    draw = random.Random(seed)
    now = 0
    alive: list[dict[str, Any]] = []
    with path.open("w") as file:
        for _ in range(BATCH * (MICRO_BATCHES - 1)):
            now += draw.randrange(3)
            choice = draw.random()
            if choice < 0.15 and alive:
                event = alive.pop(draw.randrange(len(alive)))
                end = draw.randrange(event["vs"], event["vs"] + 9)
                line = {**event, "kind": "retract", "vn": end}
            elif choice < 0.2:
                line = {"stream": draw.choice(["orders", "prices"]), "kind": "cti", "t": now - 30}
            else:
                stream, value = draw.choice([("orders", "x"), ("prices", "p")])
                row = {"k": draw.choice("abcd"), value: draw.randrange(5)}
                vs = max(0, now - draw.randrange(25))
                line = {"stream": stream, "kind": "insert", "vs": vs, "ve": None, "row": row}
                alive.append(line)
            file.write(json.dumps(line) + "\n")


def arguments(
    folder: Path, runner: str, output: str, *, table: bool = True, batch: int = BATCH
) -> list[str]:
    """Those of the command."""
    (given,) = folder.glob("*.input.jsonl")
    script = folder / "query.sql"
    streams = re.findall(r"CREATE STREAM (\w+)", script.read_text())
    names = [f"{each}=" for each in streams] if given.name.startswith("records") else [""]
    base = ["run", str(script)]
    base += [part for name in names for part in ("--input", f"{name}{given}")]
    base += ["--output", str(folder / output)]
    base += ["--table"] if table else ["--dead-letters", str(folder / "dead.jsonl")]
    base += ["--batch", str(batch), "--runner", runner]
    return base + (["--checkpoint", str(folder / "checkpoint")] if runner == "spark" else [])


def come_to_the_end(folder: Path, runner: str, output: str, *, table: bool = True) -> None:
    """Run undisturbed: on Spark in the session of this process, which has not been killed."""
    ran = driftline(*arguments(folder, runner, output, table=table))
    assert ran.code == 0, ran.err


def children(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        direct = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return found
    for child in direct:
        found += [child, *children(child)]
    return found


def kill(pid: int, what: str, draw: random.Random) -> None:
    tree = children(pid)
    workers = [
        each for each in tree
        if b"daemon" in _arguments(each) and not children(each)
    ]  # fmt: skip
    if what == "worker" and workers:
        targets = [draw.choice(workers)]
    else:
        targets = [pid] if what == "driver" else [pid, *tree]
    for target in targets:
        try:
            os.kill(target, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def emitted_by(folder: Path) -> int:
    """How many micro-batches have been emitted."""
    note = folder / "checkpoint" / "output.json"
    if note.exists():
        return 1 + int(json.loads(note.read_text())["batches"]["0"])
    return len(list((folder / "checkpoint" / "emitted").glob("*.arrow")))


def run_until_killed(
    folder: Path, after: int, what: str, draw: random.Random, *, table: bool = True
) -> None:
    """Start, and kill after so many micro-batches have been emitted."""
    started = [*COMMAND, *arguments(folder, "spark", "out.jsonl", table=table)]
    process = subprocess.Popen(started, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    killed = False
    while process.poll() is None:
        assert time.monotonic() < until, "the run does not come to its end"
        if not killed and emitted_by(folder) >= after:
            time.sleep(draw.random())
            below = children(process.pid)
            kill(process.pid, what, draw)
            killed = True
        time.sleep(0.05)
    assert killed
    for orphan in below:  # a JVM that has lost its driver ends by itself, but may take its time
        try:
            os.kill(orphan, signal.SIGKILL)
        except ProcessLookupError:
            continue


def check(folder: Path, kills: list[str], seed: int, case: str = "events") -> None:
    draw = random.Random(seed)
    (folder / "query.sql").write_text(QUERIES[case].replace("{folder}", str(folder)))
    (folder / "bounds.csv").write_text(BETWEEN)
    if case == "events":
        write_events(folder / "events.input.jsonl", seed)
    else:
        write_records(folder / "records.input.jsonl", seed)
    come_to_the_end(folder, "local", "expected.jsonl")
    for number, what in enumerate(kills):
        after = 1 + number * MICRO_BATCHES // (len(kills) + 1)
        run_until_killed(folder, after, what, draw)
    come_to_the_end(folder, "spark", "out.jsonl")
    expected, emitted = (
        (folder / name).read_text().splitlines() for name in ("expected.jsonl", "out.jsonl")
    )
    assert len(expected) > MICRO_BATCHES
    assert emitted == expected


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("case", "seed", "kills"),
    [("bounds", 3, ["everything"]), ("guesses", 3, ["everything"])],
)
def test_a_table_after_a_crash(tmp_path: Path, case: str, seed: int, kills: list[str]) -> None:
    check(tmp_path, kills, seed, case)


PIPELINE = """
CREATE SINK appended WITH (type = 'sqlite', path = '{0}.sqlite', view = 'history') AS
SELECT k, count(*) AS n FROM orders [RANGE 20] GROUP BY k;
CREATE SINK keyed WITH (type = 'sqlite', path = '{0}.sqlite', keys = 'k') AS
SELECT k, count(*) AS n, sum(x) AS x FROM orders GROUP BY k;
CREATE SINK log WITH (type = 'eventlog', path = '{0}.log.jsonl') AS
SELECT k, max(p) AS p FROM prices [RANGE 20] GROUP BY k;
"""


@pytest.mark.usefixtures("spark")
def test_sinks_of_a_script_and_an_event_log_after_crashes(tmp_path: Path) -> None:
    """Outputs are appended to, and nothing of what was emitted is kept."""
    write_events(tmp_path / "events.input.jsonl", 5)
    script, draw = tmp_path / "query.sql", random.Random(6)
    script.write_text(EVENTS + PIPELINE.format(tmp_path / "local"))
    come_to_the_end(tmp_path, "local", "expected.jsonl")
    script.write_text(EVENTS + PIPELINE.format(tmp_path / "spark"))
    run_until_killed(tmp_path, 1, "driver", draw, table=False)
    length = (tmp_path / "out.jsonl").stat().st_size
    run_until_killed(tmp_path, 4, "worker", draw, table=False)  # without which it may go on
    come_to_the_end(tmp_path, "spark", "out.jsonl", table=False)
    assert (tmp_path / "out.jsonl").stat().st_size > length
    checkpoint = tmp_path / "checkpoint"
    assert not (checkpoint / "emitted").exists()
    kept = int(BOUNDED["spark.sql.streaming.minBatchesToRetain"]) + 1
    for name in ("offsets", "commits"):
        assert len(list((checkpoint / "spark" / name).glob("[0-9]*"))) <= kept < MICRO_BATCHES

    expected = map(json.loads, (tmp_path / "expected.jsonl").read_text().splitlines())
    assert logged(tmp_path / "out.jsonl") == coalesced(expected)
    assert logged(tmp_path / "local.log.jsonl") == logged(tmp_path / "spark.log.jsonl")
    tables = [in_sqlite(tmp_path / f"{runner}.sqlite", "keyed") for runner in ("local", "spark")]
    assert tables[0] == tables[1] != []
    assert appended(tmp_path / "local.sqlite") == appended(tmp_path / "spark.sqlite")


FROM_KAFKA = """
CREATE STREAM orders (k STRING, x INT, t BIGINT)
  WITH (time = 't', disorder = 100, path = 'kafka://{0}/orders?maxOffsetsPerTrigger=40');
CREATE SINK keyed WITH (type = 'postgres', url = '{1}', keys = 'k') AS
SELECT k, count(*) AS n, sum(x) AS x FROM orders GROUP BY k;
CREATE SINK appended WITH (type = 'postgres', url = '{1}', view = 'history') AS
SELECT k, count(*) AS n FROM orders [RANGE 20] GROUP BY k;
"""


@pytest.mark.usefixtures("spark")
def test_from_kafka_to_postgres(tmp_path: Path) -> None:
    """Killed when a table has a micro-batch of which Spark may not know yet; meanwhile more rows
    come."""
    pytest.importorskip("confluent_kafka")
    psycopg = pytest.importorskip("psycopg")
    draw = random.Random(7)
    rows: list[dict[str, Any]] = [
        {"k": draw.choice("abc"), "x": draw.randrange(9), "t": at} for at in range(160)
    ]
    script = tmp_path / "query.sql"
    with cluster() as servers, server() as conninfo:
        script.write_text(FROM_KAFKA.format(servers, conninfo))
        command = ["run", str(script), "--runner", "spark"]
        command += ["--checkpoint", str(tmp_path / "state")]
        produce(servers, "orders", ((row["t"] % 2, row) for row in rows[:100]))
        process = subprocess.Popen([*COMMAND, *command], stderr=subprocess.DEVNULL)
        with psycopg.connect(conninfo, autocommit=True) as database:
            until = time.monotonic() + PATIENCE
            try:
                while not _written_up_to(database, 1):
                    assert process.poll() is None, "the run has come to its end"
                    assert time.monotonic() < until, "no micro-batch comes to the table"
                    time.sleep(0.005)
            finally:
                kill(process.pid, "everything", draw)
                process.wait()
            produce(servers, "orders", ((row["t"] % 2, row) for row in rows[100:]))
            ran = driftline(*command, "--close")
            assert ran.code == 0, ran.err
            keyed = database.execute("SELECT k, n, x FROM keyed ORDER BY k").fetchall()
            found = database.execute("SELECT vs, ve, k, n, weight FROM appended").fetchall()
    of = {k: [row["x"] for row in rows if row["k"] == k] for k in "abc"}
    assert keyed == [(k, len(own), sum(own)) for k, own in of.items()]
    (tmp_path / "rows.csv").write_text(
        "k,x,t\n" + "".join(f"{row['k']},{row['x']},{row['t']}\n" for row in rows)
    )
    select = FROM_KAFKA.rsplit(" AS\n", 1)[1]
    script.write_text(
        f"CREATE STREAM orders (k STRING, x INT, t BIGINT) WITH (time = 't'); {select}"
    )
    ran = driftline("run", script, "-i", tmp_path / "rows.csv", "--runner", "local", "--table")
    expected = coalesced(map(json.loads, ran.out.splitlines()))
    names = ("vs", "ve", "k", "n", "weight")
    assert added_up(dict(zip(names, row, strict=True)) for row in found) == expected


def _written_up_to(database: Any, number: int) -> bool:
    """Whether a table has so many micro-batches."""
    has = database.execute("SELECT to_regclass('driftline_progress')").fetchone()[0]
    if has is None:
        return False
    last = database.execute("SELECT max(batch) FROM driftline_progress").fetchone()[0]
    return last is not None and last >= number


def coalesced(lines: Iterable[dict[str, Any]]) -> History:
    """What a table means, in whatever pieces it was emitted."""
    return History(
        Lifetime(e["vs"], INFINITY if e["ve"] is None else e["ve"], Row(e["row"])) for e in lines
    ).coalesced()


def logged(path: Path) -> History:
    return coalesced(map(json.loads, driftline("history", path).out.splitlines()))


def appended(path: Path) -> History:
    return added_up(in_sqlite(path, "appended"))


def added_up(rows: Iterable[dict[str, Any]]) -> History:
    """What the rows of a history table add up to."""
    sums: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = (row["vs"], row["ve"], row["k"], row["n"])
        sums[key] = sums.get(key, 0) + row["weight"]
    assert min(sums.values()) >= 0
    return coalesced(
        {"vs": vs, "ve": ve, "row": {"k": k, "n": n}}
        for (vs, ve, k, n), count in sums.items()
        for _ in range(count)
    )


@pytest.mark.usefixtures("spark")
@pytest.mark.long
@pytest.mark.parametrize("case", QUERIES)
@pytest.mark.parametrize("seed", range(2, 8))
def test_killed_again_and_again(tmp_path: Path, seed: int, case: str) -> None:
    draw = random.Random(seed)
    kills = [draw.choice(["driver", "worker", "everything"]) for _ in range(5)]
    check(tmp_path, kills, seed, case)
