"""Flying Fixed-Point: how far the answer of a loop is final, found while the loop runs.

A speculative punctuation goes round the loop in the queues, one at a time, behind all that was sent
round before it. When it is back, what was sent round before has come to what it leads to; of
what was sent round meanwhile the earliest change is known, and nothing leads to an earlier one:

    definite punctuation  d = min(s, e)    s: the time it came back with
                                           e: the earliest change emitted since it left

No later change of the loop is before d. What differs is which time it leaves with, and when:

    probing   with ∞, as soon as the one before is back; operators revise it downward
    hybrid    the same, but only while external progress is ahead of what is definite, and no head
              holds back a change that is not (which would be what it comes back with)
    hwm       with the latest change emitted so far, if that is ahead; it lodges at operators that
              have not come so far, and goes round again if there was an earlier change meanwhile

All times are those of ctis: "no change before t".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.engine.state.fields import Fields, Stateful
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Loops


class FlyingFixedPoint(Stateful):
    """`definite`: the latest definite punctuation; `sent`: the time with which the speculative
    punctuation on its way has left, and `to_send`: that of one that has to go round again
    (BEGINNING: there is none); `earliest`: the earliest change emitted since it left; `high`: no
    change emitted so far is at or after it; of every head, `external`: the external progress that
    has come there, `back`: the time the speculative punctuation has come back with, and `missing`:
    whether it has not. `speculative`, `promised`: how many speculative and definite punctuations
    there were."""

    fields = Fields(
        numbers=("definite", "high", "earliest", "speculative", "promised", "sent", "to_send"),
        arrays=("external", "back", "missing"),
    )

    def __init__(self, method: Loops, external: Sequence[int]) -> None:
        self.method = method
        self.definite = self.high = self.sent = self.to_send = BEGINNING
        self.earliest = INFINITY
        self.external = np.array(external, np.int64)
        self.back = np.full(len(self.external), INFINITY)
        self.missing = np.ones(len(self.external), np.bool_)
        self.speculative = self.promised = 0

    @property
    def current(self) -> int | None:
        """The time of the speculative punctuation on its way, if there is one."""
        return self.sent if self.sent > BEGINNING else None

    @property
    def again(self) -> int | None:
        """That of one that has to go round again, if there is one."""
        return self.to_send if self.to_send > BEGINNING else None

    @property
    def lodges(self) -> bool:
        """Whether speculative punctuation waits at operators that have not come so far."""
        return self.method == "hwm"

    def emitted(self, earliest: int, latest: int) -> None:
        """A head has emitted changes, between these times."""
        if earliest == INFINITY:
            return  # nothing has changed
        self.earliest = min(self.earliest, max(earliest, self.definite))
        self.high = max(self.high, latest + 1)

    def progress(self, head: int, time: int) -> None:
        """External progress has come so far at a head."""
        self.external[head] = max(int(self.external[head]), time)

    def next(self, ports: int, held: int) -> int | None:
        """The time with which a speculative punctuation is to leave now, if one is; `ports`: how
        far all inputs of the loop have come; `held`: the earliest change that a head holds back."""
        if self.current is not None:
            return None
        if self.again is not None:
            return self.again
        if self.method == "probing":
            return INFINITY
        if self.method == "hybrid":
            can_come = min(int(self.external.min()), held)
            return INFINITY if can_come > self.definite else None
        target = INFINITY if ports == INFINITY else self.high
        return target if target > self.definite else None

    def leaves(self, time: int) -> None:
        """A speculative punctuation is sent round."""
        self.sent, self.to_send, self.earliest = time, BEGINNING, INFINITY
        self.missing[:] = True
        self.speculative += 1

    def returns(self, head: int, time: int) -> int | None:
        """The speculative punctuation is back at a head; returns the definite punctuation that
        follows, if it is back at all of them and one does."""
        self.back[head], self.missing[head] = time, False
        if self.missing.any():
            return None
        left, self.sent = self.sent, BEGINNING
        found = min(int(self.back.min()), self.earliest)
        if self.lodges and found < left:
            self.to_send = left
            return None
        if found <= self.definite:
            return None
        self.definite = found
        self.promised += 1
        return found
