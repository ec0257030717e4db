from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.tables import history_table
from driftline.model.event import Event
from driftline.model.history import canonical_history
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.spark import views
from driftline.spark.views import MicroBatch
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of
from tests.build import insert, retract

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
A1, A2, B1 = {"k": "a", "x": 1}, {"k": "a", "x": 2}, {"k": "b", "x": 1}


def micro_batch(*events: Event, timestamps: bool = False, schema: pa.Schema = KX) -> MicroBatch:
    return MicroBatch(batch_of(events, schema), 3, 1500, timestamps)


def test_changes_are_inserts_and_retracts() -> None:
    table = views.changes(micro_batch(insert(2, 5, B1), retract(1, None, 4, A1)))
    assert table.to_pylist() == [
        {"kind": "insert", "vs": 2, "ve": 5, "vn": None, **B1},
        {"kind": "retract", "vs": 1, "ve": None, "vn": 4, **A1},
    ]


def test_current_values_change_by_what_has_no_end() -> None:
    #   A1  1─────────∞  becomes  1───4        the value of a is 1 no more,
    #   A2                            4────∞   but 2
    #   B1      2──5                           never current
    table = views.current(
        micro_batch(
            insert(2, 5, B1), retract(1, None, 4, A1), insert(4, None, A2), insert(4, None, A2)
        )
    )
    assert table.to_pylist() == [{"op": "-", **A1}, {"op": "+", **A2}, {"op": "+", **A2}]


def test_a_row_that_only_starts_at_another_time_is_no_change_of_current_values() -> None:
    assert views.current(micro_batch(retract(1, None, 1, A1), insert(3, None, A1))).num_rows == 0


@given(streams({"k": st.sampled_from("ab"), "x": st.integers(0, 1)}), st.sampled_from([1, 2, 100]))
def test_the_changelog_adds_up_to_the_snapshot_at_the_end(events: list[Event], size: int) -> None:
    rows: Counter[Row] = Counter()
    for start in range(0, len(events), size):
        chunk = as_batched(events[start : start + size])
        for line in views.current(MicroBatch(batch_of(chunk, KX), 0, 0, False)).to_pylist():
            rows[Row({"k": line["k"], "x": line["x"]})] += 1 if line["op"] == "+" else -1
        so_far = canonical_history(events[: start + size])
        assert rows == so_far.snapshot(INFINITY - 1)


def test_upserts_are_one_for_each_key_that_has_changed() -> None:
    c = {"k": "c", "x": None}
    changed = micro_batch(
        retract(1, None, 4, A1),
        insert(4, None, A2),
        retract(1, None, 4, B1),
        insert(2, None, c),
    )
    found = views.upserts(views.difference_of("current", changed), ["K"])
    assert found.rows.to_pylist() == [A2, c]
    assert found.new.tolist() == [False, True]
    assert found.gone.to_pylist() == [B1]
    assert len(found) == 3


def test_two_current_rows_with_one_key_are_refused() -> None:
    both = micro_batch(insert(1, None, A1), insert(2, None, A2)).batch
    with pytest.raises(PlanError, match=r"two current rows have the key k = 'a'"):
        views.upserts(views.current_difference(both), ["k"])
    assert len(views.upserts(views.current_difference(both), ["k", "x"])) == 2
    with pytest.raises(PlanError, match=r"the key column z is not in the result, which has k, x"):
        views.upserts(views.current_difference(both), ["z"])
    with pytest.raises(PlanError, match=r"needs the names of its key columns"):
        views.upserts(views.current_difference(both), [])
    with pytest.raises(PlanError, match=r"keys is a list of names, such as \['key'\], not a text"):
        views.upserts(views.current_difference(both), "key")


@given(
    streams({"k": st.sampled_from(["a", "b", None]), "x": st.integers(0, 2)}),
    st.sampled_from([1, 2, 100]),
    st.sampled_from(["ordered", "eager"]),
)
def test_upserts_keep_a_table_that_is_the_snapshot_at_the_end(
    events: list[Event], size: int, emit: str
) -> None:
    s = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
    query = s.group_by("k").agg("sum(x) AS total", "count(*) AS n")
    table: dict[str | None, dict[str, object]] = {}
    said: list[Batch] = []
    for step in query.changes(s=events, batch=size, emit=emit):  # type: ignore[arg-type]
        found = views.upserts(views.current_difference(step.batch), ["k"])
        for row, new in zip(found.rows.to_pylist(), found.new.tolist(), strict=True):
            assert new == (row["k"] not in table)
            table[row["k"]] = row
        for row in found.gone.to_pylist():
            del table[row["k"]]
        said.append(step.batch)
        endless = history_table(said, query.schema.arrow)
        rows = [line for line in endless.to_pylist() if line.pop("ve") is None]
        for line in rows:
            line.pop("vs")
        assert sorted(table.values(), key=str) == sorted(rows, key=str)


def test_history_says_when_and_in_which_micro_batch() -> None:
    table = views.history(micro_batch(retract(1_000_000, None, 2_000_000, A1), timestamps=True))
    assert table.schema.field("vs").type == pa.timestamp("us", "UTC")
    assert [str(value) for value in table.column("system_time").to_pylist()] == [
        "1970-01-01 00:00:01.500000+00:00"
    ] * 2
    assert table.column("batch").to_pylist() == [3, 3]
    assert sorted(
        zip(table.column("weight").to_pylist(), table.column("ve").to_pylist(), strict=True)
    )[0] == (-1, None)


def test_finals_take_nothing_back() -> None:
    assert views.finals(micro_batch(insert(1, 4, A1))).to_pylist() == [{"vs": 1, "ve": 4, **A1}]
    with pytest.raises(PlanError, match=r"retracts what it has emitted"):
        views.finals(micro_batch(retract(1, None, 4, A1)))


@pytest.mark.parametrize(
    ("view", "taken"), [("changes", "vn"), ("current", "op"), ("history", "Batch")]
)
def test_a_column_that_a_view_has_is_refused(view: str, taken: str) -> None:
    one = micro_batch(insert(1, 2, {taken: 1}), schema=pa.schema([(taken, pa.int64())]))
    with pytest.raises(PlanError, match=f"has a column {taken}, as the view has: rename it"):
        views.view_of(view)(one)


def test_an_unknown_view_is_refused() -> None:
    with pytest.raises(PlanError, match=r"there is no view 'x' of a result; there are changes, "):
        views.view_of("x")
