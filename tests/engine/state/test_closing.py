"""Windows as columns: what a cti has closed gives up its state, and the answers stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.engine.step_outputs import Outputs
from driftline.engine.tables import history_table
from driftline.model.columns import StreamColumns
from driftline.model.event import Cti, Insert
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.bands import Spans
from driftline.plan.nodes import Keyed
from tests.engine.shards.test_shard import Cluster

DISORDER = 6
TRADES = dl.stream(
    "trades", {"k": "STRING", "x": "BIGINT", "at": "BIGINT"}, time="at", disorder=DISORDER
)
SUMS = "SELECT window_end, k, sum(x) AS s, max(x) AS m FROM TUMBLE(trades, 5) GROUP BY ALL"
QUERIES = {
    "sums": SUMS,
    "by the start": "SELECT window_start, count(*) AS n FROM HOP(trades, 2, 5) GROUP BY ALL",
    "by a column": """SELECT window_end, k, avg(x) AS a
        FROM TUMBLE(TABLE trades, DESCRIPTOR(at), 5) GROUP BY ALL""",
    "rows": "SELECT window_end AS e, median(x) AS m, count(DISTINCT k) AS n "
    "FROM TUMBLE(trades, 5) GROUP BY window_end",
    "distinct": "SELECT DISTINCT window_end, k FROM TUMBLE(trades, 5)",
    "of two": f"SELECT window_end, max(s) AS most FROM ({SUMS}) GROUP BY window_end",
    "top": f"""SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY window_end ORDER BY s DESC) AS place
        FROM ({SUMS})) WHERE place = 1""",
    "over": f"SELECT *, sum(s) OVER (PARTITION BY window_end) AS total FROM ({SUMS})",
}
MOVED = "TUMBLE(TABLE (SELECT at {} AS at, k, x FROM trades), DESCRIPTOR(at), 5)"
OVERS = "TUMBLE(TABLE (SELECT {} AS at, k, s FROM ({})), DESCRIPTOR(at), 10)"
QUERIES |= {
    "of times before": f"SELECT window_end, sum(x) AS s FROM {MOVED.format('- 7')} GROUP BY ALL",
    "of times after": f"SELECT window_end, k, max(x) AS m FROM {MOVED.format('+ 7')} GROUP BY ALL",
    "of ends": f"SELECT window_end, sum(s) AS s FROM {OVERS.format('window_end', SUMS)} "
    "GROUP BY ALL",
    "of starts": "SELECT window_end - 3 AS e, k, sum(s) AS s FROM "
    + OVERS.format("window_start", SUMS.replace("window_end", "window_start"))
    + " GROUP BY ALL",
}
NEAR = "a.k = b.k AND a.at BETWEEN b.at - 2 AND b.at + 3"
COUNTS = SUMS.replace("TUMBLE(trades, 5)", "TUMBLE(trades, 5) WHERE x > 2")
JOINS = {
    "near": f"SELECT a.at, a.x, b.x AS y FROM trades a JOIN trades b ON {NEAR}",
    "at once": "SELECT a.at, a.x, b.x AS y FROM trades a JOIN trades b ON a.at = b.at",
    "later": "SELECT a.at, a.x, b.x AS y FROM (SELECT at + 8 AS at, x FROM trades) a "
    "JOIN trades b ON a.at = b.at",
    "windows later": f"""SELECT a.window_end, a.x, b.x AS y FROM {MOVED.format("+ 7")} a
        JOIN TUMBLE(trades, 5) b ON a.window_end = b.window_end AND a.k = b.k""",
    "windows": """SELECT a.window_end, a.x, b.x AS y FROM TUMBLE(trades, 5) a
        JOIN HOP(trades, 5, 10) b ON a.window_end = b.window_start AND a.k = b.k""",
    "of groups": f"SELECT a.window_end, a.k, a.s, b.m FROM ({SUMS}) a JOIN ({COUNTS}) b "
    "ON a.window_end = b.window_end AND a.k = b.k",
    "grouped": f"""SELECT window_end, count(*) AS n FROM (
        SELECT a.window_end, a.s FROM ({SUMS}) a JOIN ({COUNTS}) b ON a.window_end = b.window_end)
        GROUP BY window_end""",
}
JOINS |= {
    f"{how} {name}": JOINS[name].replace("JOIN", f"{how} JOIN")
    for how in ("LEFT", "FULL")
    for name in ("near", "windows", "of groups")
}
JOINS |= {
    f"{how} {name}": f"""SELECT a.at, a.x FROM trades a
        WHERE {how} (SELECT 1 FROM trades b WHERE {on} AND b.x > a.x)"""
    for how in ("EXISTS", "NOT EXISTS")
    for name, on in {"near": NEAR, "at once": "a.at = b.at"}.items()
}
QUERIES |= JOINS
LEVELS = [Level.ORDERED, Level.EAGER]


def rows(times: list[int]) -> list[dict[str, Any]]:
    return [{"k": "ab"[n % 2], "x": n % 7, "at": time} for n, time in enumerate(times)]


def as_log(records: list[dict[str, Any]], batch: int) -> StreamColumns:
    """The same inserts and promises as an event log: nothing may be let go there."""
    events: list[Any] = []
    for place, row in enumerate(records):
        events.append(Insert(row["at"], INFINITY, Row(row)))
        if place % batch == batch - 1:
            latest = max(each["at"] for each in records[: place + 1])
            events.append(Cti(latest - DISORDER + 1))
    return StreamColumns.from_events("trades", events)


def answers(query: dl.Query, data: Any, level: Level, batch: int) -> Iterator[Outputs]:
    options = Options(level, batch=batch, keep_open=True)
    return run(query.plan, {"trades": data}, options)


def held(output: Outputs) -> int:
    """The rows that stateful operators of the plan hold."""
    return sum(
        counted["state_rows"] for name, counted in output.counters.items() if not name.source
    )


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("query", QUERIES)
def test_state_does_not_grow_with_the_number_of_windows(query: str, level: Level) -> None:
    asked = dl.sql(QUERIES[query], trades=TRADES)
    sizes = [held(each) for each in answers(asked, rows(list(range(400))), level, 10)]
    assert max(sizes[20:]) <= max(sizes[:20])
    log = as_log(rows(list(range(250))), 10)
    *_, last = answers(asked, log, level, 11)
    assert held(last) > 2 * max(sizes)  # a retract may still come


@given(
    times=st.lists(st.integers(0, 40), max_size=40),
    late=st.lists(st.integers(0, DISORDER - 1), min_size=40, max_size=40),
    batch=st.integers(1, 9),
    query=st.sampled_from(list(QUERIES)),
    level=st.sampled_from(list(Level)),
)
def test_the_answers_are_those_that_would_be_given_if_nothing_were_let_go(
    times: list[int], late: list[int], batch: int, query: str, level: Level
) -> None:
    moments = sorted((time + delay, time) for time, delay in zip(times, late, strict=False))
    records = rows([time for _, time in moments])
    asked = dl.sql(QUERIES[query], trades=TRADES)
    schema = asked.plan.schema.arrow
    emitted = [each.batch for each in answers(asked, records, level, batch)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Keyed, "closing_key", lambda *given: None)
        patch.setattr("driftline.engine.compile.stateful.spans_of", lambda *_, **__: Spans())
        kept = [each.batch for each in answers(asked, records, level, batch)]
    assert [each.cti for each in emitted] == [each.cti for each in kept]
    for end in range(1, len(emitted) + 1):
        mine, theirs = (history_table(some[:end], schema).to_pylist() for some in (emitted, kept))
        assert sorted(mine, key=str) == sorted(theirs, key=str)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("query", QUERIES)
def test_shards_let_go_and_say_the_same(query: str, level: Level) -> None:
    asked = dl.sql(QUERIES[query], trades=TRADES)
    schema = asked.plan.schema.arrow
    data = rows([time - time % 4 for time in range(300)])
    events = events_from(asked.plan.sources()["trades"], pa.Table.from_pylist(data))
    cluster = Cluster(
        asked.plan, {"trades": Reading(plain=True, ordered=True)}, Options(level), shards=2
    )
    emitted, sizes = [], []
    for start in range(0, 300, 20):
        emitted += cluster.step({"trades": events.slice(start, start + 20)}, tasks=2)
        cluster.move()
        counters = [shard.counters() for level_ in cluster.shards for shard in level_]
        sizes.append(
            sum(
                counted["state_rows"]
                for each in counters
                for name, counted in each.items()
                if not name.source
            )
        )
    # A join drops what has ended when it is half of a run: until then it holds half as much again.
    assert 0 < max(sizes[8:]) <= 1.5 * max(sizes[:8])
    local = [each.batch for each in answers(asked, data, level, 20)]
    mine, theirs = (history_table(some, schema).to_pylist() for some in (emitted, local))
    ends = max(row["vs"] for row in theirs)
    mine, theirs = ([row for row in some if row["vs"] < ends - 20] for some in (mine, theirs))
    assert sorted(mine, key=str) == sorted(theirs, key=str)


def test_a_late_row_of_a_closed_window_is_a_dead_letter_with_its_reason() -> None:
    asked = dl.sql(SUMS, trades=TRADES)
    records = rows([1, 2, 20, 3, 21])
    outputs = list(answers(asked, records, Level.ORDERED, 1))
    (dead,) = [each.dead["trades"] for each in outputs if len(each.dead.get("trades", ()))]
    assert dead.number.tolist() == [3]
    assert dead.reasons(False) == ["too late: its sync time 3 is before the watermark 14"]
    emitted = history_table([each.batch for each in outputs], asked.plan.schema.arrow).to_pylist()
    assert {row["window_end"] for row in emitted} == {5, 25}
    assert max(row["s"] for row in emitted if row["window_end"] == 5 and row["k"] == "b") == 1
