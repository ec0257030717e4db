"""VARIANT in queries: paths with a colon, generators, what is refused, and streams of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import driftline as dl
from driftline.plan import parse_expression
from driftline.plan.native import is_tame
from driftline.plan.types import Schema
from driftline.sql.errors import SqlError
from tests.cli.run import driftline


def _rows(query: str) -> list[tuple[object, ...]]:
    found = dl.sql(query).run().history().drop_columns(["vs", "ve"])
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def test_paths_with_a_colon() -> None:
    assert _rows("""
        SELECT v:a.b[1]::int, v:a['b'][0]::string, to_json(v:a), v:x IS NULL
        FROM (SELECT parse_json('{"a": {"b": [1, 2]}}') AS v)
    """) == [(2, "1", '{"b":[1,2]}', True)]


def test_a_type_with_colons_is_a_type() -> None:
    assert _rows("SELECT CAST(named_struct('a', 1) AS STRUCT<a: BIGINT>)") == [({"a": 1},)]


def test_items_as_rows() -> None:
    query = """
        SELECT c, pos, key, value::int FROM VALUES ('[5]'), ('{"k":6}'), ('7') AS t(c),
        LATERAL variant_explode(parse_json(c))
    """
    some = [("[5]", 0, None, 5), ('{"k":6}', 0, "k", 6)]
    assert _rows(query) == sorted(some, key=repr)
    kept = _rows(query.replace("variant_explode", "variant_explode_outer"))
    assert kept == sorted([*some, ("7", None, None, None)], key=repr)


def test_generators_and_range_as_tables() -> None:
    assert _rows("SELECT * FROM explode(array(1, 2)) AS t(x)") == [(1,), (2,)]
    assert _rows("SELECT id FROM range(5, 0, -2)") == [(1,), (3,), (5,)]
    assert _rows("SELECT * FROM range(0)") == []
    with pytest.raises(SqlError, match="step"):
        dl.sql("SELECT * FROM range(1, 2, 0)")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM t GROUP BY parse_json(c)",
        "SELECT DISTINCT array(parse_json(c)) FROM t",
        "SELECT parse_json(c) FROM t INTERSECT SELECT parse_json(c) FROM t",
        "SELECT sum(1) OVER (PARTITION BY parse_json(c) ORDER BY c) FROM t",
        "SELECT parse_json(c) = parse_json(c) FROM t",
        "SELECT parse_json(c).a FROM t",
    ],
)
def test_variants_are_neither_equal_nor_different(query: str) -> None:
    with pytest.raises(SqlError, match="VARIANT"):
        dl.sql(f"WITH t AS (SELECT * FROM VALUES ('1') AS t(c)) {query}")


def test_a_stream_of_variants_is_written_and_read(tmp_path: Path) -> None:
    """In logs they are structs of their two parts."""
    first, second = tmp_path / "first.sql", tmp_path / "second.sql"
    first.write_text("CREATE STREAM s (c STRING); SELECT parse_json(c) AS v FROM s;")
    second.write_text("CREATE STREAM result (v VARIANT); SELECT v:a::int AS a FROM result;")
    log, middle = tmp_path / "log.jsonl", tmp_path / "middle.jsonl"
    row = '{"stream":"s","kind":"insert","vs":%d,"ve":9,"row":{"c":"{\\"a\\":%d}"}}\n'
    log.write_text("".join(row % (at, at) for at in range(3)))
    assert driftline("run", first, "-i", f"s={log}", "-o", middle).code == 0
    answer = driftline("run", second, "-i", f"result={middle}", "--table")
    assert [f'"a":{at}' in answer.out for at in range(3)] == [True] * 3


@pytest.mark.parametrize("text", ["parse_json(c)", "v:a::int", "to_json(v)", "xpath_int(c, 'a')"])
def test_what_spark_sees_otherwise_is_not_left_to_it(text: str) -> None:
    schema = Schema.of({"c": "STRING", "v": "VARIANT"})
    assert not is_tame(parse_expression(text, schema))
    assert is_tame(parse_expression("upper(c)", schema))
