"""Marked and held outputs of whole runs: at every mark, the answer for the prefix that it names.

The answer for a prefix is computed afresh: a drained run over so many events of each input. (How
far `perfect` and `ordered` have come may depend on the batches: an insert and its retraction in one
of them can leave nothing behind. So these are compared event by event.)
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch, empty
from driftline.engine.outputs.prefix import Collector
from driftline.model.event import Event, Insert
from driftline.model.prefix import Prefix
from driftline.model.row import Row
from driftline.model.time import INFINITY
from tests.engine.test_plans import ARRIVALS, ONE, PLANS_WITH_CONSTANTS, TWO, Both, S, T

SCHEDULERS = ("drain", "round-robin", "threads")
WAYS: list[dict[str, Any]] = [
    {"scheduler": "drain"},
    *({"scheduler": "round-robin", "tokens": tokens} for tokens in (1, 2, 5, "adaptive")),
    {"scheduler": "threads", "tokens": 3},
    {"scheduler": "round-robin", "heeding": "naive"},
    {"scheduler": "round-robin", "heeding": "multiset"},
    {"scheduler": "threads", "heeding": "multiset"},
]
TRANSFERS = {"payer": "STRING", "payee": "STRING", "amount": "BIGINT"}


def afresh(query: dl.Query, inputs: dict[str, list[Any]], prefix: Prefix, **options: Any) -> Any:
    """The history of the answer for a prefix."""
    some = {name: inputs[name][:count] for name, count in prefix.events.items()}
    result = query.run(some, keep_open=not prefix.closed, **options)
    return dl.Result(query.schema, True, result.updates).history()


def held_to_its_marks(
    query: dl.Query, inputs: dict[str, list[Any]], free: dict[str, Any], **options: Any
) -> dl.Result:
    """Run with marks, and compare the answer so far with the prefix's at every one."""
    so_far = dl.Result(query.schema, snapshots_only=True)
    last = None
    for update in query.changes(inputs, outputs="marked", **free, **options):
        so_far.add(update)
        if (last := update.prefix) is not None:
            whole = dl.Result(query.schema, True, so_far.updates)
            truth = afresh(query, inputs, last, **options)
            assert _rows(whole.history()) == _rows(truth)
    assert last is not None
    assert last.events == {name: len(inputs[name]) for name in last.events}
    assert last.closed
    return so_far


def _rows(history: pa.Table) -> list[str]:
    return sorted(map(repr, history.to_pylist()))


@pytest.mark.parametrize("how", ["multiset", "naive"])
@pytest.mark.parametrize("emit", ["perfect", "ordered"])
def test_the_end_of_one_input_is_no_mark_while_that_of_another_is_on_its_way(
    how: str, emit: str
) -> None:
    # t ends first, so that the join emits what has no partner before the count is final.
    counts = TWO["anti join"](ONE["count"](Both(S, lambda s, t: s)), Both(T, lambda s, t: t))
    rows = [Insert(0, 1, Row(k="a", x=None)), Insert(0, INFINITY, Row(k="a", x=None))]
    free = {"scheduler": "round-robin", "heeding": how}
    held_to_its_marks(counts.query, {"s": rows, "t": []}, free, emit=emit, batch=1)


@settings(max_examples=40)
@given(
    PLANS_WITH_CONSTANTS,
    ARRIVALS,
    st.sampled_from(WAYS),
    st.sampled_from([("perfect", 1), ("ordered", 1), ("eager", 1), ("eager", 3)]),
)
def test_every_mark_of_a_random_plan_is_true(
    plan: Both,
    arrivals: list[tuple[int, Event]],
    free: dict[str, Any],
    how: tuple[str, int],
) -> None:
    emit, batch = how
    inputs: dict[str, list[Any]] = {
        name: [event for which, event in arrivals if which == port]
        for port, name in enumerate("st")
        if name in plan.query.plan.sources()
    }
    held_to_its_marks(plan.query, inputs, free, emit=emit, batch=batch)


@pytest.mark.parametrize("emit", ["perfect", "ordered"])
@pytest.mark.parametrize("how", ["union", "join", "left join"])
def test_the_cti_of_another_stream_is_a_reason(how: str, emit: str) -> None:
    """What has ended comes out when both streams have come so far: not for s alone."""
    s, t = S.alias("s"), T.alias("t")
    both = {
        "union": S.union(T),
        "join": s.join(t, "s.k = t.k").select("s.k", "t.x"),
        "left join": s.join(t, "s.k = t.k", how="left").select("s.k", "t.x"),
    }[how]
    row = dl.Row({"k": "a", "x": 1})
    inputs: dict[str, list[Any]] = {
        "s": [dl.Insert(0, 5, row), dl.Cti(7), dl.Cti(9)],
        "t": [dl.Insert(0, 5, row), dl.Cti(13)],
    }
    for scheduler in ("round-robin", "threads"):
        free = {"scheduler": scheduler, "heeding": "multiset"}
        counted = both.group_by("k").agg("count(*) AS x")
        held_to_its_marks(counted, inputs, free, emit=emit, batch=1)
        held_to_its_marks(both, inputs, free, emit=emit, batch=1)


def balances(how: str) -> dl.Query:
    """Credits and debits as views, the balance as their join, the total as its sum."""
    transfers = dl.stream("transfers", TRANSFERS)
    credits = transfers.group_by("payee AS account").agg("sum(amount) AS got").alias("c")
    debits = transfers.group_by("payer AS account").agg("sum(amount) AS gave").alias("d")
    both = credits.join(debits, "c.account = d.account", how=how)
    return both.agg("sum(coalesce(got, 0) - coalesce(gave, 0)) AS total")


def moved(count: int) -> list[dl.Insert]:
    accounts = "abcd"
    return [
        dl.Insert(
            number,
            dl.INFINITY,
            dl.Row(
                {
                    "payer": accounts[number % 4],
                    "payee": accounts[(number * 3 + 1) % 4],
                    "amount": number,
                }
            ),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_the_total_of_all_balances_is_zero_at_every_mark(scheduler: Any) -> None:
    result = balances("full").run(
        transfers=moved(40), scheduler=scheduler, outputs="held", tokens=3, batch=2, emit="eager"
    )
    assert len([update for update in result.updates if update.prefix]) > 10
    for number, update in enumerate(result.updates):
        if update.prefix is not None and update.prefix.events["transfers"]:
            emitted = dl.Result(result.schema, True, result.updates[: number + 1])
            assert set(emitted.history().column("total").to_pylist()) == {0}


def test_of_marks_with_nothing_between_them_the_last_may_do() -> None:
    batch: Batch = empty(pa.schema([("x", pa.int64())]), cti=1)
    for every_mark, marks in ((True, [1, 2, 3]), (False, [2, 3])):
        collector = Collector(["q"], "marked", every_mark=every_mark)
        for count in (1, 2, 3):
            collector.mark("q", Prefix({"s": count}))
            if count > 1:
                collector.sink("q")(batch)
        pieces = collector.take()
        assert [p.prefixes["q"].events["s"] for p in pieces if p.prefixes] == marks
        assert pieces[-1].batches == {"q": [batch]}


def test_held_updates_go_out_with_their_mark() -> None:
    schema = pa.schema([("x", pa.int64())])
    held, marked = Collector(["q"], "held"), Collector(["q"], "marked")
    batch: Batch = empty(schema, cti=1)
    for collector in (held, marked):
        collector.sink("q")(batch)
    assert [piece.batches for piece in held.take()] == [{}]
    assert [piece.batches for piece in marked.take()] == [{"q": [batch]}]
    held.mark("q", Prefix({"s": 1}))
    (piece,) = held.take()
    assert piece.batches == {"q": [batch]}
    assert piece.prefixes == {"q": Prefix({"s": 1})}
