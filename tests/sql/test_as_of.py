"""As-of joins in SQL: what is written becomes which plan, and the answers are DuckDB's."""

from __future__ import annotations

from random import Random

import duckdb
import pyarrow as pa
import pytest

import driftline as dl
from driftline.plan.nodes import AsOf
from tests.sql.declared import T, U, plan, refused

STREAMS = """
CREATE STREAM trades (k STRING, ts BIGINT, n INT) WITH (time = 'ts', disorder = 50);
CREATE STREAM quotes (k STRING, ts BIGINT, p INT) WITH (time = 'ts', disorder = 50);
"""
AS_OF = T.as_of(U, "t.k = u.k AND t.x >= u.z").plan


@pytest.mark.parametrize(
    "written",
    [
        "ASOF JOIN u MATCH_CONDITION (t.x >= u.z) ON t.k = u.k",
        "ASOF JOIN u MATCH_CONDITION (u.z <= t.x) ON t.k = u.k",
        "ASOF JOIN u ON t.k = u.k AND t.x >= u.z",
    ],
)
def test_ways_to_write_it(written: str) -> None:
    found = [each for each in plan(f"SELECT * FROM t {written}").walk() if isinstance(each, AsOf)]
    assert isinstance(AS_OF, AsOf)
    assert [each.times_of for each in found] == [AS_OF.times_of]
    assert found[0].required_keys == AS_OF.required_keys


def test_of_rows_at_one_time_the_whole_row_decides() -> None:
    """So on Spark, too, where columns that are not read are left out of rows."""
    joined = U.as_of(T, "u.k = t.k AND u.z >= t.x").plan
    assert joined.reads(frozenset({0})) == (frozenset({0, 1}), frozenset({0, 1, 2}))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("ASOF JOIN u ON t.k = u.k", "needs one inequality of times"),
        ("ASOF JOIN u ON t.k = u.k AND t.x > u.z AND t.x < u.z + 5", "needs one inequality"),
        ("ASOF FULL JOIN u ON t.x >= u.z", "ASOF JOIN or ASOF LEFT JOIN"),
        ("ASOF JOIN u ON t.x >= u.z AND t.k <> u.k", "compares its keys with ="),
        ("JOIN u FOR SYSTEM_TIME AS OF t.x ON t.k = u.k", "a stream with a time"),
    ],
)
def test_what_is_refused(written: str, problem: str) -> None:
    assert problem in refused(f"SELECT * FROM t {written}").message


def records(random: Random, value: str, count: int) -> list[dict[str, object]]:
    """Rows with different times for each key, out of order."""
    times = random.sample(range(count * 3), count)
    late = {ts: ts + random.randrange(40) for ts in times}
    times.sort(key=late.__getitem__)
    return [{"k": random.choice("abc"), "ts": ts, value: n} for n, ts in enumerate(times)]


@pytest.mark.parametrize("left", ["", "LEFT"])
@pytest.mark.parametrize("seed", range(3))
def test_in_any_order_of_arrival_it_is_duckdbs(left: str, seed: int) -> None:
    random = Random(seed)
    trades, quotes = records(random, "n", 60), records(random, "p", 40)
    query = (
        "SELECT trades.k, trades.ts, n, p FROM trades ASOF {left} JOIN quotes "
        "{match} ON trades.k = quotes.k {more}"
    )
    by = "trades.ts >= quotes.ts"
    ours = dl.sql(STREAMS + query.format(left=left, match=f"MATCH_CONDITION ({by})", more=""))
    versioned = dl.sql(
        STREAMS
        + f"SELECT trades.k, trades.ts, n, p FROM trades {left} JOIN quotes "
        + "FOR SYSTEM_TIME AS OF trades.ts ON trades.k = quotes.k"
    )
    database = duckdb.connect()
    database.register("trades", pa.Table.from_pylist(trades))
    database.register("quotes", pa.Table.from_pylist(quotes))
    theirs = database.sql(query.format(left=left, match="", more=f"AND {by}")).fetchall()
    for each in (ours, versioned):
        result = each.run(trades=trades, quotes=quotes, batch=random.choice([7, 30, 1000]))
        rows = result.history().select(["k", "ts", "n", "p"]).to_pylist()
        found = [tuple(row.values()) for row in rows]
        assert sorted(found, key=repr) == sorted(theirs, key=repr)


@pytest.mark.parametrize("by", ["trades.ts <= quotes.ts", "quotes.p > trades.n"])
def test_the_next_row_in_the_end_is_duckdbs(by: str) -> None:
    random = Random(3)
    trades, quotes = records(random, "n", 60), records(random, "p", 40)
    query = f"SELECT n, p FROM trades ASOF LEFT JOIN quotes ON trades.k = quotes.k AND {by}"
    database = duckdb.connect()
    database.register("trades", pa.Table.from_pylist(trades))
    database.register("quotes", pa.Table.from_pylist(quotes))
    theirs = sorted(database.sql(query).fetchall(), key=repr)
    rows = dl.sql(STREAMS + query).run(trades=trades, quotes=quotes, batch=9).history().to_pylist()
    assert sorted(((row["n"], row["p"]) for row in rows if row["ve"] is None), key=repr) == theirs
