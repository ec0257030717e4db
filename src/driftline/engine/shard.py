"""A shard: all fragments of one level of a plan, for the rows whose keys fall into it.

    What the shards of a level say after a micro-batch is, added up, what the fragments say for all
    rows that the micro-batch has brought: rows that belong together are in one shard, and all
    shards get the same promises.

A shard receives parcels and returns parcels; it knows nothing of how they travel. A source port
stands behind Finalize and Align; every shard sees the times of all events of a source that has an
order of arrival (or, of plain records that come at one moment, the greatest), and judges its own
rows by them. An exchange port is final as far as all its origins are.

State: that of the operators, and the latest cti of every origin of every exchange port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.batch import Batch, empty, joined
from driftline.engine.compile import compile_plan
from driftline.engine.consistency import consistency, promised
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.finalize import Promises
from driftline.engine.graph import Graph
from driftline.engine.holding import Holding
from driftline.engine.local import Options
from driftline.engine.operator import Arrays, Operator
from driftline.engine.parcels import (
    CLOCK_PORT,
    OUTPUT,
    TIMES,
    Parcel,
    Target,
    packed_batch,
    payload_of,
    times_of,
    unpack,
    unpacked_batch,
)
from driftline.engine.source_time import NO_CLOCK, SourceTime
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan import nodes
from driftline.plan.closing import Delays
from driftline.plan.fragments import Fragment, Input
from driftline.plan.timing import Timing

Int64s = NDArray[np.int64]

QUICKLY_SEEN = 200_000
"""So many rows of state are looked through after every micro-batch, to say how old they are."""

SOMETIMES = 16
"""More than these are looked through after so many."""


@dataclass(frozen=True)
class SourcePort:
    """How a source is read: its rows (as a leaf has them), whether they have an order of arrival,
    whether they are all inserts [vs, ∞), for how long it remembers, and what is known of its time
    if heartbeats follow from that."""

    leaf: nodes.Leaf
    ordered: bool
    plain: bool
    remember: int
    timing: Timing | None = None
    time_place: int | None = None  # of the column that has the values of vs, and is not sent
    primary: bool = True  # the port that says what is dead


@dataclass(frozen=True)
class Stage:
    """What the shards of one level have in common; `targets`: where each fragment's answer goes;
    `shards`: how many there are, on every level; `closing`: of what comes from other fragments, the
    columns that close."""

    level: int
    fragments: tuple[Fragment, ...]
    sources: tuple[SourcePort, ...]
    targets: dict[str, tuple[Target, ...]]
    options: Options
    shards: int
    closing: Mapping[str, Delays] = field(default_factory=dict)

    @property
    def exchanges(self) -> dict[str, Input]:
        return {
            each.leaf.name: each
            for fragment in self.fragments
            for each in fragment.inputs
            if isinstance(each.origin, str)
        }


class Times(NamedTuple):
    """The times of all events of a source in a micro-batch, in order of arrival."""

    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s


@dataclass(frozen=True)
class Answer:
    """What a shard says after a micro-batch."""

    parcels: list[Parcel]
    dead: dict[str, DeadLetters]


class Shard:
    """`graphs`, `said`, `final`: every fragment, what it has said since the last parcels went out,
    and how far all that is final; `ctis`: by exchange port, those of its origins."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.stage = stage
        self.number = number
        self.spans: dict[str, dict[str, int]] = {}
        self.steps = 0
        self.said: dict[str, list[Batch]] = {}
        self.graphs: dict[str, Graph] = {}
        for fragment in stage.fragments:
            said = self.said.setdefault(fragment.name, [])
            self.graphs[fragment.name] = compile_plan(
                fragment.plan,
                said.append,
                stage.options.level,
                stage.options.scheduler,
                [port.leaf.name for port in stage.sources if port.plain],
                stage.closing,
            )
            self.graphs[fragment.name].max_expansion = stage.options.max_expansion
        self.holding = [Holding(graph, stage.options.heartbeat) for graph in self.graphs.values()]
        self.final = dict.fromkeys(self.graphs, BEGINNING)
        self.sources = {port.leaf.name: _Source(port, stage.options) for port in stage.sources}
        self.ctis = {name: np.full(stage.shards, BEGINNING, np.int64) for name in stage.exchanges}

    def step(self, parcels: Iterable[Parcel]) -> Answer:
        """Take in all parcels of a micro-batch."""
        by_port: dict[str, list[Parcel]] = {}
        for parcel in sorted(parcels, key=lambda parcel: (parcel.port, parcel.origin)):
            by_port.setdefault(parcel.port, []).append(parcel)
        dead: dict[str, DeadLetters] = {}
        came: dict[str, Batch] = {}
        for name, source in self.sources.items():
            came[name], letters = source.take(by_port.get(name, []), by_port.get(name + TIMES, []))
            if len(letters) and source.port.primary:
                dead[name] = letters
        clocks = [source.now for source in self.sources.values()]
        clocks += [parcel.high for parcel in by_port.get(CLOCK_PORT, [])]
        now = max(clocks, default=NO_CLOCK)
        came = {name: source.advanced(came[name], now) for name, source in self.sources.items()}
        limits = self._limits(
            {name: source.complete(came[name]) for name, source in self.sources.items()}
        )
        for name, source in self.sources.items():
            self._push(name, source.aligned(came[name], limits[name]))
        for name, each in self.stage.exchanges.items():
            self._push(name, self._exchanged(name, each, by_port.get(name, [])))
        return Answer([parcel for name in self.said for parcel in self._out(name)], dead)

    def _limits(self, complete: dict[str, int]) -> dict[str, int]:
        """How far each source is let through, if so much is complete of each: of those that its
        readers wait for, and these may be in several fragments."""
        if self.stage.options.heartbeat == "query":  # all of them are here: see `stages`
            return dict.fromkeys(complete, min(complete.values(), default=INFINITY))
        found = [holding.limits(complete) for holding in self.holding]
        return {name: min(limits[name] for limits in found) for name in complete}

    def _push(self, port: str, batch: Batch) -> None:
        if batch.is_empty:
            return
        for graph in self.graphs.values():
            graph.push(port, batch)

    def _exchanged(self, name: str, each: Input, parcels: Sequence[Parcel]) -> Batch:
        latest = self.ctis[name]
        before = int(latest.min())
        for parcel in parcels:
            latest[parcel.origin] = max(int(latest[parcel.origin]), parcel.cti)
        final = int(latest.min())
        schema = each.leaf.schema.arrow
        full = [unpacked_batch(parcel.data, schema) for parcel in parcels if parcel.data]
        return replace(
            joined(full) if full else empty(schema),
            cti=final if final > before else BEGINNING,
            high=max((parcel.high for parcel in parcels), default=BEGINNING),
        )

    def _out(self, name: str) -> Iterable[Parcel]:
        said = self.said[name]
        fragment = next(each for each in self.stage.fragments if each.name == name)
        whole = joined(said) if said else empty(fragment.plan.schema.arrow)
        said.clear()
        self.final[name] = max(self.final[name], whole.cti)
        whole = replace(whole, cti=self.final[name])
        for target in self.stage.targets[name]:
            shards = 1 if target.level == OUTPUT else self.stage.shards
            yield from packed_batch(whole, target, shards, self.number)

    def counters(self) -> dict[str, dict[str, int]]:
        """What every operator has done, and what it holds."""
        found: dict[str, dict[str, int]] = {}
        spans = self._spans()
        for name, source in self.sources.items():
            found[f"{name}: finalize"] = {
                **source.finalize.counters.as_dict(),
                "dead_letters": int(source.finalize.dead.sum()),
                **({} if source.time is None else source.time.learned()),
            }
            found[f"{name}: align"] = source.align.counters.as_dict()
        for fragment, graph in self.graphs.items():
            for step, counters in graph.counters().items():
                found[f"{fragment}: {step}"] = counters
        return {name: {**counted, **spans.get(name, {})} for name, counted in found.items()}

    def _spans(self) -> dict[str, dict[str, int]]:
        """The oldest and newest time that every operator holds; of much state, as of some
        micro-batches ago: a micro-batch is to cost what it changes."""
        operators: dict[str, Operator] = {}
        for name, source in self.sources.items():
            operators[f"{name}: align"] = source.align
        for fragment, graph in self.graphs.items():
            operators |= {f"{fragment}: {step.name}": step.operator for step in graph.steps}
        self.steps += 1
        held = sum(each.counters.state_rows for each in operators.values())
        if held > QUICKLY_SEEN and self.spans and self.steps % SOMETIMES:
            return self.spans
        found = {name: each.state_span() for name, each in operators.items()}
        self.spans = {
            name: {"oldest": oldest, "newest": newest}
            for name, (oldest, newest) in found.items()
            if oldest <= newest
        }
        return self.spans

    def snapshot(self) -> dict[str, Arrays]:
        """The whole state, as arrays with names."""
        state: dict[str, Arrays] = {
            "ctis": {name: each.copy() for name, each in self.ctis.items()},
            "final": {name: np.array([cti]) for name, cti in self.final.items()},
        }
        for name, source in self.sources.items():
            state[f"finalize {name}"] = source.finalize.snapshot()
            state[f"align {name}"] = source.align.snapshot()
            if source.time is not None:
                state[f"time {name}"] = source.time.snapshot()
        for fragment, graph in self.graphs.items():
            for step, arrays in graph.snapshot().items():
                state[f"{fragment}/{step}"] = arrays
        return state

    def restore(self, state: dict[str, Arrays]) -> None:
        self.ctis = {name: each.astype(np.int64) for name, each in state["ctis"].items()}
        self.final = {name: int(each[0]) for name, each in state["final"].items()}
        for name, source in self.sources.items():
            source.finalize.restore(state[f"finalize {name}"])
            source.align.restore(state[f"align {name}"])
            if source.time is not None and f"time {name}" in state:  # a guess may start anew
                source.time.restore(state[f"time {name}"])
        for fragment, graph in self.graphs.items():
            first = f"{fragment}/"
            graph.restore(
                {
                    step.removeprefix(first): arrays
                    for step, arrays in state.items()
                    if step.startswith(first)
                }
            )


class _Source:
    """A source port: what makes its raw events a stream."""

    def __init__(self, port: SourcePort, options: Options) -> None:
        self.port = port
        self.schema = port.leaf.schema.arrow
        self.finalize, self.align = consistency(
            self.schema, options.block, port.remember, inserts_only=port.plain
        )
        self.time = None if port.timing is None else SourceTime(port.timing)

    @property
    def now(self) -> int:
        """What the arrival clock shows, as far as this source knows."""
        return NO_CLOCK if self.time is None else self.time.clock

    def complete(self, batch: Batch) -> int:
        """How far all has come, or probably has, with a batch."""
        return max(self.align.complete, batch.cti)

    def aligned(self, batch: Batch, limit: int) -> Batch:
        """What goes on when a batch has come, and others have come as far as the limit."""
        self.align.limit = limit
        return self.align.receive(0, batch)

    def advanced(self, batch: Batch, now: int) -> Batch:
        """A batch, and what more is known now that the clock, which all share, has come so far."""
        if self.time is None or now <= self.time.now:
            return batch
        self.time.advance(now)
        nothing = Times(np.empty(0, np.int8), *(np.empty(0, np.int64) for _ in range(3)))
        promises = promised(self.time, np.empty(0, np.int64), self.align)
        own = np.empty(0, np.int64)
        more, _ = self.finalize.receive_part(nothing, own, empty(self.schema).payload, promises)
        return joined([batch, more])

    def take(self, parcels: Sequence[Parcel], times: Sequence[Parcel]) -> tuple[Batch, DeadLetters]:
        full = [(parcel.origin, unpack(parcel.data)) for parcel in parcels if parcel.data]
        rows = [payload_of(part, self.schema) for _, part in full]
        payload = pa.concat_batches(rows) if rows else empty(self.schema).payload
        if self.port.ordered:
            return self._ordered(full, payload, times)
        nothing = np.empty(0, np.int64)
        vs = np.concatenate([times_of(part, "vs") for _, part in full]) if full else nothing
        payload = self._with_time(payload, vs)
        high = max((parcel.high for parcel in parcels), default=BEGINNING)
        cti = max((parcel.cti for parcel in parcels), default=BEGINNING)
        if self.time is not None:
            cti = max(cti, self._moment(self.time, times))
        return self.finalize.receive_moment(vs, payload, high, cti)

    def _with_time(self, payload: pa.RecordBatch, vs: Int64s) -> pa.RecordBatch:
        place = self.port.time_place
        if place is None:
            return payload
        field = self.schema.field(place)
        times = pa.array(vs).cast(field.type)
        return payload.set_column(place, field, times)

    def _moment(self, time: SourceTime, times: Sequence[Parcel]) -> int:
        """What the tasks say of what has come at one moment promises after it."""
        parts = [unpack(parcel.data) for parcel in times if parcel.data]
        if parts:
            whole = pa.concat_batches(parts)
            clock = int(times_of(whole, "clock").max())
            time.take_moment(
                times_of(whole, "vs"),
                times_of(whole, "count"),
                whole.column("source"),
                None if clock == NO_CLOCK else clock,
            )
        promises = promised(time, np.empty(0, np.int64), self.align)
        return BEGINNING if promises is None else promises.after

    def _ordered(
        self,
        full: Sequence[tuple[int, pa.RecordBatch]],
        payload: pa.RecordBatch,
        times: Sequence[Parcel],
    ) -> tuple[Batch, DeadLetters]:
        """The times of all tasks, in order of arrival; own rows are known by task and place."""
        parts = [(parcel.origin, unpack(parcel.data)) for parcel in times if parcel.data]
        nothing = np.empty(0, np.int64)

        def column(name: str) -> Int64s:
            return np.concatenate([nothing, *(times_of(part, name) for _, part in parts)])

        order = np.argsort(column("position"), kind="stable")
        whole = Times(
            column("kind").astype(np.int8)[order],
            *(column(name).astype(np.int64)[order] for name in ("vs", "ve", "vn")),
        )
        promises = None
        if self.time is not None:
            promises = self._in_order(self.time, whole, [part for _, part in parts], order)
        arrival = np.empty(len(order), np.int64)
        arrival[order] = np.arange(len(order))
        starts, first = {}, 0
        for origin, part in parts:
            starts[origin] = first
            first += part.num_rows
        own = np.concatenate(
            [nothing, *(arrival[starts[origin] + times_of(part, "place")] for origin, part in full)]
        )
        in_order = np.argsort(own, kind="stable")
        rows = payload.take(pa.array(in_order))
        return self.finalize.receive_part(whole, own[in_order], rows, promises)

    def _in_order(
        self, time: SourceTime, times: Times, parts: Sequence[pa.RecordBatch], order: Int64s
    ) -> Promises | None:
        """What the events of all tasks promise, in order of arrival."""
        sources = clock = None
        if parts:
            whole = pa.concat_batches(parts)
            have = whole.schema.names
            sources = whole.column("source").take(pa.array(order)) if "source" in have else None
            clock = times_of(whole, "clock")[order] if "clock" in have else None
        return promised(time, time.take(times, sources, clock), self.align)
