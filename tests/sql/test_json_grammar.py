"""JSON as SQL:2016, Flink and Postgres write it, over late rows and retractions."""

from __future__ import annotations

import json
from typing import Any

import pytest

import driftline as dl
from tests.sql.declared import pointed_at
from tests.sql.test_other_spellings import LEFT, E, in_the_end

TEXT = """'{"b": {"c": [1, "z"]}, "a": null, "d": "x y", "i": [{"n": 1}, {"n": 2}]}'"""

NEST = '{"i": [{"m": [1, 2]}]}'


def value(expression: str) -> Any:
    """What an expression gives for the row 7."""
    rows = in_the_end(dl.sql(f"SELECT {expression} AS x FROM e WHERE id = {ROW['id']}", e=E))
    return rows[0][0] if len(rows) == 1 else [row[0] for row in rows]


ROW = next(row for row in LEFT if row["v"] is not None and row["k"] is not None)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("json_object('a' VALUE 1, KEY 'b' VALUE 'x', 'n': CAST(NULL AS INT))",
         '{"a":1,"b":"x","n":null}'),
        ("json_object('a', 1, 'n', CAST(NULL AS INT) ABSENT ON NULL)", '{"a":1}'),
        ("json_object()", "{}"),
        ("jsonb_build_object('o', json_object('z' VALUE 1, 'a' VALUE json_array(1, 'x', NULL)))",
         '{"o":{"z":1,"a":[1,"x"]}}'),
        ("json_array(1, NULL, 'a' NULL ON NULL)", '[1,null,"a"]'),
        ("json_array()", "[]"),
        ("json_string('a') || to_jsonb(array(1, 2))", '"a"[1,2]'),
        (f"json_query({TEXT}, '$.b')", '{"c":[1,"z"]}'),
        (f"json_query({TEXT}, '$.d')", None),
        (f"json_query({TEXT}, '$.d' WITH UNCONDITIONAL ARRAY WRAPPER)", '["x y"]'),
        (f"json_value({TEXT}, '$.b.c[0]' RETURNING INT NULL ON EMPTY NULL ON ERROR) + 1", 2),
        (f"json_value({TEXT}, '$.e' DEFAULT 'none' ON EMPTY)", "none"),
        (f"json_value({TEXT}, '$.a' DEFAULT 'none' ON EMPTY)", None),
        (f"{TEXT}::jsonb -> 'b' -> 'c'", '[1,"z"]'),
        (f"{TEXT} -> 'b' -> 'c' ->> 1", "z"),
        (f"{TEXT} -> 'd'", '"x y"'),
        (f"{TEXT} #> '{{b,c,1}}'", '"z"'),
        (f"{TEXT} #>> '{{b,c,1}}'", "z"),
        ('''\'{"b": 1, "a":2}\'::jsonb = \'{"a":2, "b":1}\'::jsonb''', True),
        (f"jsonb_typeof({TEXT}::json -> 'i') || jsonb_typeof('1') || jsonb_typeof('null')",
         "arraynumbernull"),
        (f"(SELECT max(jsonb_array_length(j -> 'i' -> 0 -> 'm')) FROM (SELECT '{NEST}' AS j))", 2),
        (f"{TEXT} IS JSON AND {TEXT} IS JSON OBJECT AND NOT k IS JSON AND '1' IS JSON SCALAR",
         True),
        (f"jsonb_array_elements({TEXT}::jsonb -> 'i')", ['{"n":1}', '{"n":2}']),
        (f"jsonb_object_keys({TEXT})", ["a", "b", "d", "i"]),
    ],
)  # fmt: skip
def test_values(expression: str, expected: Any) -> None:
    assert value(expression) == expected


def by_id(rows: list[dict[str, Any]]) -> list[Any]:
    return [row["v"] for row in sorted(rows, key=lambda row: -row["id"])]


def test_lists_and_objects_of_rows() -> None:
    p = [row for row in LEFT if row["k"] == "p"]
    listed, some, known, none, last, few = in_the_end(
        dl.sql(
            "SELECT jsonb_agg(v ORDER BY id DESC), "
            "jsonb_agg(v ORDER BY id DESC) FILTER (WHERE id > 20), "
            "json_arrayagg(v) FILTER (WHERE v = 4), jsonb_agg(v) FILTER (WHERE v > 9), "
            "jsonb_object_agg(v, id ORDER BY id) FILTER (WHERE v IS NOT NULL), "
            "json_objectagg(KEY v VALUE json_object('i' VALUE id)) FILTER (WHERE id = "
            f"{p[0]['id']}) FROM e WHERE k = 'p'",
            e=E,
        )
    )[0]
    assert json.loads(listed) == by_id(p)
    assert json.loads(some) == by_id([row for row in p if row["id"] > 20])
    assert json.loads(known) == [4 for row in p if row["v"] == 4]
    assert none is None
    assert json.loads(last) == {str(row["v"]): row["id"] for row in p if row["v"] is not None}
    assert json.loads(few) == {str(p[0]["v"]): {"i": p[0]["id"]}}


@pytest.mark.parametrize("elements", ["AS i", "i", "AS i (value)"])
def test_items_as_rows(elements: str) -> None:
    item = "value" if "(" in elements else "i"
    query = (
        f"SELECT id, {item} ->> 'n' AS n FROM (SELECT id, {TEXT} AS j FROM e) AS e, "
        f"jsonb_array_elements(j -> 'i') {elements}"
    )
    ids = [row["id"] for row in LEFT]
    assert in_the_end(dl.sql(query, e=E)) == sorted(
        ((each, n) for each in ids for n in "12"), key=repr
    )


def test_a_batch_without_items() -> None:
    rows = [dl.Insert(1, dl.INFINITY, dl.Row(id=1, k="[]", v=1))]
    query = dl.sql("SELECT i.value FROM e, jsonb_array_elements(k) AS i", e=E)
    assert query.run(e=rows).history().num_rows == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT json_object(k VALUE x) FROM t", "a key of such an object is a constant text"),
        ("SELECT json_object('a', 1, 'b') FROM t", "an object of JSON has a value for every key"),
        ("SELECT json_value(k, '$' DEFAULT 1 ON ERROR) FROM t", "JSON_VALUE takes DEFAULT … ON EM"),
        ("SELECT jsonb_agg(x) OVER (ORDER BY y) FROM t", "jsonb_agg has no OVER (…)"),
        ("SELECT k #> x FROM t", "a path after #> is a constant text"),
        ("SELECT k IS JSON WITH UNIQUE KEYS FROM t", "IS JSON may be followed by VALUE, OBJECT"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, said: str) -> None:
    assert said in pointed_at(text)
