"""Slots are a map from keys to small numbers, whatever comes and goes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.slots import NO_SLOT, Slots

BATCHES = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 12), max_size=9)), max_size=12)


def prints(keys: list[int]) -> Fingerprints:
    return fingerprints([pa.array(keys, pa.int64())], len(keys))


@given(BATCHES, st.integers(0, 11))
def test_they_are_a_map(batches: list[tuple[bool, list[int]]], restored: int) -> None:
    slots = Slots()
    model: dict[int, int] = {}
    for number, (leaves, keys) in enumerate(batches):
        if leaves:
            gone = sorted(set(keys) & model.keys())
            slots.remove(np.array([model.pop(key) for key in gone], np.int64))
        else:
            found, new = slots.find_or_add(prints(keys))
            unknown = dict.fromkeys(key for key in keys if key not in model)
            assert [keys[row] for row in new] == list(unknown)
            model |= {keys[row]: int(found[row]) for row in new}
            assert found.tolist() == [model[key] for key in keys]
        assert len(set(model.values())) == len(model) == slots.live
        assert slots.live_slots().tolist() == sorted(model.values())
        wanted = [model.get(key, NO_SLOT) for key in range(13)]
        assert slots.find(prints(list(range(13)))).tolist() == wanted
        if number == restored:
            saved = slots.snapshot()
            slots = Slots()
            slots.restore(saved)


def test_slots_are_used_again_and_the_table_does_not_grow() -> None:
    slots = Slots()
    for start in range(0, 200_000, 500):
        found, new = slots.find_or_add(prints(list(range(start, start + 500))))
        assert len(new) == 500
        slots.remove(found)
    assert slots.used == 500
    assert len(slots.table) <= 4096


def test_keys_that_start_at_one_place_are_told_apart() -> None:
    """Keys with the same low bits collide in the table, and those with the same low half, too."""
    low = np.repeat(np.array([5, 5 + 2**40], np.uint64), 300)
    keys = Fingerprints(low, np.arange(600).astype(np.uint64))
    slots = Slots()
    found, new = slots.find_or_add(keys)
    assert found.tolist() == new.tolist() == list(range(600))
    slots.remove(np.arange(0, 600, 2))
    assert slots.find(keys).tolist() == [NO_SLOT if n % 2 == 0 else n for n in range(600)]
