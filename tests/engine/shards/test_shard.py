"""Shards against the local runner: however rows are spread, the answer is the same.

The shuffle is played by a list: tasks read parts of the sources, messages are dealt out, level by
level. At the level `eager` the answer after every micro-batch is compared, and at every level the
whole history once the streams are closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.core.plain import events_of
from driftline.engine.ingest.dead_letters import DeadLetters
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.readers.inputs import RawEvents, events_from
from driftline.engine.shards.letters import letters_from_bytes
from driftline.engine.shards.messages import OUTPUT, Message, MessageKind, unpacked_batch
from driftline.engine.shards.shard import Shard
from driftline.engine.shards.source_messages import (
    CLOCK,
    KIND,
    POSITION,
    RAW,
    VE,
    VN,
    VS,
    Watch,
    source_messages,
)
from driftline.engine.shards.stages import Reading, stages
from driftline.engine.tables import history_table
from driftline.model.event import CLOSE, Event
from driftline.model.reference import Level
from driftline.model.time import BEGINNING
from driftline.plan.choices import Heartbeat
from driftline.plan.fragments import RESULT, cut
from driftline.plan.nodes import Node, Source
from tests.engine.ingest.test_holding import LAG, rows
from tests.engine.ingest.test_holding import PLAN as THREE_STREAMS
from tests.engine.test_plans import ARRIVALS, PLANS, S, T


class Cluster:
    """Shards and tasks in this process."""

    def __init__(
        self, plan: Node, readings: Mapping[str, Reading], options: Options, shards: int
    ) -> None:
        self.plan, self.readings, self.count = plan, readings, shards
        self.stages = stages(cut(plan), [RESULT], readings, options, shards)
        self.shards = [
            [Shard(stage, number) for number in range(shards)] for stage in self.stages.levels
        ]
        self.letters: list[DeadLetters] = []
        self.final = BEGINNING

    def step(
        self, events: Mapping[str, RawEvents], tasks: int, clock: int | None = None
    ) -> list[Batch]:
        """What a micro-batch of events leads to, if so many tasks read each source; with a tick if
        the arrival clock shows something."""
        sent: list[Message] = []
        if clock is not None:
            sent += [
                Message(stage.level, MessageKind.CLOCK, "", shard, 0, high=clock)
                for stage in self.stages.levels
                for shard in range(self.count)
            ]
        options = self.stages.levels[0].options
        for name, source in self.plan.sources().items():
            reading = self.readings[name]
            for task, part in enumerate(self.dealt(events[name], tasks)):
                sent += source_messages(
                    part,
                    payload(part, source.schema.arrow),
                    self.stages.sources[name],
                    self.count,
                    task,
                    ordered=reading.by_times(source, options),
                    watch=_watch(source) if reading.watched(source, options) else None,
                )
        for stage, shards in zip(self.stages.levels, self.shards, strict=True):
            mine = [message for message in sent if message.level == stage.level]
            sent = [message for message in sent if message.level != stage.level]
            for number, shard in enumerate(shards):
                sent += shard.step([message for message in mine if message.shard == number])
        assert all(message.level == OUTPUT for message in sent)
        for letter in sent:
            if letter.kind == MessageKind.DEAD_LETTERS:
                schema = self.plan.sources()[letter.port].schema.arrow
                self.letters.append(letters_from_bytes(letter.data, schema))
        rows = [message for message in sent if message.kind == MessageKind.ROWS]
        self.final = min((message.cti for message in rows), default=BEGINNING)
        schema = self.plan.schema.arrow
        return [unpacked_batch(message.data, schema) for message in rows if message.data]

    @staticmethod
    def dealt(events: RawEvents, tasks: int) -> Iterator[pa.RecordBatch]:
        """The rows that each task reads."""
        return _dealt(events, tasks)

    @property
    def dead(self) -> int:
        return sum(map(len, self.letters))

    def move(self) -> None:
        """Every shard to another process."""
        moved = [
            [Shard(stage, number) for number in range(self.count)] for stage in self.stages.levels
        ]
        for before, after in zip(self.shards, moved, strict=True):
            for one, other in zip(before, after, strict=True):
                other.restore(one.snapshot())
        self.shards = moved


class ByClock(Cluster):
    """As DataFrames are read: rows have no place, and every task has some from everywhere."""

    @staticmethod
    def dealt(events: RawEvents, tasks: int) -> Iterator[pa.RecordBatch]:
        (whole,) = _dealt(events, 1)
        for task in range(tasks):
            yield whole.drop_columns(POSITION).take(pa.array(np.arange(task, len(events), tasks)))


def _watch(source: Source) -> Watch:
    name = source.timing.apart_by
    return Watch(None if name is None else source.columns.names.index(name))


def _dealt(events: RawEvents, tasks: int) -> Iterator[pa.RecordBatch]:
    """Events as tasks read them: the first gets the last ones, so that order is not by chance."""
    whole = pa.table(
        {
            KIND: events.kind,
            VS: events.vs,
            VE: events.ve,
            VN: events.vn,
            POSITION: events.position,
        }
    )
    if events.clock is not None:
        whole = whole.append_column(CLOCK, pa.array(events.clock))
    for place, name in enumerate(events.payload.column_names):
        whole = whole.append_column(f"payload {name}", events.payload.column(place))
    cuts = np.linspace(0, len(events), tasks + 1).astype(int)
    for first, last in reversed(list(pairwise(cuts.tolist()))):
        (batch,) = whole.slice(first, last - first).combine_chunks().to_batches() or [None]
        if batch is None:
            batch = pa.RecordBatch.from_pylist([], schema=whole.schema)
        yield batch


def payload(part: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [part.column(name) for name in part.schema.names if name not in RAW]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def events_by_name(arrivals: list[tuple[int, Event]], plan: Node) -> dict[str, list[Event]]:
    named = {"s": 0, "t": 1}
    return {
        name: [*(event for port, event in arrivals if port == named[name]), CLOSE]
        for name in plan.sources()
    }


@settings(max_examples=80)
@given(
    plan=PLANS,
    arrivals=ARRIVALS,
    level=st.sampled_from(list(Level)),
    size=st.integers(1, 6),
    shards=st.integers(1, 3),
    tasks=st.integers(1, 2),
    block=st.sampled_from([0, 2]),
    remember=st.sampled_from([3, dl.INFINITY]),
    move_at=st.integers(-1, 3),
)
def test_random_plans(
    plan: object,
    arrivals: list[tuple[int, Event]],
    level: Level,
    size: int,
    shards: int,
    tasks: int,
    block: int,
    remember: int,
    move_at: int,
) -> None:
    query: Node = plan.query.plan  # type: ignore[attr-defined]
    options = Options(level, block, remember, size, keep_open=True)
    inputs = events_by_name(arrivals, query)
    expected = list(run(query, inputs, options))
    cluster = Cluster(
        query, dict.fromkeys(inputs, Reading(plain=False, ordered=True)), options, shards
    )
    raw = {name: events_from(source, inputs[name]) for name, source in query.sources().items()}
    schema = query.schema.arrow
    emitted: list[Batch] = []
    told: list[Batch] = []
    for number, output in enumerate(expected):
        if number == move_at:
            cluster.move()
        first, last = number * size, (number + 1) * size
        parts = {
            name: events.slice(*np.searchsorted(events.position, [first, last]).tolist())
            for name, events in raw.items()
        }
        emitted += cluster.step(parts, tasks)
        told.append(output.batch)
        if level is Level.EAGER:
            assert snapshots(emitted, schema) == snapshots(told, schema)
        assert cluster.final >= max(batch.cti for batch in told)  # no shard holds it back
    assert snapshots(emitted, schema) == snapshots(told, schema)
    assert cluster.dead == sum(sum(map(len, output.dead.values())) for output in expected)


@pytest.mark.parametrize(
    ("heartbeat", "shards"),
    [(each, shards) for each in ("source", "operator", "query") for shards in (1, 3)]
    + [("memory", 1)],  # of several, each goes by what its own operators have counted
)
def test_rows_wait_for_other_streams(heartbeat: Heartbeat, shards: int) -> None:
    """S1 and S2 are joined, then S3, which is far behind: after every micro-batch shards have
    emitted what the local runner has, and as many rows wait."""
    plan = THREE_STREAMS.plan
    options = Options(block=dl.INFINITY, batch=30, keep_open=True, heartbeat=heartbeat)
    behind = {"s1": 0, "s2": 1, "s3": LAG}
    inputs = {name: [row for part in rows(lag) for row in part] for name, lag in behind.items()}
    raw = {name: events_from(source, inputs[name]) for name, source in plan.sources().items()}
    cluster = Cluster(
        plan, dict.fromkeys(inputs, Reading(plain=True, ordered=True)), options, shards
    )
    emitted, told = 0, 0
    for number, output in enumerate(run(plan, inputs, options)):
        if number == 7:
            cluster.move()
        first, last = number * 30, (number + 1) * 30
        parts = {
            name: events.slice(*np.searchsorted(events.position, [first, last]).tolist())
            for name, events in raw.items()
        }
        emitted += sum(map(len, cluster.step(parts, 2)))
        told += len(output.batch)
        assert emitted == told
        waiting = [
            source.align.state_size()[0]
            for shard in cluster.shards[0]
            for source in shard.sources.values()
        ]
        aligned = [
            c["state_rows"] for name, c in output.counters.items() if name.operator == "align"
        ]
        assert sum(waiting) == sum(aligned)
    assert emitted


def test_what_operators_have_counted_is_kept_when_shards_move() -> None:
    """With an eye on memory: the same is emitted and waits after every micro-batch."""
    plan = THREE_STREAMS.plan
    options = Options(block=dl.INFINITY, keep_open=True, heartbeat="memory")
    behind = {"s1": 0, "s2": 1, "s3": LAG}
    inputs = {name: [row for part in rows(lag) for row in part] for name, lag in behind.items()}
    raw = {name: events_from(source, inputs[name]) for name, source in plan.sources().items()}
    readings = dict.fromkeys(inputs, Reading(plain=True, ordered=True))
    still, moving = (Cluster(plan, readings, options, 3) for _ in range(2))
    emitted = 0
    for first in range(0, 600, 60):
        parts = {name: events.slice(first, first + 60) for name, events in raw.items()}
        one, other = (sum(map(len, each.step(parts, 2))) for each in (still, moving))
        moving.move()
        assert one == other
        emitted += one
    assert emitted


@pytest.mark.parametrize("heartbeat", ["operator", "memory", "query"])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("block", [5, dl.INFINITY])
def test_rows_wait_for_streams_that_another_stage_reads(
    heartbeat: Heartbeat, ordered: bool, block: int
) -> None:
    """T is joined with an answer about S, which is far behind: T waits for it, as locally."""
    columns = {"k": "BIGINT", "ts": "BIGINT"}
    one, other = (dl.stream(name, columns, time="ts", disorder=0) for name in "st")
    counted = one.window(range=50).group_by("k").agg("count(*) AS n").agg("max(n) AS k")
    query = counted.alias("m").join(other.window(range=50).alias("t"), "m.k = t.k")
    plan = query.select("t.ts AS ts").plan
    options = Options(block=block, batch=30, keep_open=True, heartbeat=heartbeat)
    inputs = {
        "s": [r for part in rows(LAG) for r in part],
        "t": [r for part in rows(0) for r in part],
    }
    raw = {name: events_from(source, inputs[name]) for name, source in plan.sources().items()}
    cluster = Cluster(plan, dict.fromkeys(inputs, Reading(plain=True, ordered=ordered)), options, 2)
    waited = 0
    for number, output in enumerate(run(plan, inputs, options)):
        if number == 7:
            cluster.move()
        parts = {name: each.slice(30 * number, 30 * number + 30) for name, each in raw.items()}
        cluster.step(parts, 2)
        waiting = sum(
            source.align.state_size()[0]
            for shards in cluster.shards
            for shard in shards
            for source in shard.sources.values()
        )
        aligned = [
            c["state_rows"] for name, c in output.counters.items() if name.operator == "align"
        ]
        if ordered:
            assert waiting == sum(aligned)
        waited = max(waited, waiting)
    assert waited >= (LAG - 30 if block == dl.INFINITY else 1)


@pytest.mark.parametrize("ordered", [False, True])
def test_a_tick_lets_a_timeout_pass(ordered: bool) -> None:
    """First that of the source that is silent for longer, unless all came at one moment."""
    columns = {"k": "STRING", "x": "BIGINT", "t": "BIGINT"}
    stream = dl.stream("s", columns, time="t", source="k", disorder=3, timeout=5)
    query = stream.group_by("k").agg("sum(x) AS x").agg("sum(x) AS x").plan
    source = query.sources()["s"]
    rows = [("a", 1, 10), ("b", 2, 40)]
    events = events_from(source, [dict(zip(columns, row, strict=True)) for row in rows])
    events = replace(events, clock=np.array([100, 101]))
    nothing = {"s": events.slice(0, 0)}
    reading = {"s": Reading(plain=True, ordered=ordered)}
    cluster = Cluster(query, reading, Options(), 2)
    cluster.step({"s": events}, 2)
    assert cluster.final == 7  # of a, the least
    alone = 37 if ordered else 7
    for clock, final in [(105, 7), (106, alone), (107, 41), (106, 41), (200, 41)]:
        cluster.step(nothing, 1, clock)
        cluster.move()
        assert (clock, cluster.final) == (clock, final)


def test_a_tick_is_none_for_rows_that_have_a_clock_of_their_own() -> None:
    columns = {"k": "STRING", "t": "BIGINT", "got": "BIGINT"}
    bounds = {"source": "k", "disorder": 3, "timeout": 5, "arrival": "got"}
    stream = dl.stream("s", columns, time="t", **bounds)  # type: ignore[call-overload]
    source = stream.plan.sources()["s"]
    first, late = (events_from(source, [{"k": "a", "t": t, "got": t}]) for t in (10, 9))
    cluster = Cluster(stream.plan, {"s": Reading(plain=True, ordered=True)}, Options(), 2)
    cluster.step({"s": first}, 1)
    cluster.step({"s": first.slice(0, 0)}, 1, 10**12)
    assert sum(map(len, cluster.step({"s": late}, 1))) == 1
    assert not cluster.dead


ARRIVED = {"id": "BIGINT", "k": "STRING", "t": "BIGINT", "got": "BIGINT"}


@st.composite
def arrived(draw: st.DrawFn) -> list[dict[str, object]]:
    """Rows of a few sources, many of which arrive at the same time."""
    times = st.sampled_from([0, 1, 9, 20])
    drawn = st.tuples(st.sampled_from("ab"), times, st.sampled_from([0, 0, 1, 2]))
    rows, clock = [], 0
    for number, (name, time, later) in enumerate(draw(st.lists(drawn, min_size=3, max_size=20))):
        clock += later
        rows.append({"id": number, "k": name, "t": time, "got": clock})
    return rows


@settings(max_examples=150)
@given(
    rows=arrived(),
    bounds=st.sampled_from(
        [
            {"source": "k", "disorder": 2},
            {"source": "k", "disorder": 2, "skew": 3},
            {"source": "k", "disorder": 2, "timeout": 2},
            {"disorder": 3, "latency": 1},
            {"disorder": 3},
            {},
        ]
    ),
    remember=st.sampled_from([4, dl.INFINITY]),
    sizes=st.tuples(st.integers(1, 20), st.integers(1, 6)),
    tasks=st.integers(1, 3),
)
def test_an_arrival_clock_judges_alike_however_rows_are_cut(
    rows: list[dict[str, object]],
    bounds: dict[str, object],
    remember: int,
    sizes: tuple[int, int],
    tasks: int,
) -> None:
    """Rows of one clock in one batch, in two, or read by several tasks: the same are dead. (What
    `remember` closes goes by the order of all rows, which only a single task keeps.)"""
    if remember < dl.INFINITY or bounds in ({}, {"disorder": 3}):
        tasks = 1
    stream = dl.stream("s", ARRIVED, time="t", arrival="got", **bounds)  # type: ignore[call-overload]
    plan = stream.group_by("k").agg("count(*) AS n").plan
    options = Options(Level.EAGER, 0, remember, sizes[0], keep_open=True)
    dead = [
        letters for output in run(plan, {"s": rows}, options) for letters in output.dead.values()
    ]
    cluster = ByClock(plan, {"s": Reading(plain=True, ordered=True)}, options, 2)
    events = events_from(plan.sources()["s"], rows)
    for first in range(0, len(rows), sizes[1]):
        cluster.step({"s": events.slice(first, first + sizes[1])}, tasks)
    assert _ids(cluster.letters) == _ids(dead)


def _ids(letters: list[DeadLetters]) -> list[int]:
    return sorted(number for each in letters for number in each.payload.column("id").to_pylist())


def test_a_tick_ends_the_waiting_for_a_guess() -> None:
    stream = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t", timeout=5)
    source = stream.plan.sources()["s"]
    events = events_from(source, [{"k": "a", "t": 10}, {"k": "b", "t": 40}])
    events = replace(events, clock=np.full(2, 100))
    reading = {"s": Reading(plain=True, ordered=False)}
    cluster = Cluster(stream.plan, reading, Options(block=dl.INFINITY - 1), 2)
    assert not cluster.step({"s": events}, 1)
    nothing = {"s": events.slice(0, 0)}
    assert not cluster.step(nothing, 1, 105)
    cluster.move()
    assert sum(map(len, cluster.step(nothing, 1, 106))) == 2
    assert cluster.final == BEGINNING  # a guess promises nothing


def snapshots(batches: list[Batch], schema: pa.Schema) -> dict[str, list[tuple[int, int]]]:
    """How often each row is there, from when on: the same for equal snapshots."""
    steps: dict[str, dict[int, int]] = {}
    for row in history_table(batches, schema).to_pylist():
        vs, ve = row.pop("vs"), row.pop("ve")
        found = steps.setdefault(str(row), {})  # a row may have lists
        found[vs] = found.get(vs, 0) + 1
        if ve is not None:
            found[ve] = found.get(ve, 0) - 1
    return {
        row: changed
        for row, at in steps.items()
        if (changed := sorted((time, by) for time, by in at.items() if by))
    }


@pytest.mark.parametrize(
    ("query", "levels"),
    [
        (S.where("x > 0"), 1),
        (S.group_by("k").agg("sum(x) AS x"), 1),
        (S.join(T, on="k"), 1),
        (S.group_by("k", "x").agg("count(*) AS n").join(T, on="k"), 1),
        (S.group_by("k").agg("sum(x) AS x").agg("max(x) AS x"), 2),
        (S.group_by("x").agg("count(*) AS n").group_by("n").agg("count(*) AS m"), 2),
        (S.join(T, on="k").group_by("k").agg("count(*) AS n"), 1),
        (S.distinct().top(2, by="x"), 2),
        (S.tumble(5).group_by("window_end", "k").agg("count(*) AS n"), 1),
        (S.join(T, "s.k = t.k").join(T.alias("u"), "u.k = t.k"), 1),
    ],
)
def test_levels(query: dl.Query, levels: int) -> None:
    """Operators that agree on their keys need no exchange between them."""
    assert max(fragment.level for fragment in cut(query.plan)) == levels


def test_of_an_as_of_join_the_right_side_of_a_micro_batch_comes_first() -> None:
    """As locally: rows of the left are matched once, and not again by what came with them; also if
    one side comes from another level."""
    left, right = (
        dl.stream(name, {"k": "STRING", "x": "BIGINT"}, time="x", disorder=0) for name in "lr"
    )
    counted = right.group_by("k", "x").agg("count(*) AS n")
    match = "l.k = r.k AND l.x >= r.x"
    for joined, levels in (
        (left.as_of(right, match), 1),
        (left.as_of(counted.group_by("x").agg("max(k) AS k").alias("r"), match), 2),
    ):
        plan = joined.select("l.x AS x", "r.x AS at").plan
        readings = dict.fromkeys("lr", Reading(plain=True, ordered=False))
        cluster = ByClock(plan, readings, Options(level=Level.EAGER), 2)
        assert len(cluster.shards) == levels
        found: list[Event] = []
        for times in ({"l": [1, 4], "r": [0, 3]}, {"l": [5, 9], "r": [5, 8]}):
            inputs = {name: [{"k": "a", "x": x} for x in times[name]] for name in "lr"}
            raw = {name: events_from(plan.sources()[name], inputs[name]) for name in "lr"}
            found += [each for batch in cluster.step(raw, 1) for each in events_of(batch)]
        matched = [(each.row["x"], each.row["at"]) for each in found if isinstance(each, dl.Insert)]
        assert matched == [(1, 0), (4, 3), (5, 5), (9, 8)]
        counted_out = [
            (each["inserts_out"], each["retracts_out"])
            for shard in cluster.shards[-1]
            for key, each in shard.counters().items()
            if "as-of" in key.operator
        ]
        assert np.sum(counted_out, axis=0).tolist() == [4, 0]
