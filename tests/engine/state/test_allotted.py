from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.allotted import Allotted

SIZES = st.dictionaries(st.integers(0, 5), st.integers(0, 40), min_size=1, max_size=6)


def write(blocks: Allotted, slot: int, values: Sequence[int]) -> None:
    blocks.reserve(np.array([slot]), np.array([len(values)]))
    first = blocks.arrays.first[slot]
    blocks.arrays.ints[first : first + len(values), 0] = values
    blocks.arrays.size[slot] = len(values)


def read(blocks: Allotted, slot: int) -> list[int]:
    first, size = blocks.arrays.first[slot], blocks.arrays.size[slot]
    found: list[int] = blocks.arrays.ints[first : first + size, 0].tolist()
    return found


@given(st.lists(SIZES, max_size=12), st.data())
def test_runs_keep_their_entries_while_others_grow_and_go(
    rounds: list[dict[int, int]], data: st.DataObject
) -> None:
    blocks = Allotted(1)
    held: dict[int, list[int]] = {}
    blocks.make_slots(6)
    for number, sizes in enumerate(rounds):
        for slot, size in sizes.items():
            held[slot] = [1000 * number + each for each in range(size)]
            write(blocks, slot, held[slot])
        one_goes = data.draw(st.booleans())
        if held and one_goes:
            gone = data.draw(st.sampled_from(sorted(held)))
            blocks.clear(np.array([gone]))
            del held[gone]
        assert {slot: read(blocks, slot) for slot in held} == held
    live = np.array(sorted(held), np.int64)
    again = Allotted(1)
    again.restore(live, blocks.snapshot(live, "run"), "run")
    assert {slot: read(again, slot) for slot in held} == held


def test_blocks_are_used_again() -> None:
    blocks = Allotted(1)
    for number in range(1000):
        write(blocks, number % 3, range(30))
        blocks.clear(np.array([number % 3]))
    assert blocks.used[0] == 32


def test_many_runs_at_once_get_a_larger_pool() -> None:
    blocks, slots = Allotted(2), np.arange(3000)
    blocks.reserve(slots, 1 + slots % 5)
    first, room = blocks.arrays.first, blocks.arrays.room
    assert (room[slots] >= 1 + slots % 5).all()
    order = slots[np.argsort(first[slots])]
    assert (first[order[:-1]] + room[order[:-1]] <= first[order[1:]]).all()
    assert first[order[-1]] + room[order[-1]] <= len(blocks.arrays.ints)
