"""Rows that are held are a sorted list of lifetimes for each key."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.held_rows import COPIES, END, PLACE, START, HeldRows, Merged
from driftline.model.time import INFINITY

KEYS = 3
SCHEMA = pa.schema([("value", pa.string())])
Lifetime = tuple[int, str, int, int, int]
"""The key, the row, its word of the order, vs and ve."""

VALUES = {"a": 2, "b": 1, "c": 1}
"""Rows, and the words by which they are sorted."""

LIFETIMES = st.tuples(
    st.integers(0, KEYS - 1), st.sampled_from("abc"), st.integers(0, 5), st.integers(1, 4)
).map(lambda each: (each[0], each[1], VALUES[each[1]], each[2], each[2] + each[3]))
BATCHES = st.lists(st.lists(st.tuples(LIFETIMES, st.sampled_from([-1, 1, 2])), max_size=8))


class Held:
    def __init__(self) -> None:
        self.rows = HeldRows(SCHEMA, order_words=1)

    def merge(self, changes: list[tuple[Lifetime, int]]) -> Merged:
        keys, words, vs, ve = (
            np.array([change[0][each] for change in changes], np.int64) for each in (0, 2, 3, 4)
        )
        weight = np.array([change[1] for change in changes], np.int64)
        values = pa.array([change[0][1] for change in changes], pa.string())
        return self.rows.merge(keys, KEYS, [words], (vs, ve, weight), [values])

    def taken_over(self) -> None:
        keys = np.arange(KEYS)
        saved = self.rows.snapshot(keys, "held")
        self.rows = HeldRows(SCHEMA, order_words=1)
        self.rows.restore(keys, saved, "held")

    def all(self) -> Counter[Lifetime]:
        found: Counter[Lifetime] = Counter()
        for key in range(KEYS):
            entries = self.rows.of(np.array([key]))
            order = [tuple(entry) for entry in entries[:, :COPIES].tolist()]
            assert order == sorted(order)
            values = self.rows.rows.take(entries[:, PLACE]).column("value").to_pylist()
            for value, entry in zip(values, entries, strict=True):
                lifetime = (key, value, int(entry[0]), int(entry[START]), int(entry[END]))
                found[lifetime] = int(entry[COPIES])
        return found


def first_affected(changes: dict[Lifetime, int]) -> int:
    """Lifetimes of one row with one start, of which as many go as come, count from the first end
    that changes."""
    times = []
    for value, start in {(each[1], each[3]) for each in changes}:
        chain = {
            each[4]: weight
            for each, weight in changes.items()
            if (each[1], each[3]) == (value, start)
        }
        times.append(min(chain) if sum(chain.values()) == 0 else start)
    return min(times, default=INFINITY)


@given(BATCHES, st.integers(0, 5), st.integers(0, 9))
def test_what_is_held_is_what_has_come(
    batches: list[list[tuple[Lifetime, int]]], taken_over: int, final: int
) -> None:
    held, expected = Held(), Counter[Lifetime]()
    for number, batch in enumerate(batches):
        if number == taken_over:
            held.taken_over()
        net: Counter[Lifetime] = Counter()
        for lifetime, weight in batch:
            if expected[lifetime] + net[lifetime] + weight >= 0:
                net[lifetime] += weight
        changes = [(lifetime, weight) for lifetime, weight in net.items()]
        merged = held.merge(changes)
        expected.update(net)
        assert merged.strays == 0
        for key, earliest in zip(merged.keys.tolist(), merged.earliest.tolist(), strict=True):
            mine = {each: weight for each, weight in net.items() if weight and each[0] == key}
            assert earliest == first_affected(mine)
        items, number_of = merged.items()
        changed = Counter(zip(merged.keys[number_of].tolist(), strict=True))
        assert changed == Counter((each[0],) for each, weight in net.items() if weight)
        assert merged.entries[items, COPIES].sum() == sum(net.values())
        assert held.all() == +expected
    held.rows.drop(np.arange(KEYS), final)
    assert held.all() == Counter(
        {each: count for each, count in (+expected).items() if each[4] > final}
    )
    assert held.rows.places.used - len(held.rows.places.free) == held.rows.entries()


def test_a_retraction_of_what_is_not_there_is_counted() -> None:
    held = Held()
    held.merge([((0, "a", 2, 1, 5), 1), ((1, "a", 2, 1, 5), 1)])
    merged = held.merge([((0, "a", 2, 1, 5), -2), ((1, "b", 1, 1, 5), -1), ((1, "a", 2, 1, 5), -1)])
    assert merged.strays == 2
