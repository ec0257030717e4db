"""Marks: what travels in the queues between batches, in FIFO order, and is no part of the data.

    token n    every event that its source let in before its n-th token stands before it
    now T      application time has come to T: what ends at or before T is over
    sp T       speculative punctuation: no change before T is to come, if what came before it holds
    ep T       external progress: no input of the loop changes anything before T

The last two are alive only inside a loop that runs free (see `engine.loop.free`). Definite
punctuation is a cti, which is a field of batches.

A mark says something of the stream that it travels in; an operator that has several ports says it
of its output when it holds for all of them:

    merged(n₁, …, nₚ) = min nᵢ        over the latest mark of each port

A token also blocks: a port that is ahead of the merged number is not read until the others have
come as far. So when an operator hands a token on, its state and its output are what follows from
exactly the events before that token, and a token at an output says the same of the whole plan.

A now-mark promises nothing, and it need not travel alone: a batch has a field for it (`Batch.now`),
and a batch that says nothing else is the mark itself. So it is labelled, stored and queued as any
batch is, and can be put together with one (see `queues`).

A speculative punctuation goes round once at a time, so an operator hands it on when it has come at
every port that the loop leads to (`Speculation`), with the least of these times. Its other ports
bound it by their ctis, and what the operator holds back by the earliest change in it. With lodging
it waits instead until both have come so far, and goes on as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from driftline.engine.state.fields import Fields, Stateful
from driftline.model.time import INFINITY


class MarkKind(IntEnum):
    """What a mark says. The numbers are stored in checkpoints."""

    TOKEN = 1
    NOW = 2
    SPECULATIVE = 3
    EXTERNAL = 4


@dataclass(frozen=True, slots=True)
class Mark:
    kind: MarkKind
    number: int


LAST_TOKEN = Mark(MarkKind.TOKEN, INFINITY)
"""Of a source that has ended: no other has to wait for its tokens."""


class Speculation(Stateful):
    """How far progress has come at an operator inside a loop. `inside`: the ports that the loop
    leads to; `external`: by port, the external progress, which is a cti at the others; `came`: the
    times of the speculative punctuation that is on its way, by port; `missing`: the ports at which
    it has not come."""

    fields = Fields(arrays=("external", "came", "missing"))

    def __init__(self, inside: Sequence[bool], external: Sequence[int]) -> None:
        self.inside = np.array(inside, np.bool_)
        self.external = np.array(external, np.int64)
        self.came = np.full(len(self.inside), INFINITY, np.int64)
        self.missing = self.inside.copy()

    def progress(self, port: int, time: int) -> int | None:
        """External progress has come so far at a port; returns how far it has come at all of them,
        if that is news."""
        before = int(self.external.min())
        self.external[port] = max(int(self.external[port]), time)
        now = int(self.external.min())
        return now if now > before else None

    def speculate(self, port: int, time: int) -> None:
        """A speculative punctuation has come at a port."""
        self.came[port], self.missing[port] = time, False

    def released(self, held: int, *, lodges: bool) -> int | None:
        """The time of the speculative punctuation that is handed on now, if one is; `held`: the
        earliest change that the operator holds back."""
        if self.missing.any():
            return None
        time = int(self.came.min())
        known = min(int(self.external[~self.inside].min(initial=INFINITY)), held)
        if lodges and time > known:
            return None
        self.came[:], self.missing = INFINITY, self.inside.copy()
        return min(time, known)
