"""`driftline run`: the queries of a script over inputs, their answers as an event log."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from driftline.cli.errors import Problem
from driftline.cli.explain_time import check_chart, explain_time
from driftline.cli.inputs import STANDARD_INPUT, Inputs, files_read, read_inputs
from driftline.cli.learned import Learned, say_learned
from driftline.cli.letters import Letters
from driftline.cli.outputs import STANDARD_OUTPUT, Writer, check_types, outputs_of, writer
from driftline.cli.progress import drawn
from driftline.cli.runners import (
    Consistency,
    Query,
    RunOptions,
    Spoken,
    runner,
)
from driftline.cli.scripts import load, script_of
from driftline.cli.start import load_engine
from driftline.cli.streams import Streamed
from driftline.model.log.apart import STDOUT, Used, need_apart

if TYPE_CHECKING:
    from driftline.plan.nodes import Source
    from driftline.sql import Output, Script


@dataclass(frozen=True)
class Wishes:
    """What the command line says; None: what the script says, or else the default."""

    inputs: Sequence[str]
    output: str = "-"
    emit: str | None = None
    block: str | None = None
    remember: str | None = None
    table: bool = False
    dead_letters: str | None = None
    explain_time: bool = False
    time_chart: str | None = None
    strict: bool = False
    options: RunOptions = field(default_factory=RunOptions)
    max_expansion: str | None = None


def run(path: str, runner_name: str, wishes: Wishes) -> None:
    """Runs all queries of a script."""
    if path == STANDARD_INPUT and any(each.endswith(STANDARD_INPUT) for each in wishes.inputs):
        raise Problem("the script and an input cannot both be standard input")
    _check_letters(wishes.dead_letters)
    _check_close(wishes.options)
    _check_folder("--time-chart", wishes.time_chart)
    check_chart(wishes.time_chart)
    if runner_name == "local":
        load_engine()
    script = load(path)
    run_queries = runner(runner_name)
    queries = [Query(each.name, each.plan, _consistency(each, wishes)) for each in script.outputs]
    check_types(wishes.output, {query.name: query.plan for query in queries})
    sources = _sources(script)
    _need_apart(path, wishes, [query.name for query in queries], files_read(wishes.inputs, sources))
    inputs = read_inputs(wishes.inputs, sources, as_they_come=runner_name != "local")
    _check_follow(inputs, queries, wishes.options)
    steps = run_queries(queries, inputs.streams, wishes.options)
    plans = {query.name: query.plan for query in queries}
    follow = wishes.options.follow
    stopped = None
    learned: Mapping[str, Learned] = {}
    with (
        Letters(inputs, sources, wishes.dead_letters, strict=wishes.strict) as letters,
        writer(wishes.output, plans, table=wishes.table, growing=follow) as output,
    ):
        try:
            with (
                drawn(unless=_is_shown(wishes)) as progress,
                closing(steps) as spoken,
            ):
                for each in spoken:
                    letters.add(each)
                    _write(each, output)
                    learned = each.learned or learned
                    if each.progress is not None:
                        progress(each.progress)
        except KeyboardInterrupt as interrupt:
            if not follow:
                raise
            stopped = interrupt  # that is how it ends: what has been said is written
    letters.say()
    _say_open(inputs, wishes.options)
    if wishes.explain_time or wishes.time_chart is not None:
        explain_time(sources, inputs.streams, wishes.time_chart)
        # What was read as it came is not read again to explain it.
        learned = {
            n: each for n, each in learned.items() if isinstance(inputs.streams[n], Streamed)
        }
    say_learned(sources, learned)
    if stopped is not None:
        raise stopped


def _check_folder(option: str, path: str | None) -> None:
    """Refuses at the beginning what could not be written in the end."""
    if path is not None and not Path(path).parent.is_dir():
        raise Problem(f"{option}: there is no directory {Path(path).parent}")


def _check_letters(path: str | None) -> None:
    _check_folder("--dead-letters", path)
    if path is not None and Path(path).is_dir():
        raise Problem(f"--dead-letters: {path} is a directory: give a file")


def _need_apart(path: str, wishes: Wishes, names: Sequence[str], inputs: Sequence[Used]) -> None:
    """Nothing is written over the script, an input, or something else that is written."""
    written = [
        Used("standard output", STDOUT) if each is None else Used("--output", each)
        for each in outputs_of(wishes.output, names)
    ]
    options = {"--dead-letters": wishes.dead_letters, "--time-chart": wishes.time_chart}
    written += [Used(option, given) for option, given in options.items() if given is not None]
    if wishes.options.checkpoint is not None:
        written.append(Used("--checkpoint", wishes.options.checkpoint))
    need_apart(written, [script_of(path), *inputs])


def _check_follow(inputs: Inputs, queries: Sequence[Query], options: RunOptions) -> None:
    streamed = [each for each in inputs.streams.values() if isinstance(each, Streamed)]
    endless = [each.shown for each in streamed if each.is_endless]
    if endless and not options.follow:
        raise Problem(f"{endless[0]} has no end: add --follow, and stop it with Ctrl-C")
    if options.follow and not streamed:
        raise Problem("--follow needs an input that goes on: a directory, kafka:// or rate://")
    if options.follow and len({query.consistency for query in queries}) > 1:
        raise Problem(
            "--follow: the queries have different settings (emit, block, remember, max_expansion): "
            "run them apart"
        )


def _check_close(options: RunOptions) -> None:
    if not options.close:
        return
    if options.checkpoint is None:
        raise Problem("--close is for --checkpoint: without one the streams are closed at the end")
    for other, given in (("--keep-open", options.keep_open), ("--follow", options.follow)):
        if given:
            raise Problem(f"--close and {other} are opposites: leave one out")


def _say_open(inputs: Inputs, options: RunOptions) -> None:
    """What the next run can do, where it could do something else than this one."""
    growing = any(isinstance(each, Streamed) for each in inputs.streams.values())
    asked = options.close or options.keep_open or options.follow
    if growing and options.checkpoint and not asked:
        print(
            f"driftline: the streams stay open in {options.checkpoint}: run again to go on with "
            "what is new, and with --close to end them, so that all answers become final",
            file=sys.stderr,
        )


def _write(spoken: Spoken, output: Writer) -> None:
    for name, batch in spoken.batches.items():
        output.add(name, batch)


def _is_shown(wishes: Wishes) -> bool:
    """Whether the answers themselves go to a terminal while the queries run."""
    return wishes.output == STANDARD_OUTPUT and not wishes.table and sys.stdout.isatty()


def _consistency(output: Output, wishes: Wishes) -> Consistency:
    """The command line goes before SET, and SET before the defaults."""
    given = {
        "emit": wishes.emit,
        "block": wishes.block,
        "remember": wishes.remember,
        "max_expansion": wishes.max_expansion,
    }
    said = {name: value for name, value in given.items() if value is not None}
    chosen = Consistency(**{**output.settings, **said})
    _check(chosen, output)
    return chosen


def _check(consistency: Consistency, output: Output) -> None:
    from driftline.plan.durations import ticks
    from driftline.plan.errors import PlanError
    from driftline.plan.sizes import size_of

    for name, value in (("block", consistency.block), ("remember", consistency.remember)):
        try:
            ticks(value, output.plan.timestamps)
        except PlanError as error:
            raise Problem(f"{name}: {error}") from None
    try:
        size_of(consistency.max_expansion)
    except PlanError as error:
        raise Problem(str(error)) from None


def _sources(script: Script) -> dict[str, Source]:
    from driftline.engine.local import sources_of
    from driftline.plan.nodes import Constant

    found = sources_of(output.plan for output in script.outputs)
    return {name: each for name, each in found.items() if not isinstance(each, Constant)}
