"""The four events of which every stream is made.

| event        | meaning                                                                    |
|--------------|----------------------------------------------------------------------------|
| insert       | the row is in the relation during [vs, ve)                                 |
| retract      | that lifetime is really [vs, vn); vn = vs removes it altogether            |
| cti          | no later event will change the relation before t                           |
| external cti | exactly `count` events with sync time in [start, end) exist in the stream  |

The sync time of a change is the earliest time at which it alters the relation: vs of an insert,
vn of a retract. A cti's is t. An external cti has none: it may arrive anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY, show


@dataclass(frozen=True, slots=True)
class Insert:
    """The row is in the relation during [vs, ve)."""

    vs: int
    ve: int
    row: Row

    @property
    def sync(self) -> int:
        return self.vs

    def __str__(self) -> str:
        return f"insert [{show(self.vs)}, {show(self.ve)}) {dict(self.row)}"


@dataclass(frozen=True, slots=True)
class Retract:
    """The lifetime [vs, ve) of the row is really [vs, vn)."""

    vs: int
    ve: int
    vn: int
    row: Row

    @property
    def sync(self) -> int:
        return self.vn

    @property
    def full(self) -> bool:
        """Whether nothing of the lifetime is left."""
        return self.vn == self.vs

    def __str__(self) -> str:
        return f"retract [{show(self.vs)}, {show(self.ve)}) to {show(self.vn)} {dict(self.row)}"


@dataclass(frozen=True, slots=True)
class Cti:
    """No later event will change the relation before t."""

    t: int

    @property
    def sync(self) -> int:
        return self.t

    def __str__(self) -> str:
        return f"cti {show(self.t)}"


@dataclass(frozen=True, slots=True)
class ExternalCti:
    """Exactly `count` changes with sync time in [start, end) exist; may arrive out of order."""

    start: int
    end: int
    count: int

    def __str__(self) -> str:
        return f"external cti: {self.count} events in [{show(self.start)}, {show(self.end)})"


Change = Insert | Retract
Event = Insert | Retract | Cti | ExternalCti

CLOSE = Cti(INFINITY)
"""The last event of a stream that has ended."""


def malformed(event: Event, timestamps: bool = False) -> str | None:
    """Why an event is not well formed on its own, or None when it is.

    >>> malformed(Insert(5, 5, Row()))
    'an insert needs vs < ve, but vs = 5, ve = 5'
    """

    def times(**named: int) -> str:
        return ", ".join(f"{name} = {show(time, timestamps)}" for name, time in named.items())

    match event:
        case Insert(vs) | Retract(vs) if vs == BEGINNING:
            return f"a lifetime starts after -∞, but {times(vs=vs)}"
        case Insert(vs, ve) if not vs < ve:
            return f"an insert needs vs < ve, but {times(vs=vs, ve=ve)}"
        case Retract(vs, ve) if not vs < ve:
            return f"a retract needs vs < ve, but {times(vs=vs, ve=ve)}"
        case Retract(vs, ve, vn) if not vs <= vn < ve:
            return f"a retract needs vs <= vn < ve, but {times(vs=vs, ve=ve, vn=vn)}"
        case ExternalCti(start, end) if not start < end:
            return f"an external cti needs from < to, but {times(**{'from': start}, to=end)}"
        case ExternalCti(count=count) if count < 0:
            return f"an external cti needs count >= 0, but count = {count}"
    return None
