"""What one micro-batch emits: the messages that have left the last stage, unpacked on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.operator import OperatorKey
from driftline.engine.ingest.dead_letters import DeadLetters
from driftline.engine.outputs.now_view import NowChanges, NowView
from driftline.engine.shards.letters import letters_from_bytes, letters_message
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    Target,
    packed_batch,
    unpacked_batch,
)
from driftline.engine.shards.reads import Read, read_from_bytes, read_message, together
from driftline.engine.shards.stored import counters_in
from driftline.model.old_names import renamed
from driftline.model.prefix import Prefix
from driftline.model.time import BEGINNING
from driftline.plan.nodes import Node
from driftline.spark.views import MicroBatch
from driftline.spark.written import FileTarget, WrittenFile, files_in

T = TypeVar("T")


class NowChanged(Protocol):
    """By output, what changes in the answer now."""

    @property
    def changes(self) -> Mapping[str, NowChanges]: ...


@dataclass(frozen=True)
class SparkUpdate:
    """What one micro-batch emits. `batches`: by output, the changes and (as their cti) how far the
    whole answer is final now; `dead_letters`: by source; `shard_states`: by level and shard, what
    the shard holds; `time`: when it began, in milliseconds; `run`: the query, as its checkpoint has
    it; `timestamps`: the outputs and sources whose times are TIMESTAMPs; `now`: what it changes in
    the answers now; `shown`: the latest time that a source has shown, if no shard tells it;
    `files`: what executors have written of the outputs, whose batches then have no rows;
    `reads`: by source, what it has read, where that is counted; `prefix`: with outputs "marked",
    the events of every source that all updates up to this one are the exact answer for."""

    batch_id: int
    batches: Mapping[str, Batch]
    dead_letters: Mapping[str, DeadLetters]
    shard_states: Mapping[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    time: int = 0
    run: str = ""
    timestamps: frozenset[str] = frozenset()
    now: NowChanged | None = None
    shown: int = BEGINNING
    files: Mapping[FileTarget, Sequence[WrittenFile]] | None = None
    reads: Mapping[str, Read] = field(default_factory=dict)
    prefix: Prefix | None = None

    def micro_batch(self, output: str) -> MicroBatch:
        """One of the outputs, for the views of a result."""
        stamps = output in self.timestamps
        now = None if self.now is None else self.now.changes.get(output)
        return MicroBatch(self.batches[output], self.batch_id, self.time, stamps, now, self.prefix)

    def only(self, output: str) -> SparkUpdate:
        """One of the outputs alone, without dead letters."""
        batches = self.batches
        mine: Mapping[str, Batch] = (
            _Unpacked({output: batches.messages[output]}, batches.unpack)
            if isinstance(batches, _Unpacked)
            else {output: batches[output]}
        )
        return replace(self, batches=mine, dead_letters={})

    @property
    def latest(self) -> int:
        """The greatest time that a source shows in this micro-batch, or has shown before it."""
        shown = (counted.get("latest", BEGINNING) for counted in self.counters.values())
        return max([self.shown, *shown])

    def by_shard(self, output: str) -> list[tuple[int, MicroBatch]]:
        """What each shard has changed of an output, where that is known."""
        whole = self.micro_batch(output)
        if not isinstance(self.batches, _Unpacked):
            return [(0, whole)]
        schema, own = whole.batch.payload.schema, self.batches.messages[output]
        return [
            (message.origin, replace(whole, batch=unpacked_batch(message.data, schema)))
            for message in own
            if message.data
        ]

    @property
    def dead(self) -> Mapping[str, DeadLetters]:
        """The old name of `dead_letters`."""
        renamed("SparkUpdate.dead", "SparkUpdate.dead_letters")
        return self.dead_letters

    @property
    def heads(self) -> Mapping[tuple[int, int], dict[str, Any]]:
        """The old name of `shard_states`."""
        renamed("SparkUpdate.heads", "SparkUpdate.shard_states")
        return self.shard_states

    def moment(self, output: str) -> MicroBatch:
        """The old name of `micro_batch`."""
        renamed("SparkUpdate.moment", "SparkUpdate.micro_batch")
        return self.micro_batch(output)

    @property
    def counters(self) -> dict[OperatorKey, dict[str, int]]:
        """What every operator has done so far, and what it holds."""
        return {
            key: counted
            for (level, shard), head in self.shard_states.items()
            for key, counted in counters_in(head, level, shard).items()
        }

    def packed(self) -> list[Message]:
        """The outputs, dead letters and what was read as messages: those that they came in, where
        they did."""
        outputs = _messages(self.batches, _output_message)
        if self.latest > BEGINNING:
            outputs.append(Message(OUTPUT, MessageKind.CLOCK, "", 0, 0, high=self.latest))
        reads = [read_message(name, each, 0) for name, each in self.reads.items()]
        return (
            reads
            + outputs
            + _messages(self.dead_letters, lambda name, each: letters_message(name, each, 0))
        )


def _messages(given: Mapping[str, T], pack: Callable[[str, T], Message]) -> list[Message]:
    if isinstance(given, _Unpacked):
        return [message for own in given.messages.values() for message in own]
    return [pack(name, each) for name, each in given.items()]


def _output_message(name: str, batch: Batch) -> Message:
    (message,) = packed_batch(batch, Target(OUTPUT, name), 1, 0)
    return message


@dataclass(frozen=True)
class _NothingNow:
    changes: Mapping[str, NowChanges]


def before_the_first(plans: Mapping[str, Node], run: str) -> SparkUpdate:
    """An update without rows: by it sinks check what they will be given (see `Several.prepare`)."""
    schemas = {name: plan.schema.arrow for name, plan in plans.items()}
    nothing = {name: empty(schema) for name, schema in schemas.items()}
    now = {
        name: NowView(schema, "latest").update(nothing[name], BEGINNING)
        for name, schema in schemas.items()
    }
    stamps = frozenset(name for name, plan in plans.items() if plan.timestamps)
    return SparkUpdate(-1, nothing, {}, run=run, timestamps=stamps, now=_NothingNow(now))


def spark_update(
    batch_id: int,
    messages: Iterable[Message],
    plans: Mapping[str, Node],
    sources: Mapping[str, Node],
    shards: int | None = None,
    *,
    in_files: bool = False,
) -> SparkUpdate:
    """The update of the messages that have left the last stage. `shards`: how many have to
    promise something for it to hold; None: that has been seen to; `in_files`: executors have
    written the rows to files."""
    outputs: dict[str, list[Message]] = {name: [] for name in plans}
    dead: dict[str, list[Message]] = {}
    heads: dict[tuple[int, int], dict[str, Any]] = {}
    shown = BEGINNING
    reads: dict[str, list[Read]] = {}
    for message in sorted(messages, key=lambda message: message.origin):
        match message.kind:
            case MessageKind.ROWS:
                outputs[message.port].append(message)
            case MessageKind.DEAD_LETTERS:
                dead.setdefault(message.port, []).append(message)
            case MessageKind.CLOCK:
                shown = max(shown, message.high)
            case MessageKind.COUNTERS:
                heads[int(message.port), message.origin] = json.loads(message.data)
            case MessageKind.READ:
                reads.setdefault(message.port, []).append(read_from_bytes(message.data))
    for name, own in outputs.items():
        if shards is not None and len(own) != shards:
            outputs[name] = [replace(message, cti=BEGINNING) for message in own]

    files = None
    if in_files:
        files = files_in([message for own in outputs.values() for message in own])
        for name, own in outputs.items():
            outputs[name] = [replace(message, data=b"") for message in own]

    def batch(name: str, own: Sequence[Message]) -> Batch:
        schema = plans[name].schema.arrow
        full = [unpacked_batch(message.data, schema) for message in own if message.data]
        final = min((message.cti for message in own), default=BEGINNING)
        return replace(joined(full) if full else empty(schema), cti=final)

    def letters(name: str, own: Sequence[Message]) -> DeadLetters:
        schema = sources[name].schema.arrow
        first, *more = (letters_from_bytes(message.data, schema) for message in own)
        return first.with_more(more)

    stamps = (name for name, node in {**sources, **plans}.items() if node.timestamps)
    return SparkUpdate(
        batch_id,
        _Unpacked(outputs, batch),
        _Unpacked(dead, letters),
        heads,
        timestamps=frozenset(stamps),
        shown=shown,
        files=files,
        reads={name: together(parts) for name, parts in reads.items()},
    )


class _Unpacked(Mapping[str, T]):
    """What messages hold, by name; it is unpacked when it is asked for."""

    def __init__(
        self,
        messages: Mapping[str, Sequence[Message]],
        unpack: Callable[[str, Sequence[Message]], T],
    ) -> None:
        self.messages, self.unpack = messages, unpack
        self.known: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self.known:
            self.known[name] = self.unpack(name, self.messages[name])
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)
