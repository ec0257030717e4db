"""Queries that run in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, cast

from driftline.api.planned import Planned
from driftline.api.relation import Relation
from driftline.arguments import flag, is_whole, options_of
from driftline.plan import nodes
from driftline.plan.choices import (
    ADAPTIVE,
    CHOICES,
    Clock,
    Emit,
    Expiry,
    Heartbeat,
    Heeding,
    Loops,
    Outputs,
    Scheduler,
    Tokens,
    need_choice,
    need_clock,
    need_now,
    need_together,
    tokens_of,
)
from driftline.plan.durations import Duration
from driftline.plan.errors import PlanError
from driftline.plan.lifetimes import is_loose
from driftline.plan.sizes import DEFAULT_EXPANSION, DEFAULT_STEPS
from driftline.results import Now, Result, Update


@dataclass(frozen=True, repr=False)
class Query(Relation):
    """A query: a plan, the ways to build on it, and those to run it in this process."""

    def _of(self, plan: nodes.Node, *others: Planned) -> Self:
        for other in others:
            if not isinstance(other, Query):  # one that comes with its inputs
                return cast(Self, other._of(plan, self))
        return super()._of(plan)

    def changes(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        emit: Emit = "ordered",
        block: Duration = 0,
        remember: Duration = "inf",
        scheduler: Scheduler = "drain",
        keep_open: bool = False,
        heartbeat: Heartbeat = "source",
        strict: bool = False,
        final: bool = False,
        max_expansion: int | str = DEFAULT_EXPANSION,
        max_steps: int | str = DEFAULT_STEPS,
        outputs: Outputs = "free",
        tokens: Tokens = ADAPTIVE,
        heeding: Heeding | None = None,
        clock: Clock | None = None,
        expiry: Expiry = "piggyback",
        loop: Loops = "hybrid",
        **more: Any,
    ) -> Iterator[Update]:
        """Run the query in this process, and yield an update after every batch of input."""
        from driftline.engine import local
        from driftline.engine.options import DEFAULT_BATCH
        from driftline.kernels import announce_compilation

        announce_compilation(sys.stderr)
        if batch is not None and (not is_whole(batch) or batch < 1):
            raise PlanError(f"batch is how many events are taken in at once, not {batch!r}")
        need_together(scheduler, outputs, heeding)
        need_choice("expiry", expiry)
        need_choice("loop", loop)
        if clock is not None:
            need_clock(clock, timestamps=self.plan.timestamps)
        flag(keep_open, "keep_open")
        if flag(final, "final") and clock is not None:
            raise PlanError("an answer now is not final: leave final out")
        if inputs is not None and not isinstance(inputs, Mapping):
            name = next(iter(self.plan.sources()), "trades")
            raise PlanError(
                f"inputs are given by the names of the streams, run({name}=…), not as a "
                f"{type(inputs).__name__}"
            )
        options = options_of(
            timestamps=self.plan.timestamps,
            emit=emit,
            block=block,
            remember=remember,
            heartbeat=heartbeat,
            heartbeats=CHOICES["heartbeat"],
            max_expansion=max_expansion,
            max_steps=max_steps,
            batch=batch or DEFAULT_BATCH,
            scheduler=scheduler,
            keep_open=keep_open,
            strict=strict,
            final=final,
            outputs=outputs,
            tokens=tokens_of(tokens),
            heeding=heeding,
            clock=clock,
            expiry=expiry,
            loop=loop,
        )
        counted, counters = None, {}
        names = cache(str)
        for step in local.run(self.plan, {**(inputs or {}), **more}, options):
            if step.counters is not counted:  # several updates may come of one batch
                counted = step.counters
                counters = {names(key): each for key, each in counted.items()}
            yield Update(
                step.batch, step.dead, counters, step.prefix, step.now, self.plan.timestamps
            )

    def run(self, inputs: Mapping[str, Any] | None = None, **options: Any) -> Result:
        """Run the query in this process to the end of its inputs.

        Inputs are given by the names of the streams: paths (event logs, JSON Lines, CSV, Parquet),
        tables (Arrow, pandas, Polars), rows as dicts, or events. Options: `batch` (how many events
        at once), `emit` ("perfect", "ordered" or "eager"), `block` and `remember` (durations),
        `keep_open` (do not close the streams at their end), `heartbeat` (whose heartbeats a row
        waits for while it waits: those of its own source, of all that meet in the first operator,
        that with an eye on memory, or of all sources of the query), `strict` (the first dead
        letter raises `BadInput`, instead of being counted in `Result.dead_letters`), `final`
        (every row is emitted once, when it cannot change any more),
        `max_expansion` (how many bytes a batch may become where rows are made of rows: "8GB"),
        `max_steps` (how many steps an attempt to match a pattern may take, or "inf"),
        `scheduler` ("drain" works every batch off before the next is read; "round-robin" and
        "threads" read on meanwhile), `outputs` ("marked": updates come with the prefix of the
        inputs whose exact answer they complete; "held": and only then), `tokens` (with the last
        two schedulers, how many events there are from one such mark to the next), `heeding`
        ("multiset" or "naive": find such states by labels instead, without asking for them),
        `loop` ("hybrid", "probing" or "hwm": with the last two schedulers, how a recursive query
        finds how far its answer is final while it runs).
        """
        result = Result(self.schema, is_loose(self.plan), timestamps=self.plan.timestamps)
        for update in self.changes(inputs, **options):
            result.add(update)
        return result

    def now(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        clock: Clock = "latest",
        expiry: Expiry = "piggyback",
        **options: Any,
    ) -> Now:
        """Run the query in this process, and give its answer as it is now, as changes: + a row that
        has come, - one that has left, each with the time from which on it holds (`at`).

        `clock`: which time is now: "latest", the greatest that any source has shown; "final", how
        far the answer cannot change any more; "wall", the time of day. `expiry`: how operators hear
        that time has passed: "ita", by the rows that reach them alone; "nta", by retractions;
        "time-message" and "piggyback", by marks. Inputs and options are those of `run`.

        >>> import driftline as dl
        >>> trades = dl.stream("trades", {"symbol": "STRING"})
        >>> counts = trades.window(range=10).group_by("symbol").agg("count(*) AS n")
        >>> rows = [dl.Insert(1, dl.INFINITY, dl.Row(symbol="A")), dl.Cti(20)]
        >>> for change in counts.now(trades=rows):
        ...     print(change.op, change.at, change.row)
        + 1 {'symbol': 'A', 'n': 1}
        - 11 {'symbol': 'A', 'n': 1}
        """
        need_now(clock, options.get("emit"), timestamps=self.plan.timestamps)
        need_choice("expiry", expiry)
        updates = self.changes(inputs, clock=clock, expiry=expiry, **options)
        return Now(self.schema, clock, updates, timestamps=self.plan.timestamps)
