"""Runs whose entries stand for rows: the last word of an entry is where a row store has its row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.state.arrangement import drop_ended, least
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

PLACE = -1
"""The word of an entry that says where its row is."""


class RowRuns(Runs):
    """`start`, `end`: the words of an entry that say when its row holds. Entries are stored without
    their places, with the rows in the same order."""

    def __init__(self, schema: pa.Schema, words: int, start: int, end: int) -> None:
        super().__init__(words)
        self.start, self.end = start, end
        self.rows, self.places = RowStore(schema), Places()

    def drop(self, keys: Int64s, final: int) -> None:
        """Drop the entries of some keys that end at or before a time."""
        self.make_slots(int(keys.max(initial=-1)) + 1)
        freed = np.empty(int(self.sizes(keys).sum()), np.int64)
        self.free(freed[: drop_ended(keys, self.arrays, self.end, final, freed)])

    def free(self, places: Int64s) -> None:
        """The rows at some places are not needed any more."""
        self.rows.forget(places)
        self.places.give_back(places)

    def first_ends(self, keys: Int64s) -> Int64s:
        """When the first entry of each key ends (INFINITY: none does)."""
        self.make_slots(int(keys.max(initial=-1)) + 1)
        ends = np.full(len(keys), INFINITY, np.int64)
        least(keys, self.arrays, self.end, ends)
        return ends

    def ends(self) -> Int64s:
        """When the entries of all runs start."""
        times: Int64s = self.of(np.flatnonzero(self.arrays.size))[:, self.start]
        return times

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.rows.nbytes

    def snapshot(self, slots: Int64s, prefix: str) -> dict[str, NDArray[np.generic]]:
        arrays = super().snapshot(slots, prefix)
        entries = arrays[f"{prefix}.ints"]
        rows = self.rows.take(entries[:, PLACE].astype(np.int64))
        stored = {f"{prefix}.ints": entries[:, :PLACE], f"{prefix}.rows": rows_to_bytes(rows)}
        return arrays | stored

    def restore(self, slots: Int64s, saved: dict[str, NDArray[np.generic]], prefix: str) -> None:
        entries = saved[f"{prefix}.ints"].astype(np.int64)
        places = self.places.take(len(entries))
        super().restore(slots, {**saved, f"{prefix}.ints": np.c_[entries, places]}, prefix)
        self.rows.put(places, rows_from_bytes(saved[f"{prefix}.rows"]))


class RowWords:
    """Words that are known of every row of some runs: `values[place]`."""

    def __init__(self, runs: RowRuns, words: int) -> None:
        self.runs = runs
        self.values = np.empty((0, words), np.int64)

    def make_places(self) -> None:
        """See to it that every row has words."""
        self.values = grown(self.values, self.runs.places.used)

    def make_slots(self, count: int) -> None:
        pass

    def clear(self, slots: Int64s) -> None:
        pass

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        """Stored in the order of the entries of the runs."""
        return {name: self.values[self.runs.of(slots)[:, PLACE]]}

    def restore(self, slots: Int64s, saved: dict[str, NDArray[np.generic]], name: str) -> None:
        """The runs have been restored before."""
        self.make_places()
        self.values[self.runs.of(slots)[:, PLACE]] = saved[name]
