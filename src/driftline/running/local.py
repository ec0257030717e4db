"""The local runner of `driftline run`: queries over inputs in this process, step by step."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import tee, zip_longest
from time import sleep
from typing import TYPE_CHECKING, Any

from driftline.running.files import PlainFiles
from driftline.running.options import NamedQuery, RunOptions, by_consistency, engine_options
from driftline.running.pace import FRAME, paced
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, read_here

if TYPE_CHECKING:
    from driftline.engine.core.batch import Batch
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.engine.local import Run
    from driftline.engine.step_outputs import Counted, Outputs
    from driftline.model.prefix import Prefix
    from driftline.plan.nodes import Node


def run_locally(
    queries: list[NamedQuery], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Outputs]:
    """Queries of the same consistency run as one graph; others go along with it, step by step."""
    if options.checkpoint is not None or options.master is not None or options.settings:
        raise Problem("--checkpoint, --master and --conf are for --runner spark")
    if options.follow and options.pace is not None:
        raise Problem("--pace replays inputs that have an end: leave --follow out")
    return _run_locally(queries, inputs, options)


def _run_locally(
    queries: list[NamedQuery], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Outputs]:
    from driftline.engine.local import started

    groups = by_consistency(queries)
    # Several groups read the same iterators, which have to be asked in turn.
    reads_ahead = len(groups) == 1 and all(isinstance(each, PlainFiles) for each in inputs.values())
    made = [
        replace(engine_options(*group, options), reads_ahead=reads_ahead)
        for group in groups.items()
    ]
    read_by = (
        [_followed(plans, inputs) for plans in groups.values()]
        if options.follow
        else readings([*groups.values()], inputs, made[0].batch if made else 1)
    )
    runs = [
        _steps(started(plans, read, each), options, plans)
        for plans, read, each in zip(groups.values(), read_by, made, strict=True)
    ]
    if len(runs) == 1:
        yield from runs[0]
        return
    latest: list[Outputs | None] = [None] * len(runs)
    for steps in zip_longest(*runs):
        latest = [step or before for step, before in zip(steps, latest, strict=True)]
        yield _together(steps, latest)


def _steps(run: Run, options: RunOptions, plans: Mapping[str, Node]) -> Iterator[Outputs]:
    if options.follow:
        return run.follow(partial(sleep, FRAME))
    pace = options.pace
    if pace is None:
        return run.outputs()
    return paced(run, pace, timestamps=all(plan.timestamps for plan in plans.values()))


def _followed(plans: Mapping[str, Node], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of the plans, those that go on as what has come of them."""
    from driftline.engine.plan_sources import sources_of
    from driftline.running.followed import followed

    return {
        name: followed(source, inputs[name]) if isinstance(inputs[name], Streamed) else inputs[name]
        for name, source in sources_of(plans.values()).items()
        if name in inputs  # and no table of the query itself
    }


def readings(
    groups: Sequence[Mapping[str, Node]], inputs: Mapping[str, Any], size: int
) -> list[dict[str, Any]]:
    """The inputs that each group of plans reads. What is read while they run is read once: they go
    along with each other, so that little of it waits for the last of them."""
    from driftline.engine.plan_sources import sources_of

    of_groups = [
        {name: each for name, each in sources_of(plans.values()).items() if name in inputs}
        for plans in groups  # and no table of the query itself
    ]
    parts: dict[str, Iterator[Iterator[Any]]] = {}
    for name, source in {name: each for of in of_groups for name, each in of.items()}.items():
        data = inputs[name]
        readers = sum(name in of for of in of_groups)
        if isinstance(data, Streamed):
            parts[name] = iter(tee(read_here(source, data), readers))
        elif isinstance(data, PlainFiles):
            parts[name] = iter(tee(data.parts(size), readers))
    return [
        {name: next(parts[name]) if name in parts else inputs[name] for name in of}
        for of in of_groups
    ]


def _together(steps: Sequence[Outputs | None], latest: Sequence[Outputs | None]) -> Outputs:
    """What the runs of several groups emit in one step; some of them have ended. `latest`: the
    latest step of each."""
    from driftline.engine.step_outputs import Counts, Outputs

    batches: dict[str, Batch] = {}
    dead: dict[str, DeadLetters] = {}
    prefixes: dict[str, Prefix] = {}
    there = [step for step in steps if step is not None]
    for step in there:
        batches |= step.batches
        prefixes |= step.prefixes
        for name, letters in step.dead.items():
            # Of several runs the one with the least memory sets most aside.
            if name not in dead or len(letters) > len(dead[name]):
                dead[name] = letters
    now, late = max(step.now for step in there), max(step.late for step in there)
    return Outputs(batches, dead, Counts(partial(_of_runs, latest)), prefixes, now, late)


def _of_runs(steps: Sequence[Outputs | None]) -> Counted:
    """What the operators of several runs have counted."""
    return {
        key._replace(run=run): counted
        for run, step in enumerate(steps)
        if step is not None
        for key, counted in step.counters.items()
    }
