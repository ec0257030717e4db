"""The queue of an operator: what it has received at its ports and not yet worked on.

What came in at one port is read in the order of arrival. A port that a token blocks is passed over;
what it holds is read first once the token goes on.

With piggybacking a port holds at most one batch without rows (a now-mark, a promise, or both), and
nothing behind it: it joins the batch that waits before it, if there is one, and otherwise the next
batch that is put in takes it along. Neither time nor a promise goes back, so both hold after that
batch as well; and an operator to which rows bring the time has less to do than for the time alone.
What a batch takes back stays in it. A token is not overtaken: what stands before it stays there.

An operator with several ports goes by the least of their times, so it has to hear of a time from
all of them. Where nothing ends at that time, it hears of it without a mark (`hear`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from driftline.engine.core.batch import Batch
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.state.fields import Arrays, Fields, Stateful
from driftline.engine.state.progress import Progress
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.time import BEGINNING, INFINITY

Item = Batch | Mark


class Queue(Stateful):
    """`items`: (port, item), to be read; `passed_over`: those of blocked ports, in their order;
    `last`: of every port, the item that was put in last, if it waits; `passed_on`: how far time
    had come in the latest now-mark that was handed on; `due`: in the latest that came at any port;
    `in_use`: what is worked on, if the queue `is_scanned` (see `outputs.heeding`); `tokens`,
    `times`: how far tokens and now-marks have come."""

    fields = Fields(numbers=("passed_on", "due"), parts=("tokens", "times"))

    def __init__(self, ports: int) -> None:
        self.items: deque[tuple[int, Item]] = deque()
        self.passed_over: deque[tuple[int, Item]] = deque()
        self.tokens, self.times = Progress(ports), Progress(ports)
        self.last: list[Item | None] = [None] * ports
        self.passed_on = self.due = BEGINNING
        self.is_scanned = False
        self.in_use: Item | None = None

    def __len__(self) -> int:
        """How much may be read, if nothing of it is blocked."""
        return len(self.items)

    @property
    def is_open(self) -> bool:
        """Whether what is put in would be taken out at once."""
        return not self.items and not self.passed_over and not self.tokens.has_begun

    @property
    def has_only_now_marks(self) -> bool:
        """Whether nothing waits but now-marks."""
        return all(isinstance(item, Batch) and item.is_only_now for _, item in self.waiting())

    def put(self, port: int, item: Item, *, piggyback: bool = False) -> int:
        """Returns how many items there are more."""
        if piggyback and isinstance(item, Batch):
            place = self._waiting_at(port)
            if place is not None:
                before = self.items[place][1]
                assert isinstance(before, Batch)
                if len(item) == 0:
                    self._exchange(place, port, before.and_promises(item))
                    return 0
                if len(before) == 0:
                    del self.items[place]
                    self.append(port, item.and_promises(before))
                    return 0
        self.append(port, item)
        return 1

    def append(self, port: int, item: Item) -> None:
        self.items.append((port, item))
        self.last[port] = item

    def _waiting_at(self, port: int) -> int | None:
        """The place of the batch that is the last of a port and still waits, if there is one."""
        if not isinstance(self.last[port], Batch):
            return None
        for back, (each, item) in enumerate(reversed(self.items), 1):
            if each == port:
                return -back if item is self.last[port] else None
        return None

    def put_back(self, port: int, batches: Iterable[Batch]) -> None:
        """Let batches be the next that are read."""
        returned = list(batches)
        self.items.extendleft((port, batch) for batch in reversed(returned))
        if self.last[port] is None:
            self.last[port] = returned[-1]

    def take(self) -> tuple[int, Item] | None:
        """The next item of a port that is not blocked."""
        while self.items:
            if self.is_scanned:
                self.in_use = self.items[0][1]
            port, item = self.items.popleft()
            if self.tokens.latest[port] <= self.tokens.time:
                if item is self.last[port]:
                    self.last[port] = None
                return port, item
            self.passed_over.append((port, item))
        return None

    def mark(self, port: int, mark: Mark) -> Mark | None:
        """A token has been read; returns the one to hand on, if the other ports are as far."""
        if self.tokens.receive(port, mark.number) == BEGINNING:
            return None
        if self.passed_over:
            self.items.extendleft(reversed(self.passed_over))
            self.passed_over.clear()
        number = self.tokens.time
        return mark if number == mark.number else Mark(MarkKind.TOKEN, number)

    def pass_token(self) -> Mark | None:
        """Read the token that is next; returns the one to hand on, if the other ports are as
        far."""
        port, token = self.items.popleft()
        assert isinstance(token, Mark)
        tokens, latest = self.tokens, self.tokens.latest
        if latest[port] > tokens.time:
            self.passed_over.append((port, token))
            return None
        if token is self.last[port]:
            self.last[port] = None
        if len(latest) == 1:  # there is no other to wait for
            latest[0] = tokens.time = token.number
            return token
        return self.mark(port, token)

    def now(self, port: int, time: int) -> int:
        """Time has come so far at a port; returns how far it has come at all of them."""
        if time > BEGINNING:
            self.due = max(self.due, time)
            self.times.receive(port, time)
        return self.times.time

    def may_hear(self, port: int, time: int) -> bool:
        """Whether a port can hear of a time without a mark: at most batches wait there, and no mark
        of another port does for it."""
        if self.last[port] is not None:
            return self._waiting_at(port) is not None
        others = (time for each, time in enumerate(self.times.latest) if each != port)
        return self.due <= self.times.time or min(others, default=INFINITY) < self.due

    def hear(self, port: int, time: int) -> None:
        """Time has come so far at a port, and nothing ends then."""
        place = self._waiting_at(port)
        if place is None:
            self.times.receive(port, time)
            return
        before = self.items[place][1]
        assert isinstance(before, Batch)
        self._exchange(place, port, replace(before, now=max(before.now, time)))

    def _exchange(self, place: int, port: int, batch: Batch) -> None:
        """Let another batch stand where the last one of a port waits."""
        self.items[place] = port, batch
        self.last[port] = batch

    def waiting(self) -> list[tuple[int, Item]]:
        """All that has been received and not yet read, in order."""
        return [*self.passed_over, *self.items]

    def scanned(self) -> list[Item | None]:
        """All that waits or is in use, whatever another thread may do with it meanwhile."""
        waiting = [*self.items]
        used = self.in_use
        return [*(item for _, item in waiting), used, *(item for _, item in [*self.items])]

    def clear(self) -> None:
        self.items.clear()
        self.passed_over.clear()
        self.last = [None] * len(self.last)

    def snapshot(self) -> Arrays:
        """Everything that waits, with how far the marks have come; nothing, if nothing is there."""
        waiting = self.waiting()
        if not waiting and not self.tokens.has_begun and not self.times.has_begun:
            return {}
        ports = np.array([port for port, _ in waiting], np.int64)
        stored = {**super().snapshot(), "ports": ports}
        for number, (_, item) in enumerate(waiting):
            if isinstance(item, Mark):
                stored[f"{number} mark"] = np.array([item.kind, item.number], np.int64)
            else:
                stored[f"{number} times"] = np.stack([item.vs, item.ve, item.weight])
                stored[f"{number} rows"] = rows_to_bytes(item.payload)
                stored[f"{number} promises"] = np.array([item.cti, item.high, item.now], np.int64)
        return stored

    def restore(self, stored: Arrays) -> None:
        if not stored:
            return
        super().restore(stored)
        for number, port in enumerate(stored["ports"].tolist()):
            if f"{number} mark" in stored:
                kind, value = stored[f"{number} mark"].tolist()
                self.put(port, Mark(MarkKind(kind), value))
                continue
            vs, ve, weight = stored[f"{number} times"].astype(np.int64)
            cti, high, now = stored[f"{number} promises"].tolist()
            rows = rows_from_bytes(stored[f"{number} rows"])
            self.put(port, Batch(vs, ve, weight, rows, cti, high, now))

    def after(self, mark: Mark) -> Arrays:
        """The snapshot of the queue right after a token has been handed on: nothing is in it."""
        queue = Queue(len(self.last))
        for port, time in enumerate(self.times.latest):
            queue.tokens.receive(port, mark.number)
            queue.now(port, time)
        queue.passed_on, queue.due = self.passed_on, self.due
        return queue.snapshot()
