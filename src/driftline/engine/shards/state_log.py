"""State as a log: what a shard has received since its last snapshot, and that snapshot.

    state(version n) = the state of the snapshot, after the micro-batches received since then

A micro-batch writes what it has received, not the state it leads to, so it costs what it brings.
When the log has grown as large as twice the snapshot, or LONGEST entries long, the state is written
anew and the log begins again. An engine that is deterministic comes to the same state by the same
micro-batches.

A process that has the shard of an earlier version takes in what it has missed; another one starts
from the snapshot. Every version has a token that no other has: a shard left over from a
micro-batch that was never committed is not mistaken for the state.

The store is the only truth. It is a map from names to bytes; its head, one JSON document, says
what is there. Snapshots are arrays: nothing is run when they are read.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from driftline.engine.core.operator import OperatorKey
from driftline.engine.shards.lending import Borrowed, Gone, Lending
from driftline.engine.shards.long_lived import LongLived
from driftline.engine.shards.messages import Message
from driftline.engine.shards.stored import (
    Kept,
    Stepped,
    Stepping,
    counters_in,
    counters_to_json,
    messages_from_bytes,
    messages_to_bytes,
    state_from_bytes,
    state_to_bytes,
)
from driftline.plan.errors import PlanError

LONGEST = 256
"""So many micro-batches are kept at most before the state is written anew."""

LEAST = 1 << 22
"""A log of fewer bytes is not worth a snapshot."""

CHUNK = 1 << 23
"""The largest value of the store: a larger snapshot is written in parts."""

HEAD = "head"

SHARDS = "shards"
"""The name of the number of shards that the state was made with."""


class Store(Protocol):
    """Where the state of one shard is kept."""

    def get(self, name: str) -> bytes | None: ...
    def put(self, name: str, value: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass
class Head:
    """`lineage`: of all versions of this shard; `version`: how many micro-batches it has seen;
    `snapshot`: the version written whole, in so many `chunks` and `size` bytes; `tokens`: of the
    versions from the snapshot on; `logged`: how many bytes the log has; `query`: the fingerprint of
    the query whose state it is; `place`: the level and the number of the shard; `before`: the token
    of the version before, if there is one; the rest is for people."""

    lineage: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: int = 0
    snapshot: int = 0
    chunks: int = 0
    size: int = 0
    tokens: list[str] = field(default_factory=lambda: [uuid.uuid4().hex])
    logged: int = 0
    query: str = ""
    place: str = ""
    before: str = ""
    counters: dict[OperatorKey, dict[str, int]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return json.dumps({**self.__dict__, "counters": counters_to_json(self.counters)}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        head = json.loads(data)
        return cls(**{**head, "counters": counters_in(head)})


@dataclass(frozen=True)
class _Taken:
    """What a micro-batch has led to: the shard, what it sends, its counters, and its state if that
    is to be written."""

    shard: Stepping | Borrowed
    sent: list[Message]
    counters: dict[OperatorKey, dict[str, int]]
    state: bytes | None


class StateLog:
    """The state of one shard in a store; `kept`: the shards that this process has, by lineage;
    `lending`: how it uses those of others, and they its own."""

    def __init__(
        self,
        stage: Stepped,
        number: int,
        store: Store,
        kept: dict[str, Kept],
        lending: Lending | None = None,
    ) -> None:
        self.stage, self.number, self.store = stage, number, store
        self.kept, self.lending = kept, lending
        head = store.get(HEAD)
        place = f"{stage.level}/{number}"
        if head is None:
            self.head = Head(query=stage.query, place=place)
        else:
            self.head = Head.from_bytes(head)
            self._need_same_query()
            if self.head.place != place:
                self._refuse_place(place)

    def step(self, messages: Sequence[Message]) -> list[Message]:
        """Take a micro-batch in, and write down what has come."""
        head = self.head
        entry = messages_to_bytes(messages)
        is_long = head.version + 1 - head.snapshot >= LONGEST
        is_due = is_long or head.logged + len(entry) > max(LEAST, 2 * head.size)
        taken = self._taken(messages, is_due)
        if head.version == 0:
            self.store.put(SHARDS, str(self.stage.shards).encode())
        head.before = head.tokens[-1] if head.version else ""
        head.version += 1
        head.tokens.append(uuid.uuid4().hex)
        if taken.state is not None:
            self._write(taken.state)
        else:
            head.logged += len(entry)
            self.store.put(f"log {head.version}", entry)
        head.counters = taken.counters
        self.store.put(HEAD, head.to_bytes())
        self._keep(taken.shard)
        return taken.sent

    def _taken(self, messages: Sequence[Message], is_due: bool) -> _Taken:
        """Take a micro-batch in: by the shard of another process, if it has it."""
        head = self.head
        own = self.kept.pop(head.lineage, None)
        if self.lending is None:
            return self._taken_by(*self._current(own), messages, is_due)
        if head.version and (own is None or own.token not in head.tokens):
            borrowed = self.lending.borrowed(head.lineage, head.tokens)
            if borrowed is not None:
                self._need_same_shards(borrowed.shards)
                try:
                    return self._taken_by(borrowed, self._version(borrowed.token), messages, is_due)
                except Gone:  # by whatever: it can be done here
                    pass
        with self.lending.working():
            return self._taken_by(*self._current(own), messages, is_due)

    def _taken_by(
        self, shard: Stepping | Borrowed, version: int, messages: Sequence[Message], is_due: bool
    ) -> _Taken:
        """Let a shard take in what it has missed since a version, and the micro-batch."""
        for missed in range(version + 1, self.head.version + 1):
            shard.step(messages_from_bytes(self._read(f"log {missed}")))
        sent, state = shard.step(messages), None
        if is_due:
            state = (
                shard.state() if isinstance(shard, Borrowed) else state_to_bytes(shard.snapshot())
            )
        return _Taken(shard, sent, shard.counters(), state)

    def _current(self, kept: Kept | None) -> tuple[Stepping, int]:
        """A shard of this process at one of the versions that are there, and which that is."""
        head = self.head
        if kept is not None:
            self._need_same_shards(kept.shard.stage.shards)
            if kept.token in head.tokens:
                return kept.shard, self._version(kept.token)
        elif head.version:  # the store is asked once for every shard and process
            known = self.store.get(SHARDS)
            self._need_same_shards(self.stage.shards if known is None else int(known))
        shard = LongLived(self.stage, self.number)
        if head.chunks:
            chunks = [self._read(f"state {head.snapshot} {n}") for n in range(head.chunks)]
            shard.restore(state_from_bytes(b"".join(chunks)))
        return shard, head.snapshot

    def _version(self, token: str) -> int:
        return self.head.snapshot + self.head.tokens.index(token)

    def _keep(self, shard: Stepping | Borrowed) -> None:
        """Keep the shard for the next micro-batch where it is."""
        token, lineage = self.head.tokens[-1], self.head.lineage
        if isinstance(shard, Borrowed):
            shard.give_back(token)
            return
        self.kept[lineage] = Kept(token, shard)
        if self.lending is not None:
            self.lending.offer(lineage)

    def _need_same_query(self) -> None:
        """Refuse the state of another query, whichever process still has its shard."""
        if self.head.query != self.stage.query:
            raise PlanError(
                "the checkpoint has the state of another query: the plan, an option or the view "
                "has changed; run the query it was made by, or give this one another checkpoint"
            )

    def _refuse_place(self, place: str) -> None:
        """With another number of shards they lie elsewhere, too."""
        self._need_same_shards(int(self.store.get(SHARDS) or self.stage.shards))
        raise PlanError(
            f"the checkpoint has the state of shard {self.head.place} where that of shard {place} "
            "belongs: its files were moved; put them back, or give the query another checkpoint"
        )

    def _need_same_shards(self, made: int) -> None:
        """Refuse to go on with another number of shards: rows would not find their state."""
        if made != self.stage.shards:
            raise PlanError(
                f"the checkpoint has the state of {made} shards, and the query has "
                f"{self.stage.shards}: start it with shards={made}, or with another checkpoint"
            )

    def _read(self, name: str) -> bytes:
        value = self.store.get(name)
        if value is None:
            raise ValueError(f"the state of shard {self.number} lacks its {name}")
        return value

    def _write(self, data: bytes) -> None:
        """Write the state whole, and let the log before it go."""
        head = self.head
        chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
        for number, chunk in enumerate(chunks):
            self.store.put(f"state {head.version} {number}", chunk)
        for number in range(head.chunks):
            self.store.remove(f"state {head.snapshot} {number}")
        for version in range(head.snapshot + 1, head.version):
            self.store.remove(f"log {version}")
        head.snapshot, head.chunks, head.size = head.version, len(chunks), len(data)
        head.tokens, head.logged = head.tokens[-1:], 0
