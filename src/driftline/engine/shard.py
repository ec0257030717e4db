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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.batch import Batch, empty, joined
from driftline.engine.compile import compile_plan
from driftline.engine.consistency import consistency
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.graph import Graph
from driftline.engine.local import Options
from driftline.engine.operator import Arrays
from driftline.engine.parcels import (
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
from driftline.model.time import BEGINNING
from driftline.plan import nodes
from driftline.plan.fragments import Fragment, Input

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class SourcePort:
    """How a source is read: its rows (as a leaf has them), whether they have an order of arrival,
    whether they are all inserts [vs, ∞), and for how long it remembers."""

    leaf: nodes.Leaf
    ordered: bool
    plain: bool
    remember: int
    primary: bool = True  # the port that says what is dead


@dataclass(frozen=True)
class Stage:
    """What the shards of one level have in common; `targets`: where each fragment's answer goes;
    `shards`: how many there are, on every level."""

    level: int
    fragments: tuple[Fragment, ...]
    sources: tuple[SourcePort, ...]
    targets: dict[str, tuple[Target, ...]]
    options: Options
    shards: int

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
            )
        self.final = dict.fromkeys(self.graphs, BEGINNING)
        self.sources = {port.leaf.name: _Source(port, stage.options) for port in stage.sources}
        self.ctis = {name: np.full(stage.shards, BEGINNING, np.int64) for name in stage.exchanges}

    def step(self, parcels: Iterable[Parcel]) -> Answer:
        """Take in all parcels of a micro-batch."""
        by_port: dict[str, list[Parcel]] = {}
        for parcel in sorted(parcels, key=lambda parcel: (parcel.port, parcel.origin)):
            by_port.setdefault(parcel.port, []).append(parcel)
        dead: dict[str, DeadLetters] = {}
        for name, source in self.sources.items():
            came, letters = source.take(by_port.get(name, []), by_port.get(name + TIMES, []))
            if len(letters) and source.port.primary:
                dead[name] = letters
            self._push(name, came)
        for name, each in self.stage.exchanges.items():
            self._push(name, self._exchanged(name, each, by_port.get(name, [])))
        return Answer([parcel for name in self.said for parcel in self._out(name)], dead)

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
        for name, source in self.sources.items():
            dead = int(source.finalize.dead.sum())
            found[f"{name}: finalize"] = {
                **source.finalize.counters.as_dict(),
                "dead_letters": dead,
            }
            found[f"{name}: align"] = source.align.counters.as_dict()
        for fragment, graph in self.graphs.items():
            for step, counters in graph.counters().items():
                found[f"{fragment}: {step}"] = counters
        return found

    def snapshot(self) -> dict[str, Arrays]:
        """The whole state, as arrays with names."""
        state: dict[str, Arrays] = {
            "ctis": {name: each.copy() for name, each in self.ctis.items()},
            "final": {name: np.array([cti]) for name, cti in self.final.items()},
        }
        for name, source in self.sources.items():
            state[f"finalize {name}"] = source.finalize.snapshot()
            state[f"align {name}"] = source.align.snapshot()
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

    def take(self, parcels: Sequence[Parcel], times: Sequence[Parcel]) -> tuple[Batch, DeadLetters]:
        full = [(parcel.origin, unpack(parcel.data)) for parcel in parcels if parcel.data]
        rows = [payload_of(part, self.schema) for _, part in full]
        payload = pa.concat_batches(rows) if rows else empty(self.schema).payload
        if self.port.ordered:
            batch, dead = self._ordered(full, payload, times)
        else:
            nothing = np.empty(0, np.int64)
            vs = np.concatenate([times_of(part, "vs") for _, part in full]) if full else nothing
            high = max((parcel.high for parcel in parcels), default=BEGINNING)
            cti = max((parcel.cti for parcel in parcels), default=BEGINNING)
            batch, dead = self.finalize.receive_moment(vs, payload, high, cti)
        return self.align.receive(0, batch), dead

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
        return self.finalize.receive_part(whole, own[in_order], payload.take(pa.array(in_order)))
