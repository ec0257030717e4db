"""Fields: the state of an operator as it declares it, and what follows from that.

    fields = Fields(keys="slots", by_key=("stretches", "due"), numbers=("cti",))

A declaration names attributes. What an attribute is says how it is stored:

    keys      `Slots`, or `Places`: the keys that are live
    by_key    what is kept of every key (see `ByKey`): stored for the live keys, in their order
    derived   what is kept of every key and is not stored: `derive` computes it when all else is
              restored
    numbers   whole numbers or floats, each stored under its own name
    arrays    NumPy arrays or lists of whole numbers, stored as they are
    parts     objects with fields of their own, stored under their names, and those of a list or a
              dictionary under their numbers or keys; None has no state

A name may have a dot: `left.runs` is kept of every key, by a part. `times` names what of `by_key`
tells the times that the state is about. What is `added` later may be missing in a stored state, and
then stays as it is at the beginning; anything else that is missing is an error.

A subclass adds to the fields of its base: `fields = Base.fields | Fields(…)`. So may an object, of
what it keeps and others of its class do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.growing import SMALLEST
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY

Arrays = dict[str, NDArray[np.generic]]
Span = tuple[int, int]

NOTHING_HELD: Span = (INFINITY, BEGINNING)


def span_of(times: NDArray[np.int64]) -> Span:
    """The oldest and the newest of some times; ∞ is none.

    >>> span_of(np.array([3, 1, INFINITY]))
    (1, 3)
    """
    finite = times[times < INFINITY]
    return (int(finite.min()), int(finite.max())) if len(finite) else NOTHING_HELD


def joined_span(*spans: Span) -> Span:
    return (
        min((oldest for oldest, _ in spans), default=INFINITY),
        max((newest for _, newest in spans), default=BEGINNING),
    )


class ByKey(Protocol):
    """What is kept of every key. If it has entries, `entries()` says how many; `times_of(slots)`
    gives the times, or the first and the last of them, if it tells any."""

    @property
    def nbytes(self) -> int: ...

    def make_slots(self, count: int) -> None:
        """See to it that there is room for so many keys."""

    def clear(self, slots: Int64s) -> None:
        """Drop what is kept of keys that are gone."""

    def snapshot(self, slots: Int64s, name: str) -> Arrays: ...

    def restore(self, slots: Int64s, arrays: Arrays, name: str) -> None: ...


@dataclass(frozen=True)
class Fields:
    """See the top of this file."""

    keys: str | None = None
    by_key: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def __or__(self, more: Fields) -> Fields:
        return Fields(
            self.keys or more.keys,
            self.by_key + more.by_key,
            self.derived + more.derived,
            self.numbers + more.numbers,
            self.arrays + more.arrays,
            self.parts + more.parts,
            self.times + more.times,
            self.added + more.added,
        )


NOTHING = Fields()


class Stateful:
    """An object whose state is the attributes that it declares as its fields."""

    fields = NOTHING
    room = 0  # for what is kept of so many keys

    def snapshot(self) -> Arrays:
        """The whole state."""
        fields, arrays = self.fields, Arrays()
        if fields.keys is not None:
            keys = getattr(self, fields.keys)
            arrays |= keys.snapshot()
            live = keys.live_slots()
            for name in fields.by_key:
                arrays |= _of(self, name).snapshot(live, name)
        for name in fields.numbers:
            arrays[name] = np.array([getattr(self, name)])
        for name in fields.arrays:
            arrays[name] = np.array(getattr(self, name))
        for name, part in self._parts():
            arrays |= {f"{name}.{each}": array for each, array in part.snapshot().items()}
        return arrays

    def restore(self, arrays: Arrays) -> None:
        """Become what `snapshot` was taken of. Only an object that is new can do so."""
        if arrays and self.fields is NOTHING:
            raise ValueError(f"{type(self).__name__} keeps no state, but was given {set(arrays)}")
        try:
            self._restore(arrays)
        except KeyError as missing:
            raise ValueError(
                f"the stored state of {type(self).__name__} has no {missing}: another version of "
                "Driftline has stored it"
            ) from None
        self.derive()

    def derive(self) -> None:
        """Compute what is not stored, as all that is has been restored."""

    def _restore(self, arrays: Arrays) -> None:
        fields = self.fields
        missing = {name for name in fields.added if not _has(arrays, name)}
        if fields.keys is not None:
            keys = getattr(self, fields.keys)
            keys.restore(arrays)
            live = keys.live_slots()
            self.room = 0
            self.make_slots()
            for name in fields.by_key:
                if name not in missing:
                    _of(self, name).restore(live, arrays, name)
        for name in fields.numbers:
            if name not in missing:
                setattr(self, name, arrays[name][0].item())
        for name in fields.arrays:
            if name not in missing:
                setattr(self, name, _like(getattr(self, name), arrays[name]))
        for name, part in self._parts():
            if name not in missing:
                part.restore(part_of(arrays, name))

    def make_slots(self) -> None:
        """See to it that there is room for what is kept of all keys."""
        used = getattr(self, self.fields.keys or "").used
        if used > self.room:
            self.room = max(used, 2 * self.room, SMALLEST)
            for each in self._by_key():
                each.make_slots(self.room)

    def remove_slots(self, slots: Int64s) -> None:
        """Drop keys, and all that is kept of them."""
        if len(slots) == 0:
            return
        for each in self._by_key():
            each.clear(slots)
        getattr(self, self.fields.keys or "").remove(slots)

    def remove_all(self) -> None:
        """Drop all keys, those of the parts as well."""
        if self.fields.keys is not None:
            self.remove_slots(getattr(self, self.fields.keys).live_slots())
        for _, part in self._parts():
            part.remove_all()

    def state_size(self) -> tuple[int, int]:
        """How many rows are held (entries, or keys where nothing has entries), and how many bytes
        all takes. Nothing is gathered for that."""
        fields = self.fields
        if fields is NOTHING:
            return 0, 0
        rows, taken, has_entries = 0, 0, False
        for each in self._by_key():
            taken += each.nbytes
            if (entries := getattr(each, "entries", None)) is not None:
                rows, has_entries = rows + entries(), True
        if fields.keys is not None:
            keys = getattr(self, fields.keys)
            taken += keys.nbytes
            rows += 0 if has_entries else keys.live
        for name in fields.arrays:
            taken += _size(getattr(self, name))
        for _, part in self._parts():
            more, more_taken = part.state_size()
            rows, taken = rows + more, taken + more_taken
        return rows, taken

    def state_span(self) -> Span:
        """The oldest and the newest time that the state is about; it is looked through for that."""
        fields = self.fields
        spans = [part.state_span() for _, part in self._parts()]
        if fields.times:
            live = getattr(self, fields.keys or "").live_slots()
            spans += [span_of(_of(self, name).times_of(live)) for name in fields.times]
        return joined_span(*spans)

    def _by_key(self) -> list[ByKey]:
        """All that is kept of every key."""
        return [_of(self, name) for name in (*self.fields.by_key, *self.fields.derived)]

    def _parts(self) -> Iterator[tuple[str, Stateful]]:
        for name in self.fields.parts:
            part = getattr(self, name)
            if isinstance(part, list | dict):
                several = part.items() if isinstance(part, dict) else enumerate(part)
                yield from ((f"{name}.{each}", one) for each, one in several)
            elif part is not None:
                yield name, part


def part_of(arrays: Arrays, name: str) -> Arrays:
    """What a part of some name has stored.

    >>> part_of({"ends.asked": np.array([3]), "time": np.array([5])}, "ends")
    {'asked': array([3])}
    """
    first = f"{name}."
    return {
        each.removeprefix(first): array for each, array in arrays.items() if each.startswith(first)
    }


def _like(before: NDArray[np.generic] | list[int], stored: NDArray[np.generic]) -> object:
    """A stored array, as what stands in its place."""
    if isinstance(before, list):
        return stored.tolist()
    return np.array(stored, before.dtype, order="C")


def _size(values: NDArray[np.generic] | list[int]) -> int:
    return 8 * len(values) if isinstance(values, list) else values.nbytes


def _of(owner: object, name: str) -> Any:
    """An attribute, or that of a part."""
    return attrgetter(name)(owner) if "." in name else getattr(owner, name)


def _has(arrays: Arrays, name: str) -> bool:
    return any(each == name or each.startswith(f"{name}.") for each in arrays)
