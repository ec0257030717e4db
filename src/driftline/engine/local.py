"""The local runner: a plan in this process, over finite inputs, batch by batch.

Each source goes through Finalize (which makes raw events a valid stream, closes the past after
`remember`, and sends what comes too late to the dead letters) and Align. A batch is the events
whose place in arrival order lies in one stretch of `batch` places; what comes out after it is the
answer for exactly the events so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.batch import Batch, Changes, empty, joined
from driftline.engine.compile import compile_plan
from driftline.engine.consistency import consistency
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.graph import Scheduler
from driftline.engine.inputs import RawEvents, events_from
from driftline.model.columns import CTI
from driftline.model.columns import INSERT as INSERT_KIND
from driftline.model.reference.latency import Level
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Node, Source

DEFAULT_BATCH = 50_000


@dataclass(frozen=True)
class Options:
    """How a query is run: see `Query.run`. Durations are in ticks."""

    level: Level = Level.ORDERED
    block: int = 0
    remember: int = INFINITY
    batch: int = DEFAULT_BATCH
    scheduler: Scheduler = "drain"
    keep_open: bool = False


class _Feed:
    """One source while it is read: its events, and the operators that make them a stream."""

    def __init__(self, source: Source, data: Any, options: Options) -> None:
        self.events = events_from(source, data)
        remember = options.remember
        if source.disorder is not None and not self.events.is_log:
            remember = min(remember, max(source.disorder - 1, 0))
        schema = source.schema.arrow
        plain = not self.events.is_log
        self.finalize, self.align = consistency(schema, options.block, remember, inserts_only=plain)
        self.taken = 0

    def next(self, until: int) -> tuple[Batch, DeadLetters]:
        """What the events before a place in arrival order bring."""
        last = int(np.searchsorted(self.events.position, until))
        return self._through(self._slice(last))

    def close(self) -> tuple[Batch, DeadLetters]:
        nothing = np.zeros(1, np.int64)
        end = RawEvents(
            np.full(1, CTI, np.int8),
            np.full(1, INFINITY, np.int64),
            nothing,
            nothing,
            self.events.payload.slice(0, 0),
            nothing,
            is_log=True,
        )
        return self._through(end)

    def _slice(self, last: int) -> RawEvents:
        part = self.events.slice(self.taken, last)
        self.taken = last
        return part

    def _through(self, events: RawEvents) -> tuple[Batch, DeadLetters]:
        batch, dead = self.finalize.receive_events(events)
        return self.align.receive(0, batch), dead


@dataclass
class Output:
    """What one batch of the input leads to."""

    batch: Batch
    dead: dict[str, DeadLetters]
    counters: dict[str, dict[str, int]] = field(default_factory=dict)


def run(plan: Node, inputs: Mapping[str, Any], options: Options) -> Iterator[Output]:
    """Run a plan over finite inputs; yields what every batch leads to."""
    sources = plan.sources()
    for name in sources:
        if name not in inputs:
            raise PlanError(f"the query reads the stream {name}, but no input for it was given")
    for name in inputs:
        if name not in sources:
            known = ", ".join(sources)
            raise PlanError(f"there is an input {name}, but the query reads only {known}")
    said: list[Batch] = []
    graph = compile_plan(plan, said.append, options.level, options.scheduler)
    feeds = {name: _Feed(source, inputs[name], options) for name, source in sources.items()}
    end = max(
        (int(feed.events.position[-1]) + 1 for feed in feeds.values() if len(feed.events)),
        default=0,
    )

    def step(ready: dict[str, tuple[Batch, DeadLetters]]) -> Output:
        said.clear()
        for name, (batch, _) in ready.items():
            if not batch.is_empty:
                graph.push(name, batch)
        whole = joined(said) if said else empty(plan.schema.arrow)
        dead = {name: letters for name, (_, letters) in ready.items() if len(letters)}
        return Output(whole, dead, graph.counters())

    for until in range(options.batch, end + options.batch, options.batch):
        yield step({name: feed.next(until) for name, feed in feeds.items()})
    if not options.keep_open:
        yield step({name: feed.close() for name, feed in feeds.items()})


def changes_table(changes: Changes) -> pa.Table:
    """Inserts and retracts as a table: kind, vs, ve, vn, and the columns of the rows."""
    kinds = np.where(changes.kind == INSERT_KIND, "insert", "retract")
    inserts = changes.kind == INSERT_KIND
    times = {
        "kind": pa.array(kinds.tolist(), pa.string()),
        "vs": pa.array(changes.vs),
        "ve": pa.array(changes.ve, mask=changes.ve == INFINITY),
        "vn": pa.array(changes.vn, mask=inserts),
    }
    rows = changes.rows()
    columns = {name: rows.column(place) for place, name in enumerate(rows.schema.names)}
    return pa.table({**times, **columns})


def history_table(batches: list[Batch], schema: pa.Schema) -> pa.Table:
    """The canonical history of everything that was said: vs, ve (null: ∞), and the rows."""
    whole = joined(batches) if batches else empty(schema)
    left = whole.netted()
    if len(left) and left.weight.min() < 0:
        raise ValueError("more was retracted than was said")
    rows = np.repeat(np.arange(len(left)), left.weight)
    order = rows[np.lexsort((left.ve[rows], left.vs[rows]))]
    payload = left.payload.take(pa.array(order))
    columns = {name: payload.column(place) for place, name in enumerate(payload.schema.names)}
    ve = left.ve[order]
    return pa.table({"vs": left.vs[order], "ve": pa.array(ve, mask=ve == INFINITY), **columns})
