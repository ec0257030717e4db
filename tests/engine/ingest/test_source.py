"""A source fed as the local runner feeds it, and as shards do that have some of its rows each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch, joined
from driftline.engine.ingest.arrivals import ArrivedEvents, Moment, Summary, nothing, one_cti
from driftline.engine.ingest.dead_letters import DeadLetters
from driftline.engine.ingest.source import SourceIngest, emitted
from driftline.engine.options import Options
from driftline.model.columns import INSERT, RETRACT, StreamColumns
from driftline.model.event import Event
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.timing import NOTHING_KNOWN, Timing
from driftline.testing import streams
from driftline.testing.driving import events_of
from tests.build import cti, insert
from tests.disorder import any_events
from tests.engine.held_to_reference import KX

AB = pa.schema([("a", pa.int64()), ("b", pa.string())])
BLOCK = st.sampled_from([0, 2, 5, INFINITY])
REMEMBER = st.sampled_from([0, 3, INFINITY])
CLOCKS = st.lists(st.integers(0, 3), min_size=1, max_size=5)


class Sharded:
    """A source in shards, each of which is its own."""

    def __init__(
        self, schema: pa.Schema, timing: Timing, options: Options, shards: int, *, plain: bool
    ) -> None:
        self.made = (schema, timing, options)
        self.plain = plain
        self.shards = [self._new() for _ in range(shards)]

    def _new(self) -> SourceIngest:
        return SourceIngest(*self.made, plain=self.plain)

    def move(self) -> None:
        """Every shard to another process."""
        for number, before in enumerate(self.shards):
            self.shards[number] = self._new()
            self.shards[number].restore(before.snapshot())

    def step(
        self, parts: Sequence[ArrivedEvents], limit: int = INFINITY
    ) -> tuple[list[Batch], list[DeadLetters]]:
        """What the shards emit, and what is dead."""
        received = [shard.receive(part) for shard, part in zip(self.shards, parts, strict=True)]
        batches = [
            emitted({"s": shard}, {"s": batch}, lambda _: {"s": limit})["s"]
            for shard, (batch, _) in zip(self.shards, received, strict=True)
        ]
        return batches, [dead for _, dead in received]


def dealt(events: ArrivedEvents, shards: int) -> list[ArrivedEvents]:
    """Each shard has the rows of some keys, and the first the events without a row."""
    keys = events.payload.column(0).to_pylist()
    of = np.array([crc32(str(key).encode()) % shards for key in keys], np.int64)
    of[events.kind > RETRACT] = 0
    return [
        replace(events, own=own, payload=events.payload.take(pa.array(own)))
        for own in (np.flatnonzero(of == shard) for shard in range(shards))
    ]


def changes(batches: Iterable[Batch]) -> Counter[object]:
    whole, found = joined(list(batches)), Counter[object]()
    rows = whole.payload.to_pylist()
    for vs, ve, weight, row in zip(whole.vs, whole.ve, whole.weight, rows, strict=True):
        found[int(vs), int(ve), tuple(row.values())] += int(weight)
    return Counter({change: weight for change, weight in found.items() if weight})


def letters(dead: Iterable[DeadLetters]) -> list[tuple[object, ...]]:
    return sorted(
        letter
        for each in dead
        for letter in zip(
            each.number.tolist(), each.reasons(), map(str, each.to_events()), strict=True
        )
    )


def hold(
    events: Sequence[ArrivedEvents],
    one: Sharded,
    several: Sharded,
    move_at: int,
    limits: Sequence[int],
) -> None:
    """After every step the shards have emitted and set aside what the whole source has."""
    count = len(several.shards)
    for number, step in enumerate(events):
        if number == move_at:
            one.move()
            several.move()
        limit = limits[number % len(limits)]
        [whole], dead = one.step([step], limit)
        parts, also_dead = several.step(dealt(step, count), limit)
        assert changes(parts) == changes([whole])
        assert {part.cti for part in parts} == {whole.cti}
        assert {part.high for part in parts} == {whole.high} or one.made[2].block
        assert letters(also_dead) == letters(dead)


def steps(events: Sequence[Event], schema: pa.Schema, size: int) -> list[ArrivedEvents]:
    """In batches, with the arrival clock going on by 2 from event to event."""
    return [
        ArrivedEvents.of(
            StreamColumns.from_events("s", events[start : start + size], schema=schema),
            schema,
            schema.names[0],
            np.arange(start, min(start + size, len(events))) * 2,
        )
        for start in range(0, len(events), size)
    ]


TIMINGS = st.sampled_from(
    [
        NOTHING_KNOWN,
        Timing(disorder=2, heartbeats="declared"),
        Timing(disorder=2, source="k", heartbeats="declared"),
        Timing(disorder=1, source="k", skew=2, heartbeats="declared"),
        Timing(disorder=2, source="k", timeout=5, heartbeats="declared"),
    ]
)


@given(
    events=streams(),
    timing=TIMINGS,
    block=BLOCK,
    remember=REMEMBER,
    shuffle=st.randoms(use_true_random=False),
    size=st.integers(1, 6),
    shards=st.integers(1, 3),
    move_at=st.integers(-1, 3),
    limits=st.lists(st.sampled_from([3, 8, INFINITY]), min_size=1, max_size=3),
)
def test_streams_in_any_order(
    events: list[Event],
    timing: Timing,
    block: int,
    remember: int,
    shuffle: object,
    size: int,
    shards: int,
    move_at: int,
    limits: list[int],
) -> None:
    shuffle.shuffle(events)  # type: ignore[attr-defined]
    options = Options(block=block, remember=remember)
    one, several = (Sharded(KX, timing, options, n, plain=False) for n in (1, shards))
    hold(steps(events, KX, size), one, several, move_at, sorted(limits))


@given(any_events, BLOCK, REMEMBER, st.integers(1, 6), st.integers(1, 3), st.integers(-1, 3))
def test_any_events_at_all(
    events: list[Event], block: int, remember: int, size: int, shards: int, move_at: int
) -> None:
    options = Options(block=block, remember=remember)
    one, several = (Sharded(AB, NOTHING_KNOWN, options, n, plain=False) for n in (1, shards))
    hold(steps(events, AB, size), one, several, move_at, [INFINITY])


@given(
    streams(retractions=False, closed=False),
    st.sampled_from([NOTHING_KNOWN, Timing(disorder=2, source="k", heartbeats="declared")]),
    BLOCK,
    REMEMBER,
    st.integers(1, 3),
    st.integers(-1, 3),
)
def test_records_that_come_at_one_moment(
    events: list[Event], timing: Timing, block: int, remember: int, shards: int, move_at: int
) -> None:
    """All of a step are judged by what was promised before it, in every shard."""
    inserts = Options(block=block, remember=remember)
    one, several = (Sharded(KX, timing, inserts, n, plain=True) for n in (1, shards))
    for number, step in enumerate(steps(events, KX, 4)):
        if number == move_at:
            one.move()
            several.move()
        rows = step.take(np.flatnonzero(step.kind == INSERT))
        high = int(rows.vs.max(initial=BEGINNING))
        summary = Summary(rows.vs, np.ones_like(rows.vs), rows.payload.column("k"), None)
        moment = Moment(high, high - 3 if number == 2 and len(rows) else BEGINNING, summary)
        rows = replace(rows, moment=moment)
        [whole], dead = one.step([rows])
        parts = [part.mine() for part in dealt(rows, shards)]
        batches, also_dead = several.step([replace(part, moment=moment) for part in parts])
        assert changes(batches) == changes([whole])
        assert {part.cti for part in batches} == {whole.cti}
        assert sum(map(len, also_dead)) == sum(map(len, dead))


def test_a_clock_that_sources_share() -> None:
    """What a source promises when another has come so far, but not past its own next event."""
    timing = Timing(disorder=0, timeout=10, heartbeats="declared")
    first, second = (SourceIngest(KX, timing, Options(), plain=True) for _ in range(2))
    sources = {"a": first, "b": second}

    def step(clock: int, next_clock: int) -> int:
        """The clock of a, while b gets nothing."""
        row = StreamColumns.from_events("s", [insert(clock, None, {"k": "a", "x": 1})], schema=KX)
        came, _ = first.receive(ArrivedEvents.of(row, KX, None, np.array([clock])))
        idle, _ = second.receive(nothing(KX))
        received = {"a": came, "b": idle}
        ends = {"b": next_clock}
        return emitted(sources, received, lambda of: dict.fromkeys(of, INFINITY), not_after=ends)[
            "b"
        ].cti

    row = StreamColumns.from_events("s", [insert(5, None, {"k": "b", "x": 1})], schema=KX)
    second.receive(ArrivedEvents.of(row, KX, None, np.array([0])))
    assert step(9, INFINITY) == 5  # of its own record
    assert step(40, 8) == BEGINNING
    assert step(41, INFINITY) == 6  # it was silent for longer than its timeout


def test_the_end_of_the_input_closes_the_source() -> None:
    ingest = SourceIngest(KX, NOTHING_KNOWN, Options(block=INFINITY), plain=True)
    row = StreamColumns.from_events("s", [insert(1, None, {"k": "a", "x": 1})], schema=KX)
    assert not len(ingest.aligned(ingest.receive(ArrivedEvents.of(row, KX))[0], INFINITY))
    batch = ingest.aligned(ingest.receive(one_cti(KX, INFINITY))[0], INFINITY)
    assert events_of(batch) == [insert(1, None, {"k": "a", "x": 1}), cti(INFINITY)]
    assert ingest.counters()["finalize"]["ctis_in"] == 1
