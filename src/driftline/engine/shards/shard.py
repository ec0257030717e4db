"""A shard: all fragments of one level of a plan, for the rows whose keys fall into it.

    What the shards of a level emit after a micro-batch is, added up, what the fragments emit for
    all rows that the micro-batch has brought: rows that belong together are in one shard, and all
    shards get the same promises.

A shard receives messages and returns messages; it knows nothing of how they travel. What it unpacks
for a source port goes through a `SourceIngest`: every shard sees the times of all events of a
source that has an order of arrival (or, of plain records that come at one moment, the greatest),
and judges its own rows by them. An exchange port is final as far as all its origins are.

State: that of the operators, and the latest cti of every origin of every exchange port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.graph import Graph
from driftline.engine.core.operator import Operator, OperatorKey
from driftline.engine.core.snapshot_operator import SnapshotOperator
from driftline.engine.ingest.arrivals import ArrivedEvents, Moment, Summary
from driftline.engine.ingest.holding import Holding
from driftline.engine.ingest.source import PARTS as SOURCE_PARTS
from driftline.engine.ingest.source import SourceIngest, emitted
from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.options import Options
from driftline.engine.plan_sources import in_order_of_work
from driftline.engine.shards.letters import letters_message
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    Target,
    packed_batch,
    payload_of,
    times_of,
    unpack,
    unpacked_batch,
)
from driftline.engine.state.fields import Arrays, part_of
from driftline.engine.state.progress import Progress
from driftline.model.arrays import Int64s
from driftline.model.columns import INSERT
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan import nodes
from driftline.plan.facts import Delays
from driftline.plan.fragments import Fragment, Input
from driftline.plan.timing import Timing

NO_TIMES = np.empty(0, np.int64)

QUICKLY_SEEN = 200_000
"""So many rows of state are looked through after every micro-batch, to say how old they are."""

SOMETIMES = 16
"""More than these are looked through after so many."""

CLOCK = (MessageKind.CLOCK, "")
"""Where messages for all ports of a shard arrive."""

CTIS, FINAL = OperatorKey("ctis"), OperatorKey("final")
"""Parts of a shard's state that are no operator's; those have a port."""


@dataclass(frozen=True)
class SourcePort:
    """How a source is read: its name, its rows (as a leaf has them), whether they have an order of
    arrival, whether they are all inserts [vs, ∞), and what is known of its time."""

    source: str
    leaf: nodes.Leaf
    ordered: bool
    plain: bool
    timing: Timing
    time_place: int | None = None  # of the column that has the values of vs, and is not sent
    primary: bool = True  # the port that reports dead letters
    is_copied: bool = False  # whether every shard gets all rows

    def key(self, operator: str) -> OperatorKey:
        """One of the operators at this port."""
        return OperatorKey(operator, self.leaf.name, self.source)


@dataclass(frozen=True)
class Stage:
    """What the shards of one level have in common; `targets`: where each fragment's answer goes;
    `shards`: how many there are, on every level; `closing`: of what comes from other fragments, the
    columns that close; `below`: of what comes from other fragments, and rows of a source wait for,
    the ports of the sources below it; `query`: the fingerprint of the query."""

    level: int
    fragments: tuple[Fragment, ...]
    sources: tuple[SourcePort, ...]
    targets: dict[str, tuple[Target, ...]]
    options: Options
    shards: int
    closing: Mapping[str, Delays] = field(default_factory=dict)
    below: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    query: str = ""

    def shard(self, number: int) -> Shard:
        """One of them, before its first micro-batch."""
        return Shard(self, number)

    @property
    def exchanges(self) -> dict[str, Input]:
        return {
            each.leaf.name: each
            for fragment in self.fragments
            for each in fragment.inputs
            if isinstance(each.origin, str)
        }

    @property
    def order_of_work(self) -> list[str]:
        """The ports, in the order in which what a micro-batch brings is worked on."""
        ports = [*(port.leaf.name for port in self.sources), *self.exchanges]
        plans = [fragment.plan for fragment in self.fragments]
        if not any(isinstance(node, nodes.AsOf) for plan in plans for node in plan.walk()):
            return ports
        first = in_order_of_work(plans)
        return sorted(ports, key=lambda name: first.index(name) if name in first else len(first))


class Shard:
    """`graphs`, `emitted`, `final`: every fragment, what it has emitted since the last messages
    went out, and how far all that is final; `progress`: by exchange port, that of its origins."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.stage = stage
        self.number = number
        self.spans: dict[OperatorKey, dict[str, int]] = {}
        self.steps = 0
        self.emitted: dict[str, list[Batch]] = {}
        self.graphs: dict[str, Graph] = {}
        for fragment in stage.fragments:
            emits = self.emitted.setdefault(fragment.name, [])
            self.graphs[fragment.name] = compile_plan(
                fragment.plan,
                emits.append,
                stage.options.level,
                stage.options.scheduler,
                [port.leaf.name for port in stage.sources if port.plain],
                stage.closing,
                stage.options.expiry_in_use,
            )
            self.graphs[fragment.name].limits = stage.options.limits
            for step in self.graphs[fragment.name].steps:
                if isinstance(step.operator, SnapshotOperator):
                    step.operator.is_whole = stage.shards == 1
        self.holding = {
            name: Holding(graph, stage.options.heartbeat) for name, graph in self.graphs.items()
        }
        self.final = dict.fromkeys(self.graphs, BEGINNING)
        self.ports = {port.leaf.name: port for port in stage.sources}
        self.sources = {
            name: SourceIngest(port.leaf.schema.arrow, port.timing, stage.options, plain=port.plain)
            for name, port in self.ports.items()
        }
        self.progress = {name: Progress(stage.shards) for name in stage.exchanges}
        self.order_of_work = stage.order_of_work

    def step(self, messages: Iterable[Message]) -> list[Message]:
        """Take in all messages of a micro-batch; returns those to later levels, and outputs."""
        by_port: dict[tuple[MessageKind, str], list[Message]] = {}
        for message in sorted(messages, key=lambda message: (message.port, message.origin)):
            by_port.setdefault((message.kind, message.port), []).append(message)
        sent: list[Message] = []
        received: dict[str, Batch] = {}
        for name, source in self.sources.items():
            port = self.ports[name]
            rows, times = (
                by_port.get((kind, name), []) for kind in (MessageKind.ROWS, MessageKind.TIMES)
            )
            received[name], letters = source.receive(_arrivals(port, rows, times))
            if len(letters) and port.primary and not (port.is_copied and self.number):
                sent.append(letters_message(port.source, letters, self.number))
        clock = max((message.high for message in by_port.get(CLOCK, [])), default=NO_CLOCK)
        batches = emitted(self.sources, received, self._limits, clock)
        for name, each in self.stage.exchanges.items():
            batches[name] = self._exchanged(name, each, by_port.get((MessageKind.ROWS, name), []))
        for name in self.order_of_work:
            self._push(name, batches[name])
        return sent + [message for name in self.emitted for message in self._out(name)]

    def _limits(self, complete: dict[str, int]) -> dict[str, int]:
        """How far each source is let through, if so much is complete of each: of those that its
        readers wait for, and these may be in several fragments."""
        if self.stage.options.heartbeat == "query":  # all of them are here: see `stages`
            return dict.fromkeys(complete, min(complete.values(), default=INFINITY))
        known = dict(complete)
        for leaf, ports in self.stage.below.items():
            known[leaf] = min(complete[port] for port in ports)
        found = [holding.limits(known) for holding in self.holding.values()]
        return {name: min(limits[name] for limits in found) for name in complete}

    def _push(self, port: str, batch: Batch) -> None:
        if batch.is_empty:
            return
        for graph in self.graphs.values():
            graph.push(port, batch)

    def _exchanged(self, name: str, each: Input, messages: Sequence[Message]) -> Batch:
        progress = self.progress[name]
        for message in messages:
            progress.receive(message.origin, message.cti)
        schema = each.leaf.schema.arrow
        full = [unpacked_batch(message.data, schema) for message in messages if message.data]
        return replace(
            joined(full) if full else empty(schema),
            cti=progress.promise(progress.time),
            high=max((message.high for message in messages), default=BEGINNING),
        )

    def _out(self, name: str) -> Iterable[Message]:
        emits = self.emitted[name]
        fragment = next(each for each in self.stage.fragments if each.name == name)
        whole = joined(emits) if emits else empty(fragment.plan.schema.arrow)
        emits.clear()
        self.final[name] = max(self.final[name], whole.cti)
        whole = replace(whole, cti=self.final[name])
        for target in self.stage.targets[name]:
            shards = 1 if target.level == OUTPUT else self.stage.shards
            yield from packed_batch(whole, target, shards, self.number)

    def counters(self) -> dict[OperatorKey, dict[str, int]]:
        """What every operator has done, and what it holds."""
        found: dict[OperatorKey, dict[str, int]] = {}
        spans = self._spans()
        for name, source in self.sources.items():
            port = self.ports[name]
            copied = {"copied": 1} if port.is_copied else {}
            found |= {
                port.key(part): counted | copied for part, counted in source.counters().items()
            }
        for fragment, graph in self.graphs.items():
            for step, counters in graph.counters().items():
                found[OperatorKey(step, fragment)] = counters
        return {key: {**counted, **spans.get(key, {})} for key, counted in found.items()}

    def _spans(self) -> dict[OperatorKey, dict[str, int]]:
        """The oldest and newest time that every operator holds; of much state, as of some
        micro-batches ago: a micro-batch is to cost what it changes."""
        operators: dict[OperatorKey, Operator] = {
            self.ports[name].key("align"): source.align for name, source in self.sources.items()
        }
        for fragment, graph in self.graphs.items():
            operators |= {OperatorKey(step.name, fragment): step.operator for step in graph.steps}
        self.steps += 1
        held = sum(each.state_size()[0] for each in operators.values())
        if held > QUICKLY_SEEN and self.spans and self.steps % SOMETIMES:
            return self.spans
        found = {key: each.state_span() for key, each in operators.items()}
        self.spans = {
            key: {"oldest": oldest, "newest": newest}
            for key, (oldest, newest) in found.items()
            if oldest <= newest
        }
        return self.spans

    def snapshot(self) -> dict[OperatorKey, Arrays]:
        """The whole state, as arrays with names."""
        state: dict[OperatorKey, Arrays] = {
            CTIS: {
                f"{name}.{each}": array
                for name, progress in self.progress.items()
                for each, array in progress.snapshot().items()
            },
            FINAL: {name: np.array([cti]) for name, cti in self.final.items()},
        }
        if self.stage.options.heartbeat == "memory":
            state |= {_held(name): each.snapshot() for name, each in self.holding.items()}
        for name, source in self.sources.items():
            port = self.ports[name]
            state |= {port.key(part): arrays for part, arrays in source.snapshot().items()}
        for fragment, graph in self.graphs.items():
            for step, arrays in graph.snapshot().items():
                state[OperatorKey(step, fragment)] = arrays
        return state

    def restore(self, state: dict[OperatorKey, Arrays]) -> None:
        for name, progress in self.progress.items():
            progress.restore(part_of(state[CTIS], name))
        self.final = {name: int(each[0]) for name, each in state[FINAL].items()}
        for name, holding in self.holding.items():
            holding.restore(state.pop(_held(name), {}))
        for name, source in self.sources.items():
            parts = {part: state.get(self.ports[name].key(part)) for part in SOURCE_PARTS}
            source.restore({part: arrays for part, arrays in parts.items() if arrays is not None})
        for fragment, graph in self.graphs.items():
            graph.restore(
                {
                    key.operator: arrays
                    for key, arrays in state.items()
                    if (key.port, key.source) == (fragment, "")
                }
            )


def _held(fragment: str) -> OperatorKey:
    """Where what the operators of a fragment have given and taken is stored."""
    return OperatorKey("holding", fragment)


def _arrivals(
    port: SourcePort, messages: Sequence[Message], times: Sequence[Message]
) -> ArrivedEvents:
    """What the tasks have sent of a source: the rows of this shard, and the times of all."""
    schema = port.leaf.schema.arrow
    full = [(message.origin, unpack(message.data)) for message in messages if message.data]
    rows = [payload_of(part, schema) for _, part in full]
    payload = pa.concat_batches(rows) if rows else empty(schema).payload
    parts = [(message.origin, unpack(message.data)) for message in times if message.data]
    if port.ordered:
        return _in_order(full, payload, parts)
    vs = _column([part for _, part in full], "vs")
    endless = np.full(len(vs), INFINITY, np.int64)
    moment = Moment(
        max((message.high for message in messages), default=BEGINNING),
        max((message.cti for message in messages), default=BEGINNING),
        _summary([part for _, part in parts]) if parts else None,
    )
    kind = np.full(len(vs), INSERT, np.int8)
    return ArrivedEvents(kind, vs, endless, endless, _with_time(port, payload, vs), moment=moment)


def _with_time(port: SourcePort, payload: pa.RecordBatch, vs: Int64s) -> pa.RecordBatch:
    place = port.time_place
    if place is None:
        return payload
    field = port.leaf.schema.arrow.field(place)
    return payload.set_column(place, field, pa.array(vs).cast(field.type))


def _summary(parts: Sequence[pa.RecordBatch]) -> Summary:
    """What the tasks know of the times of all records that came at one moment."""
    whole = pa.concat_batches(parts)
    clock = int(times_of(whole, "clock").max())
    return Summary(
        times_of(whole, "vs"),
        times_of(whole, "count"),
        whole.column("source"),
        None if clock == NO_CLOCK else clock,
    )


def _in_order(
    full: Sequence[tuple[int, pa.RecordBatch]],
    payload: pa.RecordBatch,
    parts: Sequence[tuple[int, pa.RecordBatch]],
) -> ArrivedEvents:
    """The times of all tasks, in order of arrival; own rows are known by task and place."""
    times = [part for _, part in parts]
    order = np.argsort(_column(times, "position"), kind="stable")
    arrival = np.empty(len(order), np.int64)
    arrival[order] = np.arange(len(order))
    starts, first = {}, 0
    for origin, part in parts:
        starts[origin] = first
        first += part.num_rows
    places = [arrival[starts[origin] + times_of(part, "place")] for origin, part in full]
    own = np.concatenate([NO_TIMES, *places])
    in_order = np.argsort(own, kind="stable")
    have = times[0].schema.names if times else []
    sources = clock = None
    if "source" in have:
        sources = pa.concat_batches(times).column("source").take(pa.array(order))
    if "clock" in have:
        clock = _column(times, "clock")[order]
    kind, vs, ve, vn = (_column(times, name)[order] for name in ("kind", "vs", "ve", "vn"))
    rows = payload.take(pa.array(in_order))
    return ArrivedEvents(kind.astype(np.int8), vs, ve, vn, rows, own[in_order], sources, clock)


def _column(parts: Sequence[pa.RecordBatch], name: str) -> Int64s:
    return np.concatenate([NO_TIMES, *(times_of(part, name) for part in parts)]).astype(np.int64)
