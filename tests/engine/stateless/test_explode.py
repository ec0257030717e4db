from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.stateless.explode import Explode
from driftline.engine.stateless.project import Project
from driftline.model.event import Event
from driftline.model.reference import explode
from driftline.model.row import Row
from driftline.model.time import BEGINNING
from driftline.plan.errors import PlanError
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

LISTS = pa.schema([("k", pa.string()), ("l", pa.list_(pa.int64()))])


def test_every_item_has_the_lifetime_of_its_row() -> None:
    batch = batch_of([insert(1, 5, {"k": "a", "l": (3, None)}), cti(1)], LISTS)
    output = Explode(LISTS, "l").receive(0, batch)
    assert events_of(output) == [
        insert(1, 5, {"k": "a", "$item": 3}),
        insert(1, 5, {"k": "a", "$item": None}),
        cti(1),
    ]
    assert output.high == 1


def test_a_retract_takes_all_items_back() -> None:
    operator = Explode(LISTS, "l")
    row = {"k": "a", "l": (3, 3)}
    operator.receive(0, batch_of([insert(1, 5, row)], LISTS))
    output = operator.receive(0, batch_of([retract(1, 5, 2, row)], LISTS))
    assert events_of(output) == [retract(1, 5, 2, {"k": "a", "$item": 3})] * 2


@pytest.mark.parametrize("nothing", [None, ()])
def test_rows_without_items(nothing: Any) -> None:
    batch = batch_of([insert(1, 5, {"k": "a", "l": nothing})], LISTS)
    output = Explode(LISTS, "l").receive(0, batch)
    assert (len(output), output.high) == (0, BEGINNING)
    outer = Explode(LISTS, "l", outer=True, position=True).receive(0, batch)
    assert events_of(outer) == [insert(1, 5, {"k": "a", "$position": None, "$item": None})]


def test_maps_have_keys_and_values() -> None:
    maps = dl.stream("s", {"m": "MAP<STRING, BIGINT>"}).explode("m", position=True)
    came = [dl.Insert(1, 5, dl.Row(m=(("a", 1), ("b", None)))), dl.Insert(1, 5, dl.Row(m=None))]
    emitted = maps.run(s=came).history().select(["pos", "key", "value"]).to_pylist()
    assert [tuple(row.values()) for row in emitted] == [(0, "a", 1), (1, "b", None)]


def test_what_has_no_items_is_refused() -> None:
    with pytest.raises(TypeError, match="explode takes a list or a map"):
        Explode(KX, "x")


class _Counting(Explode):
    """Explodes the numbers from 0 up to x."""

    def __init__(self, outer: bool) -> None:
        super().__init__(pa.schema([*KX, ("l", pa.list_(pa.int64()))]), "l", outer=outer)
        self.before = Project(pa.schema([*KX, ("l", pa.list_(pa.int64()))]), _with_lists)

    def process(self, port: int, batch: Any) -> Any:
        return super().process(port, self.before.process(port, batch))


def _with_lists(rows: pa.RecordBatch) -> pa.RecordBatch:
    lists = [None if x is None else list(range(x)) for x in rows.column("x").to_pylist()]
    return rows.append_column("l", pa.array(lists, pa.list_(pa.int64())))


@given(
    streams({"k": st.sampled_from(["a", "b"]), "x": st.sampled_from([None, 0, 1, 3])}),
    st.booleans(),
)
def test_it_is_its_reference_after_every_batch(events: list[Event], outer: bool) -> None:
    def items(row: Row) -> list[dict[str, Any]]:
        return [{"$item": item} for item in range(row["x"] or 0)]

    hold(
        lambda: _Counting(outer),
        lambda came: explode(came, items, {"$item": None} if outer else None),
        at_one_port(events),
    )


def test_in_queries() -> None:
    posts = dl.stream("posts", {"id": "INT", "tags": "ARRAY<STRING>"})
    rows = [
        dl.Insert(1, 9, dl.Row(id=1, tags=("x", "y"))),
        dl.Insert(2, 9, dl.Row(id=2, tags=("x",))),
        dl.Retract(1, 9, 4, dl.Row(id=1, tags=("x", "y"))),
    ]
    often = posts.explode("tags", "tag").group_by("tag").agg("count(*) AS n")
    assert often.run(posts=rows, batch=1).history().to_pylist() == [
        {"vs": 1, "ve": 2, "tag": "x", "n": 1},
        {"vs": 1, "ve": 4, "tag": "y", "n": 1},
        {"vs": 2, "ve": 4, "tag": "x", "n": 2},
        {"vs": 4, "ve": 9, "tag": "x", "n": 1},
    ]
    with pytest.raises(PlanError, match="there are 2 names"):
        posts.explode("tags", "a", "b")
    with pytest.raises(PlanError, match="takes an ARRAY or a MAP, and id is a INT"):
        posts.explode("id")
