"""Queries to run with their consistency, and what concerns a whole run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from driftline.engine.options import Options as LocalOptions
    from driftline.plan.choices import Clock, Expiry, Heartbeat
    from driftline.plan.nodes import Node

DEFAULT_EMIT, DEFAULT_BLOCK, DEFAULT_REMEMBER = "ordered", "0", "inf"
DEFAULT_EXPANSION, DEFAULT_STEPS = "2GB", "10000000"


@dataclass(frozen=True)
class Consistency:
    """How a query is run: emit level, block, remember, max_expansion, max_steps, outputs, tokens,
    heeding, of the answer now the clock and the expiry, how loops find progress, whose heartbeats
    rows wait for, and whether answers are emitted only when they are final, as they were
    written."""

    emit: str = DEFAULT_EMIT
    block: str = DEFAULT_BLOCK
    remember: str = DEFAULT_REMEMBER
    max_expansion: str = DEFAULT_EXPANSION
    max_steps: str = DEFAULT_STEPS
    outputs: str = "free"
    tokens: str = "adaptive"
    heeding: str | None = None
    clock: str = "latest"
    expiry: str = "piggyback"
    loop: str = "hybrid"
    heartbeat: str = "source"
    final: str = "false"


@dataclass(frozen=True)
class NamedQuery:
    """A query to run: its name, its plan, its consistency, and the sink that its answer goes to
    (None: the output of the run)."""

    name: str
    plan: Node
    consistency: Consistency = Consistency()
    sink: object | None = None


@dataclass(frozen=True)
class RunOptions:
    """What concerns the whole run. `now`: the answer now is asked for; `pace`: inputs are replayed
    as they came, so many times as fast; `written`: the queries whose answers go to the output of
    the run, and not to sinks (None: all); `is_kept`: the checkpoint keeps what these emit, as their
    output is written whole; `after`: by group of queries, the last micro-batch that the output
    has."""

    batch: int | None = None
    keep_open: bool = False
    checkpoint: str | None = None
    close: bool = False
    master: str | None = None
    follow: bool = False
    scheduler: str = "drain"
    settings: Mapping[str, str] = field(default_factory=dict)  # of Spark
    now: bool = False
    pace: float | None = None
    written: frozenset[str] | None = None
    is_kept: bool = False
    after: Mapping[int, int] = field(default_factory=dict)


def by_consistency(queries: Iterable[NamedQuery]) -> dict[Consistency, dict[str, Node]]:
    """The plans of queries by how these are run: on Spark, those of one consistency run as one
    query, with one cut in common."""
    groups: dict[Consistency, dict[str, Node]] = {}
    for query in queries:
        groups.setdefault(query.consistency, {})[query.name] = query.plan
    return groups


def free_running(scheduler: str, consistency: Consistency) -> dict[str, Any]:
    """The scheduler, and what is asked of outputs and loops, if these go together."""
    from driftline.plan.choices import need_choice, need_together, tokens_of

    need_together(scheduler, consistency.outputs, consistency.heeding)
    need_choice("loop", consistency.loop)
    return {
        "scheduler": scheduler,
        "outputs": consistency.outputs,
        "tokens": tokens_of(consistency.tokens),
        "heeding": consistency.heeding,
        "loop": consistency.loop,
    }


def engine_options(
    consistency: Consistency, plans: Mapping[str, Node], options: RunOptions
) -> LocalOptions:
    """The engine's options for queries of one consistency."""
    from driftline.engine.limits import Limits
    from driftline.engine.options import DEFAULT_BATCH, Options
    from driftline.model.level import Level
    from driftline.plan.durations import ticks
    from driftline.plan.sizes import size_of, steps_of

    stamps = all(plan.timestamps for plan in plans.values())
    return Options(
        Level(consistency.emit),
        ticks(consistency.block, stamps),
        ticks(consistency.remember, stamps),
        options.batch or DEFAULT_BATCH,
        keep_open=options.keep_open,
        limits=Limits(size_of(consistency.max_expansion), steps_of(consistency.max_steps)),
        clock=cast("Clock", consistency.clock) if options.now else None,
        expiry=cast("Expiry", consistency.expiry),
        heartbeat=cast("Heartbeat", consistency.heartbeat),
        **free_running(options.scheduler, consistency),
    )
