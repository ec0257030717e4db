"""Planning takes time in proportion to what is written: columns, views, joins."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.options import Options
from driftline.engine.shards.stages import Reading, stages
from driftline.plan.finals import final
from driftline.plan.fragments import RESULT, cut
from driftline.sql import read_script

FEW, MANY = 250, 1000
AT_MOST = 6  # times as long for four times as much


def declared(count: int) -> str:
    columns = ", ".join(f"c{number} INT" for number in range(count))
    return f"CREATE STREAM s ({columns}, ts TIMESTAMP) WITH (time = 'ts'); "


def each(text: str, count: int, between: str = ", ") -> str:
    return between.join(text.format(number) for number in range(count))


SCRIPTS: dict[str, Callable[[int], str]] = {
    "star": lambda n: (
        declared(n) + "CREATE VIEW v AS SELECT *, c1 + 1 AS z FROM s; SELECT * FROM v WHERE z > 1"
    ),
    "computed": lambda n: declared(n) + f"SELECT {each('c{0} + 1 AS d{0}', n)} FROM s",
    "grouped": lambda n: (
        declared(n) + f"SELECT {each('c{0}', n // 2)}, "
        f"{each('sum(c{0}) AS d{0}', n // 2)} FROM s GROUP BY {each('c{0}', n // 2)}"
    ),
    "joined": lambda n: declared(n) + "SELECT a.*, b.c3 AS q FROM s a LEFT JOIN s b USING (c1, c2)",
    "ordered": lambda n: declared(n) + f"SELECT * FROM s ORDER BY {each('c{0}', n)} LIMIT 3",
    "views": lambda n: (
        declared(5)
        + each("CREATE VIEW v{0} AS SELECT c1, c2 FROM s", n, "; ")
        + f"; SELECT * FROM v{n - 1}"
    ),
}


def seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def planned(script: str) -> None:
    (output,) = read_script(script + ";").outputs
    plan = output.plan
    plan.tree()
    final(plan, ["s"])
    compile_plan(plan, lambda _: None, inserts_only=["s"])
    stages(cut(plan), [RESULT], {"s": Reading(plain=True, ordered=False)}, Options(), 2)


@pytest.mark.parametrize("name", SCRIPTS)
def test_four_times_as_much_takes_about_four_times_as_long(name: str) -> None:
    planned(SCRIPTS[name](10))
    few, many = (SCRIPTS[name](count) for count in (FEW, MANY))
    # The machine is shared and noisy: one good pair of three is enough.
    ratios = (seconds(lambda: planned(many)) / seconds(lambda: planned(few)) for _ in range(3))
    assert any(ratio < AT_MOST for ratio in ratios)


def test_a_chain_of_views_may_be_long() -> None:
    views = "; ".join(
        f"CREATE VIEW v{number} AS SELECT *, c{number} + 1 AS c{number + 1} FROM "
        + (f"v{number - 1}" if number else "s")
        for number in range(100)
    )
    planned(
        f"CREATE STREAM s (c0 INT, ts TIMESTAMP) WITH (time = 'ts'); {views}; SELECT * FROM v99"
    )


def test_a_stream_of_ten_thousand_columns() -> None:
    columns = {f"c{number}": "INT" for number in range(10_000)}
    stream = dl.stream("s", {**columns, "ts": "BIGINT"}, time="ts")
    query = stream.where("c1 > 0").select("c1", "c9999 + 1 AS d")
    row = {**dict.fromkeys(columns, 1), "ts": 5}
    assert query.run({"s": [row]}).history().to_pylist()[0]["d"] == 2
