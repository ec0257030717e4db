"""The runners of `driftline run`: what each is given, and what it gives back.

A runner takes queries with their settings and the inputs, and yields after every step what each
query says. The local one is here; the Spark one is looked up in `driftline.spark`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Protocol, cast

from driftline.cli.errors import Problem
from driftline.cli.learned import Learned, learned
from driftline.cli.progress import Progress, Tally
from driftline.cli.streams import Streamed, read_here

if TYPE_CHECKING:
    from driftline.engine.batch import Batch
    from driftline.engine.dead_letters import DeadLetters
    from driftline.engine.local import Options as LocalOptions
    from driftline.engine.local import Outputs
    from driftline.plan.nodes import Node

SPARK = "driftline.spark.runner"
"""The module whose function `run_queries` is the Spark runner."""

DEFAULT_EMIT, DEFAULT_BLOCK, DEFAULT_REMEMBER = "ordered", "0", "inf"
DEFAULT_EXPANSION = "2GB"


@dataclass(frozen=True)
class Consistency:
    """How a query is run: emit level, block, remember and max_expansion, as they were written."""

    emit: str = DEFAULT_EMIT
    block: str = DEFAULT_BLOCK
    remember: str = DEFAULT_REMEMBER
    max_expansion: str = DEFAULT_EXPANSION


@dataclass(frozen=True)
class Query:
    """A query to run: its name, its plan and its consistency."""

    name: str
    plan: Node
    consistency: Consistency = Consistency()


@dataclass(frozen=True)
class RunOptions:
    """What concerns the whole run."""

    batch: int | None = None
    keep_open: bool = False
    checkpoint: str | None = None
    close: bool = False
    master: str | None = None
    follow: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)  # of Spark


@dataclass(frozen=True)
class Spoken:
    """What one step of a run leads to: what each query says, the dead events by stream, how far the
    run has come, if its runner says so, and what has been learned of the time of streams."""

    batches: Mapping[str, Batch]
    dead: Mapping[str, DeadLetters]
    progress: Progress | None = None
    learned: Mapping[str, Learned] = field(default_factory=dict)


class Runner(Protocol):
    """A way to run queries over inputs by the names of their streams. What cannot be run is refused
    when it is called, and not when the first step is asked for."""

    def __call__(
        self, queries: list[Query], inputs: Mapping[str, Any], options: RunOptions
    ) -> Generator[Spoken]: ...


def runner(name: str) -> Runner:
    """The runner of a name."""
    if name == "local":
        return run_locally
    if find_spec("driftline.spark") is None or find_spec(SPARK) is None:
        raise Problem("--runner spark is not there yet: use --runner local")
    return cast("Runner", import_module(SPARK).run_queries)


def run_locally(
    queries: list[Query], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Spoken]:
    """Queries of the same consistency run as one graph; others go along with it, step by step."""
    if options.checkpoint is not None or options.master is not None or options.settings:
        raise Problem("--checkpoint, --master and --conf are for --runner spark")
    if options.follow:
        raise Problem("--follow is for --runner spark")
    return _run_locally(queries, inputs, options)


def _run_locally(
    queries: list[Query], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Spoken]:
    from driftline.engine.local import run_all

    groups: dict[Consistency, dict[str, Node]] = {}
    for query in queries:
        groups.setdefault(query.consistency, {})[query.name] = query.plan
    runs = [
        run_all(plans, _needed(plans, inputs), engine_options(consistency, plans, options))
        for consistency, plans in groups.items()
    ]
    tally = Tally([q.name for q in queries], timestamps=all(q.plan.timestamps for q in queries))
    held: list[Mapping[str, Mapping[str, int]]] = [{} for _ in runs]
    for steps in zip_longest(*runs):
        held = [
            old if step is None else step.counters for old, step in zip(held, steps, strict=True)
        ]
        together = _together([step for step in steps if step is not None])
        progress = tally.add(together.batches, _events(held), _state_rows(held))
        yield replace(together, progress=progress, learned=learned(held))


def _events(runs: Sequence[Mapping[str, Mapping[str, int]]]) -> int:
    """How many events have come, by the counters of several runs over the same inputs."""
    come: dict[str, int] = {}
    for counters in runs:
        for name, counted in counters.items():
            if "dead_letters" in counted:  # it stands at a source
                come[name] = max(come.get(name, 0), counted["changes_in"] + counted["ctis_in"])
    return sum(come.values())


def _state_rows(runs: Sequence[Mapping[str, Mapping[str, int]]]) -> int:
    return sum(each["state_rows"] for counters in runs for each in counters.values())


def _needed(plans: Mapping[str, Node], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that some plans read, each run with its own reading of a directory."""
    from driftline.engine.local import sources_of

    return {
        name: read_here(source, data) if isinstance(data := inputs[name], Streamed) else data
        for name, source in sources_of(plans.values()).items()
        if name in inputs  # and no table of the query itself
    }


def engine_options(
    consistency: Consistency, plans: Mapping[str, Node], options: RunOptions
) -> LocalOptions:
    """The engine's options for queries of one consistency."""
    from driftline.engine.local import DEFAULT_BATCH, Options
    from driftline.model.reference.latency import Level
    from driftline.plan.durations import ticks
    from driftline.plan.sizes import size_of

    stamps = all(plan.timestamps for plan in plans.values())
    return Options(
        Level(consistency.emit),
        ticks(consistency.block, stamps),
        ticks(consistency.remember, stamps),
        options.batch or DEFAULT_BATCH,
        keep_open=options.keep_open,
        curious=True,
        max_expansion=size_of(consistency.max_expansion),
    )


def _together(steps: list[Outputs]) -> Spoken:
    batches: dict[str, Batch] = {}
    dead: dict[str, DeadLetters] = {}
    for step in steps:
        batches |= step.batches
        for name, letters in step.dead.items():
            # Of several runs the one with the least memory sets most aside.
            if name not in dead or len(letters) > len(dead[name]):
                dead[name] = letters
    return Spoken(batches, dead)
