"""How operators hear that time has passed, time by time: Figures 1 to 6 and 11 of the paper about
sliding windows, in the engine.

At every time the tuples of that time are let in, then the time itself. The figures are not part of
the paper's text that we have; where it does not name a tuple, one is chosen that fits what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch, from_changes
from driftline.engine.core.graph import Step
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import Event, Insert
from driftline.model.history import History, canonical_history
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.choices import Expiry, Scheduler

WINDOW = 5
ON_TIME: tuple[Expiry, ...] = ("nta", "time-message", "piggyback")

Arrivals = Mapping[int, Mapping[str, list[dict[str, Any]]]]
"""By time and stream, the tuples that arrive."""


class Pipeline:
    """A query that runs: what it has put out, and its operators."""

    def __init__(
        self, query: dl.Query, expiry: Expiry, arrivals: Arrivals, scheduler: Scheduler = "drain"
    ) -> None:
        self.out: list[Event] = []
        self.graph = compile_plan(query.plan, self._emitted, scheduler=scheduler, expiry=expiry)
        self.sources, self.arrivals = query.plan.sources(), arrivals

    def _emitted(self, batch: Batch) -> None:
        self.out += events_of(batch)

    def admit(self, time: int) -> None:
        """Let in what arrives at a time, and then the time."""
        for name, rows in self.arrivals.get(time, {}).items():
            events = [Insert(time, INFINITY, Row(row)) for row in rows]
            self.graph.admit(name, batch_of(events, self.sources[name].schema.arrow))
        self.graph.advance(time)

    def at(self, time: int) -> None:
        self.admit(time)
        self.graph.drain()

    def step(self, name: str) -> Step:
        """The last operator of a name."""
        return next(each for each in reversed(self.graph.steps) if each.name.endswith(name))

    def answer(self) -> History:
        return canonical_history(self.out)

    def value(self, time: int) -> object:
        """The single value of the answer at a time; None where there is no row."""
        return next((next(iter(row.values())) for row in self.answer().snapshot(time)), None)

    def values(self, times: range) -> list[object]:
        """What the answer is at each time, when this time has come."""
        found = []
        for time in times:
            self.at(time)
            found.append(self.value(time))
        return found


SALES = dl.stream("sales", {"item": "INT"})
FAVOURITES = dl.stream("favourites", {"item": "INT"})
Q1 = (
    SALES.window(range=WINDOW)
    .alias("s")
    .join(FAVOURITES.alias("f"), "s.item = f.item")
    .agg("count(*) AS n")
)


def sold(items: Mapping[int, int]) -> Arrivals:
    """One item at each time; the favourite items 4 and 5 are known before."""
    favourites = [{"item": 4}, {"item": 5}]
    return {
        -1: {"favourites": favourites},
        **{time: {"sales": [{"item": item}]} for time, item in items.items()},
    }


FIGURE_1 = sold({0: 4, 1: 5, 2: 5, 4: 4, 5: 2, 6: 3})


def test_an_input_triggered_count_of_favourite_items_is_late_figure_1() -> None:
    # 2 at T5 and 3 at T6 do not pass the join: COUNT hears of nothing, and stays at 4.
    count = Pipeline(Q1, "ita", FIGURE_1)
    count.at(-1)
    assert count.values(range(10)) == [1, 2, 3, 3, 4, 4, 4, 4, 4, 4]
    assert {T: count.value(T) for T in (5, 6)} == {5: 4, 6: 4}


def test_an_input_triggered_count_is_right_again_when_a_favourite_comes_figure_1() -> None:
    count = Pipeline(Q1, "ita", sold({0: 4, 1: 5, 2: 5, 4: 4, 5: 2, 6: 3, 7: 5}))
    count.at(-1)
    assert count.values(range(8)) == [1, 2, 3, 3, 4, 4, 4, 2]


@pytest.mark.parametrize("expiry", ON_TIME)
def test_the_count_of_favourite_items_falls_on_time_figure_2(expiry: Expiry) -> None:
    count = Pipeline(Q1, expiry, FIGURE_1)
    count.at(-1)
    assert count.values(range(10)) == [1, 2, 3, 3, 4, 3, 2, 1, 1, None]


def test_a_negative_tuple_joins_as_its_positive_one_did_figure_2() -> None:
    # At T5 the tuple 4 of T0 comes again as 4⁻, joins with the favourite 4, and COUNT subtracts it.
    count = Pipeline(Q1, "nta", FIGURE_1)
    for time in range(-1, 5):
        count.at(time)
    joined = count.step("inner join").operator.counters
    assert (joined.inserts_out, joined.retracts_out) == (4, 0)
    count.at(5)
    assert (joined.inserts_out, joined.retracts_out) == (4, 1)
    assert count.value(5) == 3


@pytest.mark.parametrize("expiry", ON_TIME)
def test_intersection_replaces_a_tuple_that_expires_figure_3(expiry: Expiry) -> None:
    # "1" arrives twice on each side. At T6 the first of S expires, and 5 arrives there: O goes on
    # to have a "1", another copy in the place of the first.
    s, r = (dl.stream(name, {"p": "INT"}) for name in "sr")
    query = s.window(range=WINDOW).intersect(r.window(range=WINDOW), all=True)
    one = [{"p": 1}]
    arrivals = {0: {"r": one}, 1: {"s": one}, 3: {"s": one}, 4: {"r": one}, 6: {"s": [{"p": 5}]}}
    both = Pipeline(query, expiry, arrivals)
    found = []
    for time in range(9):
        both.at(time)
        found.append(both.answer().snapshot(time).total())
    assert found == [0, 1, 1, 1, 2, 1, 1, 1, 0]


S1, S2 = (
    dl.stream(name, {"item": "INT", "price": "INT", "store": "INT"}).window(range=WINDOW)
    for name in ("s1", "s2")
)
Q2 = S1.alias("a").join(S2.alias("b"), "a.store = b.store").agg("max(b.price) AS price")


def at_store(store: int, price: int = 0) -> list[dict[str, Any]]:
    return [{"item": 1, "price": price, "store": store}]


FIGURE_4: Arrivals = {
    1: {"s1": at_store(6)},
    2: {"s2": at_store(6, 12)},
    3: {"s2": at_store(6, 30)},
    4: {"s2": at_store(6, 20)},
}


@pytest.mark.parametrize("expiry", ON_TIME)
def test_max_over_a_join_time_by_time_figure_4(expiry: Expiry) -> None:
    price = Pipeline(Q2, expiry, FIGURE_4)
    assert price.values(range(1, 8)) == [None, 12, 30, 30, 30, None, None]


def test_three_negative_tuples_expire_what_one_join_message_does_figure_4() -> None:
    # The tuple 6 of S1 ends at T6, and with it its three results. MAX gets 6⁻, 6⁻, 6⁻ in Figure 4b
    # and a single join-message in 4c; what ends at T7, T8 and T9 on S2 sends no other.
    by_tuples = Pipeline(Q2, "nta", FIGURE_4)
    by_message = Pipeline(Q2, "time-message", FIGURE_4)
    for time in range(1, 7):
        by_tuples.at(time)
    join = by_tuples.step("inner join").operator.counters
    assert (join.inserts_out, join.retracts_out) == (3, 3)
    for time in range(1, 10):
        by_message.at(time)
    join, most = (by_message.step(name).operator.counters for name in ("inner join", "group by"))
    assert (join.inserts_out, join.retracts_out, most.marks_in) == (3, 0, 1)


def test_a_message_is_sent_for_the_tuple_that_expires_first_figure_5() -> None:
    # tᵢ of S1 arrives at T1 and tⱼ of S2 at T3: their result ends with tᵢ at T6 (its reference
    # count is one), and no message is sent when tⱼ expires at T8 (its count is zero).
    price = Pipeline(Q2, "time-message", {1: {"s1": at_store(7)}, 3: {"s2": at_store(7, 9)}})
    most = price.step("group by").operator.counters
    messages = []
    for time in range(1, 10):
        before = most.marks_in
        price.at(time)
        messages.append(most.marks_in - before)
    assert messages == [0, 0, 0, 0, 0, 1, 0, 0, 0]


def test_a_result_that_is_taken_back_sends_no_message_figure_5() -> None:
    price = Pipeline(Q2, "time-message", {1: {"s1": at_store(7)}, 3: {"s2": at_store(7, 9)}})
    for time in range(1, 5):
        price.at(time)
    row = pa.RecordBatch.from_pylist(at_store(7, 9), schema=price.sources["s2"].schema.arrow)
    at, end = (pa.array([time]).to_numpy() for time in (3, INFINITY))
    price.graph.push("s2", from_changes(pa.array([1], pa.int8()).to_numpy(), at, end, at, row))
    for time in range(5, 10):
        price.at(time)
    assert price.step("group by").operator.counters.marks_in == 0
    assert price.value(4) is None


def test_a_positive_tuple_takes_the_message_along_figure_6() -> None:
    # The sales of T5 and T6 expire at T10 and T11, when another favourite is sold. JOIN has put out
    # both before COUNT is scheduled: in its queue lies one item, and COUNT gives one new answer.
    items = sold({1: 4, 2: 5, 3: 5, 5: 4, 6: 5, 10: 4, 11: 5})
    count = Pipeline(Q1, "piggyback", items, "round-robin")
    aggregate = count.step("group by")
    waiting: dict[int, list[tuple[bool, int]]] = {}
    found = []
    for time in range(-1, 13):
        count.admit(time)
        count.graph.begin_turn()
        below = [step for step in count.graph.steps if step is not aggregate]
        while any(step.queue for step in below):
            for step in below:
                if (taken := step.queue.take()) is not None:
                    count.graph.work_on(step, *taken)
        batches = [item for _, item in aggregate.queue.items if isinstance(item, Batch)]
        waiting[time] = [(item.is_only_now, item.now) for item in batches]
        count.graph.drain()
        found.append(count.value(time))
    assert found[1:] == [None, 1, 2, 3, 3, 4, 4, 3, 2, 2, 2, 2, 2]
    assert (waiting[7], waiting[8]) == ([(True, 7)], [(True, 8)])
    assert (waiting[10], waiting[11]) == ([(False, 10)], [(False, 11)])


def test_a_global_clock_inside_the_plan_would_be_wrong_figure_11() -> None:
    # 7 arrives at T4, but lies in a queue until T7. At T5 5 expires. A SUM that went by a clock of
    # its own would say 8 then, which is never right; the now-mark T5 lies in the queue behind 7.
    stream = dl.stream("s", {"p": "INT"})
    query = stream.window(range=WINDOW).where("p > 0").agg("sum(p) AS total")
    arrivals: Arrivals = {0: {"s": [{"p": 5}]}, 2: {"s": [{"p": 8}]}, 4: {"s": [{"p": 7}]}}
    summed = Pipeline(query, "time-message", arrivals, "round-robin")
    aggregate, filtered = summed.step("group by"), summed.step("select")
    clocked = Pipeline(query, "time-message", arrivals, "round-robin")
    for time in range(4):
        summed.at(time)
        clocked.at(time)
    for time in range(4, 7):
        for each in (summed, clocked):
            each.admit(time)
        for step in summed.graph.steps:
            while step is not filtered and (taken := step.queue.take()) is not None:
                summed.graph.work_on(step, *taken)
        assert summed.value(time) == 13
    wrong = clocked.step("group by").operator.advance(5)
    assert [*wrong.payload.to_pylist()[-1].values()] == [8]
    summed.at(7)
    assert aggregate.operator.counters.marks_in == 2
    assert [summed.value(time) for time in range(8)] == [5, 5, 13, 13, 20, 15, 15, 7]
