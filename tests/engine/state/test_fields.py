"""A state that is declared, held to a dictionary of plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.operator import OperatorKey
from driftline.engine.shards.stored import state_from_bytes, state_to_bytes
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import (
    NOTHING_HELD,
    Arrays,
    Fields,
    Stateful,
    joined_span,
)
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_runs import RowRuns
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slots import Slots
from driftline.model.time import INFINITY

NAME = pa.schema([("name", pa.string())])
TIME, PLACE = range(2)


class Clock(Stateful):
    """How far time has come, and how often it moved."""

    fields = Fields(numbers=("time",), arrays=("moves",))

    def __init__(self) -> None:
        self.time, self.moves = 0, np.zeros(2, np.int64)


class Names(Stateful):
    """What is kept of names: how often each came, when it is due, a run of (time, row); `longest`
    is the length of the longest one."""

    fields = Fields(
        keys="slots",
        by_key=("counts", "due", "names", "runs"),
        numbers=("total", "share"),
        parts=("clock", "none"),
        times=("runs",),
    )

    def __init__(self) -> None:
        self.slots, self.due, self.names = Slots(), Due(), RowStore(NAME)
        self.counts = KeyColumn(np.int64)
        self.runs = RowRuns(NAME, 2, TIME, TIME)
        self.total, self.share = 0, 0.0
        self.clock = Clock()
        self.none: Clock | None = None
        self.longest = 0

    def derive(self) -> None:
        live = self.names.take(self.slots.live_slots()).column(0).to_pylist()
        self.longest = max(map(len, live), default=0)

    def came(self, name: str, time: int, text: str) -> None:
        rows = pa.RecordBatch.from_pydict({"name": [name]})
        slots, new = self.slots.find_or_add(fingerprints(rows.columns, 1))
        self.make_slots()
        self.names.put(slots[new], rows.take(pa.array(new)))
        self.counts.values[slots] += 1
        self.due.set(slots, np.array([time + 5]))
        self.runs.reserve(slots, self.runs.sizes(slots) + 1)
        arrays, slot = self.runs.arrays, slots[0]
        place = self.runs.places.take(1)
        self.runs.rows.put(place, pa.RecordBatch.from_pydict({"name": [text]}))
        arrays.ints[arrays.first[slot] + arrays.size[slot]] = time, place[0]
        arrays.size[slot] += 1
        self.total, self.share = self.total + 1, 1 / (self.total + 1)
        self.clock.time = max(self.clock.time, time)
        self.clock.moves[time % 2] += 1
        self.derive()

    def drop_due(self, time: int) -> None:
        due = self.due.up_to(time)
        self.runs.free(self.runs.of(due)[:, PLACE])
        self.remove_slots(due)
        self.derive()


@dataclass
class Plain:
    """The same with Python's own values."""

    names: dict[str, tuple[int, list[tuple[int, str]]]] = field(default_factory=dict)
    total: int = 0
    clock: int = 0
    moves: list[int] = field(default_factory=lambda: [0, 0])

    def came(self, name: str, time: int, text: str) -> None:
        _, entries = self.names.get(name, (0, []))
        self.names[name] = time + 5, [*entries, (time, text)]
        self.total += 1
        self.clock = max(self.clock, time)
        self.moves[time % 2] += 1

    def drop_due(self, time: int) -> None:
        self.names = {name: kept for name, kept in self.names.items() if kept[0] > time}


def held(state: Names) -> Plain:
    """What a declared state holds, as the plain one does."""
    found = Plain(total=state.total, clock=state.clock.time, moves=state.clock.moves.tolist())
    for slot in state.slots.live_slots().tolist():
        name = state.names.take(np.array([slot])).column(0)[0].as_py()
        arrays = state.runs.arrays
        entries = arrays.ints[arrays.first[slot] :][: arrays.size[slot]]
        texts = state.runs.rows.take(entries[:, PLACE].copy()).column(0).to_pylist()
        assert state.counts.values[slot] == len(texts)
        times = entries[:, TIME].tolist()
        found.names[name] = int(state.due.times[slot]), list(zip(times, texts, strict=True))
    return found


def stored(state: Stateful) -> Arrays:
    """What a checkpoint has stored of a state, once it is read again."""
    key = OperatorKey("names")
    return state_from_bytes(state_to_bytes({key: state.snapshot()}))[key]


CAME = st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 30), st.text(max_size=3))


@settings(deadline=None)
@given(st.lists(CAME | st.integers(0, 30), max_size=40), st.integers(0, 40))
def test_a_declared_state_is_what_it_was_after_it_is_restored(
    steps: list[tuple[str, int, str] | int], restored: int
) -> None:
    state, plain = Names(), Plain()
    for number, step in enumerate(steps):
        for each in (state, plain):
            if isinstance(step, int):
                each.drop_due(step)
            else:
                each.came(*step)
        if number == restored:
            arrays = stored(state)
            state = Names()
            state.restore(arrays)
            again = state.snapshot()
            assert list(again) == list(arrays)
            assert {name: each.dtype for name, each in again.items()} == {
                name: each.dtype for name, each in arrays.items()
            }
        assert held(state) == plain
        assert state.longest == max(map(len, plain.names), default=0)
        assert state.share == (1 / state.total if state.total else 0.0)
        entries = [time for _, kept in plain.names.values() for time, _ in kept]
        rows, taken = state.state_size()
        assert rows == len(entries)
        assert taken >= rows * 16
        oldest, newest = state.state_span()
        assert (oldest, newest) == NOTHING_HELD or min(entries) <= oldest <= newest <= max(entries)


def test_a_snapshot_does_not_change_with_the_state() -> None:
    state = Names()
    state.came("a", 3, "x")
    before = state.snapshot()
    kept = {name: each.tolist() for name, each in before.items()}
    state.came("a", 9, "y")
    state.drop_due(INFINITY - 1)
    assert {name: each.tolist() for name, each in before.items()} == kept


def test_what_is_missing_is_an_error_unless_it_was_added_later() -> None:
    class Later(Names):
        fields = Names.fields | Fields(numbers=("more",), parts=("other",), added=("more", "other"))

        def __init__(self) -> None:
            super().__init__()
            self.more, self.other = 7, Clock()

    old = Names()
    old.came("a", 3, "x")
    new = Later()
    new.restore(stored(old))
    assert held(new) == held(old)
    assert (new.more, new.other.time) == (7, 0)
    for gone in ("due", "runs.size", "total", "clock.time", "runs.rows", "slots.low"):
        arrays = {name: each for name, each in stored(old).items() if name != gone}
        missing = gone.removeprefix("clock.")
        with pytest.raises(ValueError, match=f"has no '{missing}': another version"):
            Names().restore(arrays)


def test_what_declares_nothing_takes_nothing() -> None:
    class Nothing(Stateful):
        pass

    nothing = Nothing()
    assert nothing.snapshot() == {}
    nothing.restore({})
    assert nothing.state_size() == (0, 0)
    assert nothing.state_span() == NOTHING_HELD
    with pytest.raises(ValueError, match="Nothing keeps no state"):
        nothing.restore({"x": np.zeros(1)})


class Numbered(Stateful):
    """A list of numbers by place; `doubled` follows from them."""

    fields = Fields(keys="places", by_key=("numbers",), derived=("doubled",), times=("numbers",))

    def __init__(self) -> None:
        self.places, self.numbers = Places(), KeyColumn(np.int64, fill=None)
        self.doubled = KeyColumn(np.int64, fill=-1)
        self.due = Due()  # by the keys of another

    def add(self, number: int) -> int:
        place = self.places.take(1)
        self.make_slots()
        self.numbers.values[place], self.doubled.values[place] = number, 2 * number
        return int(place[0])

    def derive(self) -> None:
        live = self.places.live_slots()
        self.doubled.values[live] = 2 * self.numbers.values[live]


class Owner(Stateful):
    """Keys that a part keeps something of, beside what it keeps of its own."""

    fields = Fields(keys="slots", by_key=("numbers.due",), parts=("numbers",))

    def __init__(self) -> None:
        self.slots, self.numbers = Slots(), Numbered()


@settings(deadline=None)
@given(st.lists(st.integers(0, 9) | st.none(), max_size=30), st.integers(0, 30))
def test_places_are_keys_as_well(steps: list[int | None], restored: int) -> None:
    owner, model = Owner(), dict[int, int]()
    for number, step in enumerate(steps):
        numbers = owner.numbers
        if step is None:
            gone = min(model, default=None)
            if gone is not None:
                numbers.remove_slots(np.array([gone]))
                assert numbers.doubled.values[gone] == -1
                del model[gone]
        else:
            place = numbers.add(step)
            assert place not in model
            model[place] = step
            slots, _ = owner.slots.find_or_add(fingerprints([pa.array([step])], 1))
            owner.make_slots()
            numbers.due.set(slots, np.array([step]))
        if number == restored:
            arrays = stored(owner)
            assert not any("doubled" in name for name in arrays)
            owner = Owner()
            owner.restore(arrays)
            places = owner.numbers.places
            model = {int(places.now(np.array(place))): each for place, each in model.items()}
            assert sorted(model) == places.live_slots().tolist() == [*range(len(model))]
        live = owner.numbers.places.live_slots().tolist()
        assert {each: int(owner.numbers.numbers.values[each]) for each in live} == model
        assert [int(owner.numbers.doubled.values[each]) for each in live] == [
            2 * each for each in owner.numbers.numbers.values[live].tolist()
        ]
        known = owner.slots.live_slots()
        assert sorted(owner.numbers.due.of(known)) == sorted(
            {each for each in steps[: number + 1] if each is not None}
        )
        if model:
            assert owner.state_span() == (min(model.values()), max(model.values()))
    owner.remove_all()
    assert owner.state_size()[0] == owner.numbers.places.live == owner.slots.live == 0
    assert len(owner.numbers.due.up_to(INFINITY - 1)) == 0


def test_words_may_become_more() -> None:
    class Sums(Stateful):
        fields = Fields(keys="slots", by_key=("runs", "sums"))

        def __init__(self, words: int) -> None:
            self.slots, self.runs = Slots(), Runs(words)
            self.sums = KeyColumn(np.int64, words=words)

    wide = Sums(3)
    slots, _ = wide.slots.find_or_add(fingerprints([pa.array([1, 2])], 2))
    wide.make_slots()
    wide.sums.values[slots] = [[1, 2, 3], [4, 5, 6]]
    wide.runs.reserve(slots, np.array([1, 1]))
    wide.runs.arrays.size[slots] = 1
    wide.runs.arrays.ints[wide.runs.arrays.first[slots]] = [[7, 8, 9], [10, 11, 12]]
    other = Sums(2)
    other.restore(stored(wide))
    assert other.sums.values[slots].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert other.runs.arrays.ints[other.runs.arrays.first[slots]].tolist() == [
        [7, 8, 9],
        [10, 11, 12],
    ]


def test_parts_may_be_several() -> None:
    class Clocks(Stateful):
        fields = Fields(parts=("listed", "named"))

        def __init__(self) -> None:
            self.listed, self.named = [Clock(), Clock()], {"a b": Clock()}

    clocks, other = Clocks(), Clocks()
    clocks.listed[1].time, clocks.named["a b"].time = 3, 5
    assert {"listed.1.time", "named.a b.time"} < clocks.snapshot().keys()
    other.restore(stored(clocks))
    assert [each.time for each in [*other.listed, *other.named.values()]] == [0, 3, 5]


def test_spans() -> None:
    assert joined_span() == NOTHING_HELD
    assert joined_span((3, 4), NOTHING_HELD, (1, 2)) == (1, 4)
