"""The canonical history table: the meaning of a stream.

A history is the bag of lifetimes (vs, ve, row) that is left when all retractions are applied:

    history(S) = Σ over the events of S of
                     insert (vs, ve, r)       ↦  +1 (vs, ve, r)
                     retract (vs, ve, vn, r)  ↦  -1 (vs, ve, r)  and, if vs < vn,  +1 (vs, vn, r)

It is a sum, so arrival order is no part of it. A snapshot at t is the bag of the rows alive at t.

Two histories can be equal in two ways: lifetime by lifetime (`==`), or snapshot by snapshot
(`same_snapshots`), which does not see whether [1, 5) was emitted whole or as [1, 3) and [3, 5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from driftline.model.event import Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY, show

Bag = Counter[Row]
"""A bag of rows: how many times each is there."""


class Lifetime(NamedTuple):
    """The row is in the relation during [vs, ve)."""

    vs: int
    ve: int
    row: Row

    def __str__(self) -> str:
        return f"[{show(self.vs)}, {show(self.ve)}) {dict(self.row)}"


def rows_of(lifetimes: Iterable[Lifetime]) -> Bag:
    """The bag of the rows of some lifetimes."""
    return Counter(lifetime.row for lifetime in lifetimes)


class Snapshot(NamedTuple):
    """What is alive, unchanged, during [start, end): between two neighbouring endpoints."""

    start: int
    end: int
    lifetimes: tuple[Lifetime, ...]

    @property
    def rows(self) -> Bag:
        return rows_of(self.lifetimes)


class History:
    """A bag of lifetimes.

    >>> trades = History([Lifetime(1, 5, Row(p="P1")), Lifetime(4, 9, Row(p="P2"))])
    >>> trades.snapshot(4) == Counter([Row(p="P1"), Row(p="P2")])
    True
    >>> trades.endpoints
    [1, 4, 5, 9]
    """

    __slots__ = ("lifetimes",)

    def __init__(self, lifetimes: Iterable[Lifetime] = ()) -> None:
        self.lifetimes: Counter[Lifetime] = Counter(lifetimes)
        for vs, ve, row in self.lifetimes:
            if not vs < ve:
                raise ValueError(f"the lifetime {Lifetime(vs, ve, row)} is empty")

    def __iter__(self) -> Iterator[Lifetime]:
        """Every lifetime, as many times as it is in the bag, in a fixed order."""
        return iter(sorted(self.lifetimes.elements()))

    def __len__(self) -> int:
        return self.lifetimes.total()

    def __eq__(self, other: object) -> bool:
        """Equality lifetime by lifetime."""
        if not isinstance(other, History):
            return NotImplemented
        return self.lifetimes == other.lifetimes

    __hash__ = None  # type: ignore[assignment]  # a history is a value, but a mutable bag inside

    def __add__(self, other: History) -> History:
        """The bag union of two histories."""
        return History((self.lifetimes + other.lifetimes).elements())

    def __repr__(self) -> str:
        return f"History([{', '.join(str(lifetime) for lifetime in self)}])"

    @property
    def endpoints(self) -> list[int]:
        """The distinct starts and ends of all lifetimes, in order."""
        return sorted({time for vs, ve, _ in self.lifetimes for time in (vs, ve)})

    def alive(self, t: int) -> list[Lifetime]:
        """The lifetimes that hold t, in a fixed order."""
        return sorted(each for each in self.lifetimes.elements() if each.vs <= t < each.ve)

    def snapshot(self, t: int) -> Bag:
        """The bag of rows alive at t."""
        return rows_of(self.alive(t))

    def snapshots(self, also: Iterable[int] = ()) -> list[Snapshot]:
        """The snapshots between neighbouring endpoints (and the times `also` given), in order."""
        times, lifetimes = sorted({*self.endpoints, *also}), list(self)
        return [
            Snapshot(start, end, tuple(each for each in lifetimes if each.vs <= start < each.ve))
            for start, end in pairwise(times)
        ]

    def clip(self, start: int = BEGINNING, end: int = INFINITY) -> History:
        """What is left of every lifetime during [start, end)."""
        return History(
            Lifetime(max(vs, start), min(ve, end), row)
            for vs, ve, row in self.lifetimes.elements()
            if max(vs, start) < min(ve, end)
        )

    def coalesced(self) -> History:
        """The one history with the same snapshots in which no lifetime starts where an equal row's
        ends. Layer k of a row holds the longest stretches where at least k copies are alive.

        >>> History([Lifetime(1, 3, Row(a=1)), Lifetime(3, 5, Row(a=1))]).coalesced()
        History([[1, 5) {'a': 1}])
        """
        result: list[Lifetime] = []
        changes: dict[Row, Counter[int]] = {}
        for (vs, ve, row), copies in self.lifetimes.items():
            steps = changes.setdefault(row, Counter())
            steps[vs] += copies
            steps[ve] -= copies
        for row, steps in changes.items():
            open_since: list[int] = []  # one start for every layer that is open
            for time in sorted(steps):
                for _ in range(steps[time]):
                    open_since.append(time)
                for _ in range(-steps[time]):
                    result.append(Lifetime(open_since.pop(), time, row))
        return History(result)

    def same_snapshots(self, other: History) -> bool:
        """Equality snapshot by snapshot: at every time the same bag of rows."""
        return self.coalesced() == other.coalesced()


def canonical_history(events: Iterable[Event]) -> History:
    """The canonical history of a stream or of any prefix of one.

    The order of the events plays no part, so this also gives the history of a stream whose
    retraction chains arrived in the wrong order, if every retract finds its match in the end.
    """
    sums: Counter[Lifetime] = Counter()
    for event in events:
        match event:
            case Insert(vs, ve, row):
                sums[Lifetime(vs, ve, row)] += 1
            case Retract(vs, ve, vn, row):
                sums[Lifetime(vs, ve, row)] -= 1
                if vs < vn:
                    sums[Lifetime(vs, vn, row)] += 1
    for lifetime, copies in sums.items():
        if copies < 0:
            raise ValueError(f"{lifetime} is retracted, but no insert or earlier retract gave it")
    return History(sums.elements())
