"""What users of other engines write, over late rows, retractions and nulls: the answer in the end
is DuckDB's."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import driftline as dl
from driftline.model.event import Event

COLUMNS = {"id": "BIGINT", "k": "STRING", "v": "BIGINT"}
E, L = dl.stream("e", COLUMNS), dl.stream("l", {"lim": "BIGINT"})
LIMITS = [2, None, 3]


def made() -> tuple[list[Event], list[dict[str, Any]]]:
    """Events in which some rows are retracted, in any order, and the rows that are left."""
    draw = random.Random(5)
    came: list[tuple[float, Event]] = []
    left = []
    for number in range(40):
        row = {"id": number, "k": draw.choice(["p", "q", None]), "v": draw.choice([1, 2, 4, None])}
        start = draw.randrange(50)
        came.append((start, dl.Insert(start, dl.INFINITY, dl.Row(row))))
        if draw.random() < 0.3:
            end = start + draw.randrange(9)
            came.append((start + 20.5, dl.Retract(start, dl.INFINITY, end, dl.Row(row))))
        else:
            left.append(row)
    return [event for _, event in sorted(came, key=lambda each: each[0])], left


EVENTS, LEFT = made()


def in_the_end(query: dl.Query) -> list[tuple[Any, ...]]:
    data: dict[str, list[Event]] = {
        "e": EVENTS,
        "l": [dl.Insert(1, dl.INFINITY, dl.Row(lim=each)) for each in LIMITS],
    }
    given: dict[str, Any] = {
        name: each for name, each in data.items() if name in query.plan.sources()
    }
    rows = query.run(**given, batch=7).history().to_pylist()
    return sorted((tuple(row.values())[2:] for row in rows if row["ve"] is None), key=repr)


def by_duckdb(query: str) -> list[tuple[Any, ...]]:
    types = {"BIGINT": pa.int64(), "STRING": pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
    with duckdb.connect() as connection:
        connection.register("e", pa.Table.from_pylist(LEFT, schema))
        connection.register("l", pa.table({"lim": pa.array(LIMITS, pa.int64())}))
        return sorted(connection.execute(query).fetchall(), key=repr)


ROWS = ("SELECT lim FROM l", "SELECT lim FROM l WHERE lim > 0", "SELECT lim FROM l WHERE lim > 9")
ALIKE = ("SELECT 2 FROM l", "SELECT lim FROM l WHERE lim = 2", "SELECT lim - lim FROM l")
FEW = "SELECT x.v FROM e AS x WHERE x.k = e.k AND x.v IS NOT NULL"


@pytest.mark.parametrize(
    "query",
    [
        *(
            f"SELECT id, v {compared} ({rows}) AS r FROM e"
            for compared in ("= ANY", "<> ALL", "> ANY", "> ALL", "<= ANY", "<= ALL")
            for rows in ROWS
        ),
        *(
            f"SELECT id, v {compared} ({rows}) AS r FROM e"
            for compared in ("= ALL", "<> ANY")
            for rows in (*ROWS, *ALIKE)
        ),
        f"SELECT id FROM e WHERE v = ALL ({FEW}) OR v <> ANY (SELECT lim FROM l)",
        f"SELECT id, NOT v <> ANY ({FEW} AND x.id > e.id) AS last FROM e",
        f"SELECT id FROM e WHERE v <> ANY ({FEW} AND x.id < e.id) AND v = ALL ({ALIKE[0]})",
        "SELECT k, count(*) FROM e GROUP BY k HAVING max(v) = ALL (SELECT v FROM e AS x "
        "WHERE x.k = e.k AND x.v IS NOT NULL AND x.id > 30) OR min(v) < ANY (SELECT lim FROM l)",
        "SELECT id FROM e WHERE v = ALL (SELECT max(lim) + 1 FROM l GROUP BY lim > 5)",
        "SELECT id, sum(v) OVER (ORDER BY id) < ALL (SELECT lim * lim FROM l) AS w FROM e",
        "SELECT id, w <> ALL (SELECT lim * lim FROM l) "
        "FROM (SELECT id, sum(v) OVER (ORDER BY id) AS w FROM e) AS i",
        f"SELECT id FROM e WHERE v >= ALL ({FEW}) OR id = 3",
        "SELECT id FROM e WHERE v < SOME (SELECT sum(lim) FROM l GROUP BY lim)",
        "SELECT id, first_value(v IGNORE NULLS) OVER (PARTITION BY k ORDER BY id) AS f FROM e",
        "SELECT k, string_agg(CAST(id AS STRING), ',' ORDER BY id DESC) AS l FROM e GROUP BY k",
        "SELECT DISTINCT ON (k) k, id FROM e ORDER BY k, v DESC NULLS LAST, id",
        "SELECT DISTINCT ON (k, v) k, v, id FROM e ORDER BY k, v, id",
        "SELECT DISTINCT ON (1) k, id FROM e ORDER BY 1, v DESC NULLS LAST, 2",
        "SELECT * REPLACE (v * 2 AS v, k AS k) FROM e",
        # JOIN binds tighter than a comma
        "SELECT lim, a.id, b.v FROM l, e AS a RIGHT JOIN e AS b ON a.id = b.id + 9",
        "SELECT x.lim, a.id, b.id, v FROM l AS x, e AS a FULL JOIN (SELECT id, id % 7 AS v FROM e) "
        "AS b USING (v), (SELECT lim AS one FROM l WHERE lim = 2) AS y",
        "SELECT a.id, c.v FROM e AS a, e AS b NATURAL JOIN (SELECT lim AS v FROM l) AS c",
    ],
)
def test_the_answer_is_the_usual_one(query: str) -> None:
    streams = {"e": E} | ({"l": L} if "FROM l" in query else {})
    assert in_the_end(dl.sql(query, **streams)) == by_duckdb(query)


def test_a_comparison_with_any_changes_only_with_what_decides_it() -> None:
    a, b = (dl.stream(name, {"x": "INT"}) for name in "ab")
    rows = [dl.Insert(t, dl.INFINITY, dl.Row(x=5 + t % 3)) for t in range(50)]
    one = [dl.Insert(0, dl.INFINITY, dl.Row(x=9))]
    found = dl.sql("SELECT x FROM a WHERE x > ANY (SELECT x FROM b)", a=a, b=b).run(a=one, b=rows)
    assert sum(len(update.table()) for update in found.updates) == 1


def test_how_much_a_counter_has_grown() -> None:
    """A null is passed over, and a counter that is less than before has begun again."""
    over = "OVER (PARTITION BY k ORDER BY id)"
    last = f"lag(v IGNORE NULLS) {over}"
    usual = f"SELECT id, CASE WHEN v >= {last} THEN v - {last} END FROM e"
    assert in_the_end(dl.sql(f"SELECT id, counter_diff(v) {over} AS d FROM e", e=E)) == by_duckdb(
        usual
    )
    pairs = f"SELECT id, lag(if(v > 1, struct(v, k), NULL)) IGNORE NULLS {over} AS p FROM e"
    expected = pairs.replace("struct(v, k)", "struct_pack(v := v, k := k)").replace(
        ", NULL)) IGNORE NULLS", ", NULL) IGNORE NULLS)"
    )
    assert in_the_end(dl.sql(pairs, e=E)) == by_duckdb(expected)


def test_windows_by_a_column_as_risingwave_has_them() -> None:
    t = dl.stream("t", {"at": "BIGINT", "x": "INT"}, time="at")
    rows = [{"at": at, "x": 1} for at in (1, 4, 7)]
    query = "SELECT window_start, window_end, sum(x) AS x FROM {} GROUP BY window_start, window_end"
    for one, other in [("TUMBLE(t, at, 5)", "TUMBLE(TABLE t, DESCRIPTOR(at), 5)"),
                       ("HOP(t, at, 2, 4)", "HOP(TABLE t, DESCRIPTOR(at), 2, 4)")]:  # fmt: skip
        found, expected = (dl.sql(query.format(each), t=t).run(t=rows) for each in (one, other))
        assert found.history() == expected.history()
