"""The answer now on Spark: kept from micro-batch to micro-batch, and the same after a crash.

A sink that fails leaves what a process leaves that is killed in it: files that Spark, the sinks and
the answer now have written, and a micro-batch that is not done. `test_crash.py` kills processes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import driftline as dl
from driftline.engine.core.operator import OperatorKey
from driftline.engine.core.plain import batch_of
from driftline.model.event import Event
from driftline.plan.errors import PlanError
from driftline.spark import sinks
from driftline.spark.now import NowAnswers
from driftline.spark.places import Place
from driftline.spark.query import Sink
from driftline.spark.sinks.parquet import read_parquet
from driftline.spark.update import SparkUpdate
from driftline.spark.views import MILLISECOND, shown_now
from tests.build import insert, retract
from tests.cli.run import driftline
from tests.cli.test_now import QUERY
from tests.cli.test_now import TRADES as TRADES_CSV
from tests.engine.held_to_reference import KX
from tests.spark.sinks.postgres_server import binaries, server

psycopg = pytest.importorskip("psycopg")
pytest.importorskip("deltalake")

S = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
A, B = {"k": "a", "x": 1}, {"k": "b", "x": 2}


def update(number: int, latest: int, *events: Event) -> SparkUpdate:
    key = OperatorKey("finalize", "s", "s")
    head = {"counters": [[*key[:4], {"latest": latest, "dead_letters": 0}]]}
    return SparkUpdate(number, {"result": batch_of(events, KX)}, {}, {(0, 0): head})


UPDATES = [
    update(0, 1, insert(1, 5, A)),
    update(1, 3, insert(3, None, B)),
    update(2, 6),
    update(3, 6, retract(3, None, 4, B), insert(2, 9, A)),
    update(4, 9),
]
CHANGES = [
    [("+", 1, "a")],
    [("+", 3, "b")],
    [("-", 5, "a")],
    [("-", 6, "b"), ("+", 6, "a")],
    [("-", 9, "a")],
]


def answers(folder: Path) -> NowAnswers:
    return NowAnswers(Place(str(folder)), {"result": S.plan}, "latest")


def shown(kept: NowAnswers, each: SparkUpdate) -> list[tuple[str, int, str]]:
    changes = kept.of(each).changes["result"]
    return [
        ("+" if weight > 0 else "-", int(at), row["k"])
        for at, weight, row in zip(
            changes.at, changes.weight, changes.rows.to_pylist(), strict=True
        )
    ]


@pytest.mark.parametrize("crash", range(len(UPDATES)))
def test_a_micro_batch_that_comes_again_changes_the_same(tmp_path: Path, crash: int) -> None:
    kept = answers(tmp_path)
    for number, each in enumerate(UPDATES):
        assert shown(kept, each) == CHANGES[number]
        if number == crash:
            kept = answers(tmp_path)  # what the sink has done is not known
            assert shown(kept, each) == CHANGES[number]
    assert len(list((tmp_path / "now").iterdir())) < 2 * len(UPDATES)


def test_an_answer_that_was_not_kept_from_the_beginning_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="give the query another checkpoint"):
        shown(answers(tmp_path), UPDATES[2])


def of_two(number: int) -> SparkUpdate:
    """A row more for ever in one answer, and one that the next takes the place of in another."""
    latest = update(number, 10 * number)
    lasting = batch_of([insert(10 * number, None, A)], KX)
    short = batch_of([insert(10 * number, 10 * number + 10, {**B, "x": number})], KX)
    return replace(latest, batches={"lasting": lasting, "result": short})


def test_only_answers_that_are_asked_for_are_kept(tmp_path: Path) -> None:
    """What nobody asks for may grow for ever: it takes no place."""
    sink = sinks.Several(
        sinks.OneResult("lasting", sinks.Parquet(tmp_path / "rows")),
        sinks.OneResult("result", sinks.SQLite(tmp_path / "db", keys=["k"], view="now")),
    )
    assert shown_now(sink, ["lasting", "result"]) == ["result"]
    kept = answers(tmp_path)
    sizes = []
    for number in range(160):
        assert [op for op, _, _ in shown(kept, of_two(number))] == (["-", "+"] if number else ["+"])
        sizes.append(sum(path.stat().st_size for path in (tmp_path / "now").iterdir()))
    assert max(sizes[-50:]) < 1.1 * max(sizes[50:100])
    assert len(kept.views["result"].held) == 1
    both = NowAnswers(Place(str(tmp_path)), {"lasting": S.plan, "result": S.plan}, "latest")
    with pytest.raises(PlanError, match="has not kept the answer now from its beginning"):
        both.advance(of_two(160))


def test_an_answer_that_is_not_asked_for_any_more_is_dropped(tmp_path: Path) -> None:
    both = NowAnswers(Place(str(tmp_path)), {"lasting": S.plan, "result": S.plan}, "latest")
    for number in range(3):
        both.advance(of_two(number))
    assert shown(answers(tmp_path), of_two(3)) == [("-", 30, "b"), ("+", 30, "b")]


def test_a_sink_has_to_ask_for_it() -> None:
    memory = sinks.Memory()
    memory(UPDATES[0])
    with pytest.raises(PlanError, match="view='now'"):
        memory.table(view="now")


def test_the_time_of_day_is_that_of_the_micro_batch(tmp_path: Path) -> None:
    stamped = dl.stream("s", {"k": "STRING", "x": "BIGINT"}, timestamps=True)
    kept = NowAnswers(Place(str(tmp_path)), {"result": stamped.plan}, "wall")
    first = replace(update(0, 9_000, insert(1_000, 5_000, A)), time=2)  # of which a tick is 1/1000
    assert shown(kept, first) == [("+", 1_000, "a")]
    assert shown(kept, replace(update(1, 9_000), time=7)) == [("-", 5_000, "a")]


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str | None]:
    if binaries() is None:
        yield None
    else:
        with server() as found:
            yield found


Keyed = tuple[Sink, Callable[[], list[Any]]]
"""A table with a key, and what is in it."""


def keyed_tables(folder: Path, conninfo: str | None) -> list[Keyed]:
    from deltalake import DeltaTable

    uri, name = str(folder / "delta"), folder.name

    def rows_of_delta() -> list[Any]:
        return list(DeltaTable(uri).to_pyarrow_table().to_pylist())

    def rows_of_postgres() -> list[Any]:
        with psycopg.connect(conninfo or "", row_factory=psycopg.rows.dict_row) as connection:
            return list(connection.execute(f'SELECT * FROM "{name}"').fetchall())

    found: list[Keyed] = [(sinks.Delta(uri, view="now", keys=["k"]), rows_of_delta)]
    if conninfo is not None:
        found.append((sinks.Postgres(conninfo, name, ["k"], view="now"), rows_of_postgres))
    return found


def test_keyed_tables_hold_the_answer_now_after_any_crash(
    tmp_path: Path, conninfo: str | None
) -> None:
    tables = [[A], [A, B], [B], [A], []]
    for number, (sink, rows) in enumerate(keyed_tables(tmp_path, conninfo)):
        for crash in range(len(UPDATES)):
            kept = answers(tmp_path / f"{number} {crash}")
            own = [replace(each, run=f"crash {crash}") for each in UPDATES]
            for each, wanted in zip(own, tables, strict=True):
                if each.batch_id == crash:  # once before the table has it, and once after
                    assert kept.of(each).changes
                    kept = answers(tmp_path / f"{number} {crash}")
                    sink(replace(each, now=kept.of(each)))
                    kept = answers(tmp_path / f"{number} {crash}")
                sink(replace(each, now=kept.of(each)))
                assert sorted(rows(), key=str) == wanted, (sink, crash, each.batch_id)


TRADES = dl.stream("trades", {"k": "STRING", "ts": "BIGINT"}, time="ts")
COUNTS = TRADES.where("k <> 'z'").window(range=10).group_by("k").agg("count(*) AS n")
FILES = [
    [{"k": "a", "ts": 1}, {"k": "b", "ts": 4}, {"k": "a", "ts": 5}],
    [{"k": "a", "ts": 3}, {"k": "z", "ts": 13}],
    [{"k": "z", "ts": 40}, {"k": "b", "ts": 38}],
]


def added_up(changes: pa.Table) -> Counter[tuple[str, int]]:
    rows: Counter[tuple[str, int]] = Counter()
    for change in changes.to_pylist():
        rows[change["k"], change["n"]] += 1 if change["op"] == "+" else -1
    return +rows


@pytest.mark.spark
def test_sinks_have_the_view_now(spark: Any, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    folder = tmp_path / "in"
    folder.mkdir()
    frame = spark.readStream.schema("k STRING, ts BIGINT").json(str(folder))
    rows: list[dict[str, Any]] = []
    for number, part in enumerate(FILES):
        text = "\n".join(map(json.dumps, part))
        (folder / f"{number}.json").write_text(text)
        rows += part
        sink = sinks.Several(
            sinks.Parquet(tmp_path / "parquet", view="now"),
            sinks.Delta(str(tmp_path / "delta"), view="now", keys=["k"]),
            sinks.EventLog(tmp_path / "log.jsonl", view="now"),
        )
        query = dl.on_spark(COUNTS, {"trades": frame})
        run = query.start(sink, checkpoint=tmp_path / "cp", trigger={"availableNow": True})
        run.awaitTermination()
        expected = COUNTS.now(trades=rows, keep_open=True, emit="eager").table()
        wanted = Counter((row["k"], row["n"]) for row in expected.to_pylist())
        written = read_parquet(tmp_path / "parquet")
        assert added_up(written) == wanted
        table = pa.table(DeltaTable(str(tmp_path / "delta")).to_pyarrow_table())
        assert Counter((row["k"], row["n"]) for row in table.to_pylist()) == wanted
        lines = (tmp_path / "log.jsonl").read_text().splitlines()
        assert len(lines) >= written.num_rows  # the log has the steps inside a micro-batch, too
        assert written.column("at").to_pylist() == sorted(written.column("at").to_pylist())


DEAD = "the sink is dead"
PATIENCE = 240  # seconds
STEP = 5_000_000
"""By so much time passes from micro-batch to micro-batch, in microseconds."""


@pytest.mark.spark
def test_a_crash_in_a_silence(
    spark: Any, tmp_path: Path, conninfo: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the wall clock rows leave while nothing comes: what leaves in a micro-batch that fails,
    before a table has it or after, has left once when the query goes on."""
    monkeypatch.setattr(
        "driftline.spark.query.began_at", lambda _, number: number * STEP // MILLISECOND
    )
    stream = dl.stream("trades", {"k": "STRING", "ts": "TIMESTAMP"}, time="ts")
    counts = stream.window(range="12 seconds").group_by("k").agg("count(*) AS n")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0.json").write_text('{"k":"a","ts":"1970-01-01T00:00:00Z"}\n')
    frame = spark.readStream.schema("k STRING, ts TIMESTAMP").json(str(folder))
    keyed = keyed_tables(tmp_path, conninfo)
    held: dict[int, list[list[Any]]] = {}

    def start(dies_in: int, *, before: bool) -> None:
        def die(update: SparkUpdate) -> None:
            if update.batch_id >= dies_in:
                raise RuntimeError(DEAD)

        def note(update: SparkUpdate) -> None:
            held[update.batch_id] = [rows() for _, rows in keyed]

        tables = [sink for sink, _ in keyed]
        log = sinks.EventLog(tmp_path / "log.jsonl", view="now")
        parts: list[Sink] = [die, *tables, log, note] if before else [*tables, log, note, die]
        query = dl.on_spark(counts, {"trades": frame}, clock="wall")
        run = query.start(sinks.Several(*parts), checkpoint=tmp_path / "cp")
        with pytest.raises(StreamingQueryException, match=DEAD):
            run.awaitTermination(PATIENCE)

    start(1, before=True)  # in the silence, in which nothing changes
    start(3, before=True)  # in the micro-batch in which the row leaves
    start(3, before=False)
    there: list[Any] = [{"k": "a", "n": 1}]
    for number in range(4):
        assert held[number] == [there if number < 3 else []] * len(keyed)
    changes = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(each["op"], each["at"][-3:]) for each in changes] == [("+", "00Z"), ("-", "12Z")]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_both_runners_write_the_same(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "trades.csv").write_text(TRADES_CSV)
    for more in ((), ("--table",)):
        local, on_spark = (
            driftline(
                "run", tmp_path / "query.sql", "-i", f"trades={tmp_path / 'trades.csv'}",
                "--now", "--runner", runner, *more,
            )
            for runner in ("local", "spark")
        )  # fmt: skip
        assert local.out
        wanted, found = local.out.splitlines(), on_spark.out.splitlines()
        # The rows of a table have no order; changes do.
        assert (sorted(found) == sorted(wanted)) if more else (found == wanted)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_log_of_the_answer_now_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """The second run knows what is there, and writes only what is new."""
    (tmp_path / "query.sql").write_text(QUERY)
    header, *records = TRADES_CSV.splitlines()
    folder, out, half = tmp_path / "in", tmp_path / "out.jsonl", len(records) // 2
    folder.mkdir()
    before = ""
    for number, part in enumerate((records[:half], records[half:])):
        (folder / f"{number}.csv").write_text("\n".join([header, *part, ""]))
        ran = driftline(
            "run", tmp_path / "query.sql", "-i", f"trades={folder}", "--now", "--output", out,
            "--checkpoint", tmp_path / "state", "--runner", "spark",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        assert out.read_text().startswith(before)
        assert len(out.read_text()) > len(before)
        before = out.read_text()
    shown: Counter[str] = Counter()
    for line in map(json.loads, before.splitlines()):
        shown[str(line["row"])] += 1 if line["op"] == "+" else -1
        assert shown[str(line["row"])] >= 0
    local = driftline(
        "run", tmp_path / "query.sql", "-i", f"trades={folder}", "--now", "--table",
        "--keep-open", "--runner", "local",
    )  # fmt: skip
    there = [str(json.loads(line)["row"]) for line in local.out.splitlines()]
    assert sorted(shown.elements()) == sorted(there) != []
