from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.readers.fitting import typed
from driftline.plan.nodes import Source


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ({"y": "b", "x": 1}, "STRUCT<x: INT, y: STRING>", {"x": 1, "y": "b"}),
        ({"Y": "b", "z": 5}, "STRUCT<x: INT, y: STRING>", {"x": None, "y": "b"}),
        (
            [{"b": [{"d": 1, "c": 2}], "a": 3}, None],
            "ARRAY<STRUCT<a: INT, b: ARRAY<STRUCT<c: INT, d: INT>>>>",
            [{"a": 3, "b": [{"c": 2, "d": 1}]}, None],
        ),
        ({"n": {"q": 1, "p": 2}}, "STRUCT<n: STRUCT<p: INT, q: INT>>", {"n": {"p": 2, "q": 1}}),
    ],
)
def test_fields_are_found_by_their_names(value: Any, kind: str, expected: Any) -> None:
    plan = dl.stream("s", {"v": kind}).plan
    assert isinstance(plan, Source)
    table = pa.table({"v": pa.chunked_array([[None, value], [value]])})
    assert typed(plan, table)[0].column("v").to_pylist() == [None, expected, expected]
    assert typed(plan, table.slice(1))[0].column("v").to_pylist() == [expected, expected]


def test_structs_of_an_event_log_go_by_name(tmp_path: Any) -> None:
    log = tmp_path / "s.jsonl"
    log.write_text(
        '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"v":{"b":"x","a":"y","c":1}}}\n'
    )
    stream = dl.stream("s", {"v": "STRUCT<a: STRING, b: STRING>"})
    assert stream.select("v.a AS a", "v.b AS b").run(s=log).history().to_pylist() == [
        {"vs": 1, "ve": None, "a": "y", "b": "x"}
    ]
