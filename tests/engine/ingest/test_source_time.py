"""Bounds of sources in a running query: the same promises however input is cut and spread."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.engine.tables import history_table
from driftline.model.columns import StreamColumns
from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.reference import Level
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.nodes import Source
from tests.engine.shards.test_shard import Cluster

COLUMNS = {"id": "STRING", "ts": "BIGINT", "at": "BIGINT"}


def records(*rows: tuple[str, int, int]) -> list[dict[str, object]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


@dataclass
class Told:
    """The ctis that were said, and the records that were too late, by their places."""

    ctis: list[int]
    late: list[int]


def told(rows: list[dict[str, object]], batch: int = 1, **bounds: Any) -> Told:
    stream = dl.stream("s", COLUMNS, time="ts", **bounds)
    ctis, late = [], []
    for output in run(stream.plan, {"s": rows}, Options(batch=batch, keep_open=True)):
        if output.batch.cti != BEGINNING:
            ctis.append(output.batch.cti)
        late += [number for letters in output.dead.values() for number in letters.number.tolist()]
    return Told(ctis, late)


# Two sources. In each case: the bounds, and what is promised after every record.
TWO = records(("a", 100, 0), ("b", 98, 1), ("a", 110, 2), ("b", 108, 3), ("a", 120, 4))


@pytest.mark.parametrize(
    ("bounds", "ctis"),
    [
        # each is waited for, as far as it has been heard of
        ({"source": "id", "disorder": 4}, [96, 104]),
        # the number is known: nothing before both have come
        ({"source": "id", "disorder": 4, "sources": 2}, [94, 104]),
        # clocks are at most 3 apart: who is ahead promises for the other
        ({"source": "id", "disorder": 4, "skew": 3}, [93, 103, 113]),
        ({"source": "id", "disorder": 4, "skew": 3, "sources": 2}, [93, 94, 103, 104, 113]),
        # a record may be 2 ms on its way: the same, 2 ms later (and what comes at that very
        # millisecond may have been emitted before)
        ({"source": "id", "disorder": 4, "skew": 3, "latency": 2, "arrival": "at"}, [93]),
        # without a clock nothing can be said of a latency
        ({"source": "id", "disorder": 4, "skew": 3, "latency": 2}, []),
    ],
)
def test_what_bounds_promise(bounds: dict[str, Any], ctis: list[int]) -> None:
    assert told(TWO, **bounds) == Told(ctis, [])


SILENT_C = [97, 107, 117]
BETWEEN = [("a", "a", 0, 4), ("a", "b", 0, 7)]


@pytest.mark.parametrize(
    ("bounds", "ctis"),
    [
        # a is at most 4 out of order, b at most 7 behind a, and nothing else is known of b
        ({"bounds": BETWEEN}, [93, 103, 113]),
        # by the order of arrival alone: after one more record of b it is not behind a
        ({"bounds": [*BETWEEN, ("a", "b", "1 tuple", 0)]}, [93, 96, 103, 106, 113]),
        # 2 ms after a record of a, b has caught up with it
        ({"bounds": [("a", "a", 0, 4), ("a", "b", 2, 0)], "arrival": "at"}, [100]),
        # the disorder of those that the bounds give none for
        ({"bounds": [("b", "a", 0, 0)], "disorder": 9}, [89, 99]),
        # what follows from two bounds together: c is 1 behind b, which is 2 behind a
        ({"bounds": [("a", "a", 0, 0), ("a", "b", 0, 2), ("b", "c", 0, 1)]}, SILENT_C),
        # c, which is never heard, is not waited for after the timeout
        ({"bounds": [("a", "b", 2, 0), ("c", "c", 0, 0)], "disorder": 0, "timeout": 3,
          "arrival": "at"}, [108]),
        # groups: their sources are at most 3 apart
        ({"groups": "id", "disorder": 1, "skew": 3}, [96, 104]),
        # clocks advance by five ticks in a millisecond, heard or not
        ({"disorder": 4, "rate": 5, "arrival": "at"}, [96, 99, 104]),
    ],
)  # fmt: skip
def test_what_bounds_by_source_promise(bounds: dict[str, Any], ctis: list[int]) -> None:
    assert told(TWO, **{"source": "id", **bounds}) == Told(ctis, [])


def test_a_source_that_the_bounds_do_not_name_holds_nothing_back() -> None:
    rows = records(("a", 100, 0), ("z", 400, 1), ("z", 97, 2), ("a", 101, 3), ("z", 98, 4))
    found = told(rows, source="id", bounds=[("a", "a", 0, 3)])
    # It is in time while it is not before what a has made final, and moves nothing by itself.
    assert found == Told([97, 98], [])
    assert told(rows, source="id", bounds=[("a", "a", 0, 1)]).late == [2, 4]


def test_a_source_that_pauses_alone_is_not_waited_for_after_the_timeout() -> None:
    rows = records(("a", 100, 0), ("b", 99, 1), *(("a", 100 + k, 5 * k) for k in range(1, 6)))
    bounds: dict[str, Any] = {"source": "id", "disorder": 0, "sources": 2, "arrival": "at"}
    assert told(rows, timeout=10, **bounds).ctis[-1] == 104
    assert told(rows, timeout=1000, **bounds).ctis == [99]


def test_when_all_pause_the_timeout_says_that_all_has_come() -> None:
    rows = records(("a", 100, 0), ("b", 50, 1), ("b", 51, 2), ("a", 200, 100))
    bounds: dict[str, Any] = {"source": "id", "sources": 2, "disorder": 8, "arrival": "at"}
    assert told(rows, **bounds, timeout=30).ctis == [42, 101]
    assert told(rows, **bounds).ctis == [42, 43]


def test_what_is_never_there_promises_nothing() -> None:
    rows = records(("a", INFINITY, 0), ("a", 5, 1), ("a", 3, 2))
    assert told(rows, source="id", disorder=4) == Told([1], [])  # set aside when it is read
    events: list[Any] = [dl.Insert(cast("int", row["ts"]), INFINITY, dl.Row(row)) for row in rows]
    assert told(events, source="id", disorder=4) == Told([1], [0])


def test_clocks_from_before_1970_and_beyond_all_years() -> None:
    rows = records(("a", 9, -500), ("a", 5, -499), ("a", 6, -400), ("a", 8, 2**63 - 1))
    found = told(rows, source="id", disorder=4, timeout=50, arrival="at")
    assert found.late == [2, 3]  # all was silent for the timeout


LONG = INFINITY - 1
"""A block that a guess may end, and nothing else."""


def guessed(rows: list[dict[str, object]], **bounds: Any) -> list[int]:
    """How many rows have been let go after each record, by guesses alone."""
    stream = dl.stream("s", COLUMNS, time="ts", **bounds)
    options = Options(block=LONG, batch=1, keep_open=True)
    counts = [len(output.batch) for output in run(stream.plan, {"s": rows}, options)]
    return [sum(counts[: n + 1]) for n in range(len(counts))]


def test_a_timeout_ends_the_waiting_of_guesses_if_there_is_a_clock() -> None:
    rows = records(("a", 100, 0), ("a", 90, 1), ("a", 120, 40))
    assert guessed(rows, timeout=30, arrival="at") == [0, 0, 2]
    assert guessed(rows, timeout=50, arrival="at") == [0, 0, 0]
    assert guessed(rows, timeout=1) == [0, 0, 0]  # the order of arrival has no milliseconds


def test_what_breaks_a_promise_is_a_dead_letter() -> None:
    rows = records(("a", 100, 0), ("b", 98, 1), ("a", 91, 2), ("b", 120, 3), ("a", 99, 4))
    found = told(rows, source="id", disorder=4, sources=2)
    assert found.late == [2]


# Event logs: sources are heard by all that they send, and streams by all that comes.


def log(*events: tuple[int, Event]) -> StreamColumns:
    """Events with their arrival clocks."""
    columns = StreamColumns.from_events(
        "s", [event for _, event in events], schema=dl.stream("s", COLUMNS).plan.schema.arrow
    )
    return replace(columns, at=np.array([at for at, _ in events], np.int64))


def row(name: str, number: int = 0) -> Row:
    return Row(id=name, ts=number, at=number)


def heard(events: StreamColumns, batch: int, **bounds: Any) -> Told:
    stream, said = dl.stream("s", COLUMNS, **bounds), Told([], [])
    for output in run(stream.plan, {"s": events}, Options(batch=batch, keep_open=True)):
        said.ctis.append(output.batch.cti)
        said.late += [at for letters in output.dead.values() for at in letters.number.tolist()]
    return said


@pytest.mark.parametrize("batch", [1, 50])
def test_a_source_that_only_retracts_is_heard(batch: int) -> None:
    lines: list[tuple[int, Event]] = [(0, Insert(0, INFINITY, row("b", n))) for n in range(1, 20)]
    for n in range(1, 20):
        lines.append((30 * n, Insert(30 * n, INFINITY, row("a", n))))
        lines.append((30 * n + 1, Insert(30 * n + 1, INFINITY, row("a", n))))
        lines.append((30 * n + 2, Retract(0, INFINITY, 30 * n - 5, row("b", n))))
    bounds: dict[str, Any] = {"source": "id", "sources": 2, "disorder": 0, "timeout": 50}
    found = heard(log(*lines), batch, **bounds)
    assert found.late == []
    assert max(found.ctis) in (565, 535)  # what came last is judged by what came before
    assert heard(log(*lines), batch, **bounds | {"timeout": 20}).late  # a silence, all the same


def test_an_end_in_the_future_makes_nothing_late() -> None:
    lines: list[tuple[int, Event]] = [
        (0, Insert(0, INFINITY, row("a"))),
        (1, Insert(1, INFINITY, row("b"))),
        (2, Retract(0, INFINITY, 1_000, row("a"))),
        (3, Insert(3, INFINITY, row("a", 1))),
        (4, Insert(4, INFINITY, row("b", 1))),
    ]
    assert heard(log(*lines), 1, source="id", disorder=0, timeout=50).late == []


@pytest.mark.parametrize("what", [Cti(10), ExternalCti(200, 300, 5)])
@pytest.mark.parametrize("source", [{}, {"source": "id"}])
def test_a_stream_that_only_promises_is_not_silent(what: Event, source: dict[str, Any]) -> None:
    first, last = Insert(100, INFINITY, row("a")), Insert(90, INFINITY, row("a", 1))
    bounds: dict[str, Any] = {"disorder": 20, "timeout": 50, **source}
    assert heard(log((0, first), (85, last)), 1, **bounds).late == [1]
    assert heard(log((0, first), (40, what), (85, last)), 1, **bounds).late == []
    # It moves the arrival clock, by which a silence before it is noticed.
    silent = heard(log((0, first), (60, what)), 1, **bounds)
    assert max(silent.ctis) == 101


@pytest.mark.parametrize("batch", [1, 50])
def test_the_disorder_of_a_log_needs_no_source(batch: int) -> None:
    lines: list[tuple[int, Event]] = [
        (0, Insert(100, INFINITY, row("a"))),
        (1, Insert(95, INFINITY, row("b"))),
        (2, Insert(94, INFINITY, row("b", 1))),
        (3, Retract(100, INFINITY, 110, row("a"))),
        (4, Insert(96, INFINITY, row("a", 1))),
    ]
    events = log(*lines)
    for each in (events, replace(events, at=None)):
        found = heard(each, batch, disorder=5)
        assert (found.late, max(found.ctis)) == ([2], 95)


@st.composite
def logs(draw: st.DrawFn) -> StreamColumns:
    clock, events, open_ = 0, [], dict[str, list[int]]()
    for number in range(draw(st.integers(1, 30))):
        clock += draw(st.integers(0, 4))
        time = draw(st.integers(0, 60)) + 3 * number
        name, kind = draw(st.sampled_from("abc")), draw(st.integers(0, 9))
        event: Event = Insert(time, INFINITY, row(name))
        if kind < 4 and open_.get(name):
            vs = open_[name].pop()
            event = Retract(vs, INFINITY, max(vs, time), row(name))
        elif kind == 4:
            event = Cti(time // 2)
        elif kind == 5:
            event = ExternalCti(10 * number, 10 * number + 10, 1)
        else:
            open_.setdefault(name, []).append(time)
        events.append((clock, event))
    return log(*events)


@settings(max_examples=60)
@given(
    events=logs(),
    bounds=st.fixed_dictionaries(
        {"disorder": st.integers(0, 40)},
        optional={
            "source": st.just("id"), "latency": st.integers(0, 5), "timeout": st.integers(1, 12),
        },
    ),
    batch=st.integers(1, 15),
    shards=st.integers(1, 3),
    tasks=st.integers(1, 2),
    move_at=st.integers(0, 3),
)  # fmt: skip
def test_logs_are_judged_the_same_however_they_are_cut_and_spread(
    events: StreamColumns,
    bounds: dict[str, Any],
    batch: int,
    shards: int,
    tasks: int,
    move_at: int,
) -> None:
    plan = dl.stream("s", COLUMNS, **bounds).select("id", "ts").plan
    source = plan.sources()["s"]
    assert isinstance(source, Source)
    options = Options(Level.EAGER, batch=batch, keep_open=True)
    cluster = Cluster(plan, {"s": Reading(plain=False, ordered=True)}, options, shards)
    raw = events_from(source, events)
    final, dead = BEGINNING, 0
    for step, output in enumerate(run(plan, {"s": events}, options)):
        final = max(final, output.batch.cti)
        dead += sum(map(len, output.dead.values()))
        cluster.step({"s": raw.slice(step * batch, (step + 1) * batch)}, tasks)
        if step == move_at:
            cluster.move()
        assert cluster.final == final
    assert cluster.dead == dead == len(heard(events, 1, **bounds).late)


ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 4)),
    min_size=1,
    max_size=40,
).map(
    lambda rows: records(
        *((name, ts + 3 * n, sum(gap for *_, gap in rows[: n + 1])) for n, (name, ts, _) in
          enumerate(rows))
    )
)  # fmt: skip
BOUNDS = st.fixed_dictionaries(
    {"source": st.just("id"), "disorder": st.integers(0, 40)},
    optional={
        "skew": st.integers(0, 30),
        "sources": st.integers(1, 3),
        "latency": st.integers(0, 5),
        "timeout": st.integers(1, 12),
        "arrival": st.just("at"),
    },
)

AFTER = st.sampled_from([0, 3, "2 tuples", "2 + 1 tuple"])
DELTA = st.integers(0, 30) | st.just("later")
NAMES = st.sampled_from("ab")
BY_SOURCE = st.fixed_dictionaries(
    {
        "source": st.just("id"),
        "disorder": st.integers(0, 40),
        "bounds": st.lists(
            st.tuples(NAMES, NAMES, AFTER, DELTA),
            min_size=1,
            max_size=4,
            unique_by=lambda row: row[:3],
        ),
    },
    optional={
        "latency": st.integers(0, 5),
        "timeout": st.integers(1, 12),
        "arrival": st.just("at"),
        "rate": st.sampled_from([1, "1/3"]),
    },
)
"""Bounds that name a and b: c is a stranger."""
OF_GROUPS = [("a", "b", 0, 3), ("b", "a", 2, 9), ("a", "a", 0, 5)]
GROUPED = st.fixed_dictionaries(
    {"source": st.just("ts"), "groups": st.just("id"), "disorder": st.integers(0, 9)},
    optional={
        "skew": st.just(4),
        "timeout": st.integers(1, 12),
        "arrival": st.just("at"),
        "rate": st.sampled_from([1, "1/3"]),
    },
).map(lambda given: given if "skew" in given else {**given, "bounds": OF_GROUPS})
BOUNDS = BOUNDS | BY_SOURCE | GROUPED

GUESSES = {"source": "id", "timeout": 6, "arrival": "at"}


@settings(max_examples=100)
@given(rows=ROWS, bounds=BOUNDS, batch=st.integers(2, 50))
def test_promises_do_not_depend_on_how_input_is_cut(
    rows: list[dict[str, object]], bounds: dict[str, Any], batch: int
) -> None:
    one, other = told(rows, 1, **bounds), told(rows, batch, **bounds)
    assert one.late == other.late
    assert one.ctis[-1:] == other.ctis[-1:]


@settings(max_examples=60)
@given(rows=st.tuples(ROWS, ROWS), bounds=st.tuples(BOUNDS, BOUNDS), batch=st.integers(1, 20))
def test_what_comes_on_one_stream_makes_nothing_late_on_another(
    rows: tuple[list[dict[str, object]], ...], bounds: tuple[dict[str, Any], ...], batch: int
) -> None:
    """One may be farther on in time at the same row, or have no clock at all."""
    one, other = (dl.stream(name, COLUMNS, time="ts", **bound)
                  for name, bound in zip("st", bounds, strict=True))  # fmt: skip
    late: dict[str, list[int]] = {"s": [], "t": []}
    inputs = dict(zip("st", rows, strict=True))
    for output in run(one.union(other).plan, inputs, Options(batch=batch, keep_open=True)):
        for name, letters in output.dead.items():
            late[name] += letters.number.tolist()
    assert late["s"] == told(rows[0], **bounds[0]).late
    assert late["t"] == told(rows[1], **bounds[1]).late


def test_the_arrival_column_is_the_clock_of_a_log_too(tmp_path: Path) -> None:
    rows = records(("a", 10, 0), ("b", 5, 1), ("a", 11, 60), ("b", 6, 61))
    bounds: dict[str, Any] = {"source": "id", "disorder": 5, "timeout": 50, "arrival": "at"}
    events = [
        *(
            {"stream": "s", "kind": "insert", "vs": row["ts"], "ve": None, "row": row}
            for row in rows
        ),
        {"stream": "s", "kind": "cti", "t": 3},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    of_log = dl.stream("s", COLUMNS, **bounds).run({"s": path}, batch=1)
    assert of_log.dead_letters == {"s": 1}
    assert len(told(rows, **bounds).late) == 1


def test_logs_share_a_clock_but_none_goes_beyond_its_own_next_event(tmp_path: Path) -> None:
    def written(name: str, *events: tuple[int, int]) -> Path:
        insert = {"stream": name, "kind": "insert", "ve": None, "row": {"id": "x"}}
        lines = [json.dumps(insert | {"vs": vs, "at": at}) for vs, at in events]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(lines))
        return path

    bounds: dict[str, Any] = {"source": "id", "disorder": 5, "timeout": 10}
    slow, fast = (dl.stream(name, {"id": "STRING"}, **bounds) for name in ("slow", "fast"))
    inputs = {
        "slow": written("slow", (100, 0), (101, 100), (102, 200), (103, 300)),
        "fast": written("fast", (100, 0), (98, 1), (99, 2)),
    }
    ctis, dead = [], []
    for output in run(slow.union(fast).plan, inputs, Options(batch=1, keep_open=True)):
        ctis.append(output.batch.cti)
        dead += list(output.dead.values())
    assert not dead
    assert max(ctis) == 101  # nothing more of fast, for the timeout: all of it has come


@settings(max_examples=60)
@given(
    rows=ROWS,
    bounds=BOUNDS | st.sampled_from([{"source": "id"}, {"timeout": 6}, GUESSES]),
    batch=st.integers(1, 15),
    shards=st.integers(1, 3),
    tasks=st.integers(1, 2),
    block=st.sampled_from([0, 5, LONG, INFINITY]),
    move_at=st.integers(0, 3),
)
def test_shards_agree_with_one_process(
    rows: list[dict[str, object]],
    bounds: dict[str, Any],
    batch: int,
    shards: int,
    tasks: int,
    block: int,
    move_at: int,
) -> None:
    stream = dl.stream("s", COLUMNS, time="ts", **bounds)
    plan = stream.window(range=7).group_by("id").agg("count(*) AS n").plan
    source = plan.sources()["s"]
    assert isinstance(source, Source)
    options = Options(Level.EAGER, block, batch=batch, keep_open=True)
    cluster = Cluster(plan, {"s": Reading(plain=True, ordered=True)}, options, shards)
    events = events_from(source, rows)
    here, there, dead = [], [], 0
    for step, output in enumerate(run(plan, {"s": rows}, options)):
        here.append(output.batch)
        dead += sum(map(len, output.dead.values()))
        there += cluster.step({"s": events.slice(step * batch, (step + 1) * batch)}, tasks)
        if step == move_at:
            cluster.move()
    schema = plan.schema.arrow
    one, other = (history_table(each, schema, loose=True) for each in (here, there))
    assert sorted(map(repr, one.to_pylist())) == sorted(map(repr, other.to_pylist()))
    assert cluster.dead == dead


def test_a_guess_ends_the_waiting_and_what_is_later_still_counts() -> None:
    rows = records(*(("a", 10 * n, n) for n in range(300)), ("a", 5, 300))
    query = dl.stream("s", COLUMNS, time="ts").window(range=10).group_by("id").agg("count(*) AS n")
    sizes = [len(said.batch) for said in query.changes({"s": rows}, batch=50, block=LONG)]
    assert any(sizes[:-1]), "something is said before the end"
    waiting = dl.stream("s", COLUMNS, time="ts", heartbeats="none").window(range=10)
    silent = waiting.group_by("id").agg("count(*) AS n").changes({"s": rows}, batch=50, block=LONG)
    assert not any([len(said.batch) for said in silent][:-1])
    history = query.run({"s": rows}, batch=50, block=LONG).history()
    assert history["n"].to_pylist() == [1, 2, 1]


def test_no_guess_ends_the_waiting_for_what_is_final(caplog: pytest.LogCaptureFixture) -> None:
    rows = records(*(("a", 10 * n, n) for n in range(300)), ("a", 5, 300))
    stream = dl.stream("s", COLUMNS, time="ts", arrival="at", timeout=50)
    plan = stream.window(range=10).group_by("id").agg("count(*) AS n").plan

    def sizes(remember: int) -> list[int]:
        options = Options(Level.ORDERED, INFINITY, remember, batch=50)
        return [len(said.batch) for said in run(plan, {"s": rows}, options)]

    assert not any(sizes(INFINITY)[:-1])
    assert [record.getMessage() for record in caplog.records] == [
        "driftline: block = inf waits for what is final, which nothing of s is before its end: "
        "declare disorder, or give a finite block, whose waiting a guess may end"
    ]
    assert any(sizes(40)[:-1]), "what is beyond remember is final"
    assert len(caplog.records) == 1


@settings(max_examples=40)
@given(
    rows=ROWS, bounds=BOUNDS, batch=st.integers(1, 15), shards=st.integers(1, 3),
    tasks=st.integers(1, 2), move_at=st.integers(0, 3),
)  # fmt: skip
def test_what_comes_at_one_moment_is_judged_by_what_came_before(
    rows: list[dict[str, object]],
    bounds: dict[str, Any],
    batch: int,
    shards: int,
    tasks: int,
    move_at: int,
) -> None:
    """Records of a DataFrame: however many tasks read them and shards hold them."""
    stream = dl.stream("s", COLUMNS, time="ts", **bounds)
    source = stream.plan.sources()["s"]
    assert isinstance(source, Source)
    events = events_from(source, rows)
    seen = []
    for count, readers in ((1, 1), (shards, tasks)):
        cluster = Cluster(
            stream.select("id", "ts").plan,
            {"s": Reading(plain=True, ordered=False)},
            Options(Level.EAGER, batch=batch, keep_open=True),
            count,
        )
        said = []
        for step, first in enumerate(range(0, len(events), batch)):
            part = cluster.step({"s": events.slice(first, first + batch)}, readers)
            said.append(sorted(repr(row) for each in part for row in each.payload.to_pylist()))
            if step == move_at:
                cluster.move()
        seen.append((said, cluster.dead))
    assert seen[0] == seen[1]
