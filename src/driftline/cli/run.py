"""`driftline run`: the queries of a script over inputs, their answers as an event log."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from driftline.cli.errors import Terminated
from driftline.cli.explain_time import check_chart, explain_time, say_loops
from driftline.cli.given import STANDARD_INPUT, files_read, with_declared
from driftline.cli.inputs import Inputs, read_inputs
from driftline.cli.learned import Learning, say_learned
from driftline.cli.letters import Letters
from driftline.cli.outputs import (
    STANDARD_OUTPUT,
    OutputTarget,
    Writer,
    check_types,
    writer,
)
from driftline.cli.progress import drawn
from driftline.cli.resumed import Written, need_kept
from driftline.cli.runners import runner
from driftline.cli.scripts import ScriptText, consistency_of, load
from driftline.cli.sinks import DeclaredSink, LocalSinks, is_database, made, sinks_of
from driftline.event_log.apart import STDOUT, Used, need_apart
from driftline.kernels import announce_compilation
from driftline.plan.choices import need_now, need_spark
from driftline.running.learned import learned
from driftline.running.locks import locked
from driftline.running.options import DEFAULT_BLOCK, Consistency, NamedQuery, RunOptions
from driftline.running.problems import Problem
from driftline.running.progress import Tally
from driftline.running.streams import Streamed

if TYPE_CHECKING:
    from driftline.plan.choices import Clock, Format
    from driftline.plan.nodes import Source
    from driftline.sql import Output, Script


@dataclass(frozen=True)
class RunArguments:
    """The arguments of `driftline run`; None: as the script sets it, or else the default."""

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
    outputs: str | None = None
    tokens: str | None = None
    heeding: str | None = None
    clock: str | None = None
    expiry: str | None = None
    live: bool = False
    loop: str | None = None
    heartbeat: str | None = None
    max_steps: str | None = None
    final: bool | None = None
    view: str | None = None
    keys: str | None = None
    format: Format | None = None
    overwrite: bool = False

    @property
    def target(self) -> OutputTarget:
        return OutputTarget(self.output, self.format)


def with_view(arguments: RunArguments) -> RunArguments:
    """The arguments with what --view means for an output that is no database."""
    view = arguments.view
    if is_database(arguments.output):
        if arguments.format is not None:
            raise Problem("--format is for files and standard output: leave it out")
        return arguments
    if arguments.format is not None and arguments.live:
        raise Problem("--live draws on the terminal: leave --format out")
    if view is None:
        return arguments
    if view in ("current", "history"):
        return replace(arguments, table=True)
    if view == "now":
        return replace(arguments, options=replace(arguments.options, now=True))
    return replace(arguments, final=True) if view == "finals" else arguments


def run(text: ScriptText, runner_name: str, arguments: RunArguments) -> None:
    """Runs all queries of a script."""
    with ExitStack() as held:
        _run(text, runner_name, arguments, held)


def _run(text: ScriptText, runner_name: str, arguments: RunArguments, held: ExitStack) -> None:
    """`held`: the locks of what is written, until the end."""
    of_stdin = [each for each in arguments.inputs if each.endswith(STANDARD_INPUT)]
    if text.path == STANDARD_INPUT and of_stdin:
        raise Problem("the script and an input cannot both be standard input")
    _check_letters(arguments.dead_letters)
    _check_close(arguments.options)
    _check_folder("--time-chart", arguments.time_chart)
    check_chart(arguments.time_chart)
    if runner_name == "local":
        announce_compilation()
    script = load(text)
    if script.explained:
        from driftline.cli.explain import print_plans

        print_plans(script.explained, arguments.emit)
        sys.stdout.flush()
        if not script.outputs:
            return
    run_queries = runner(runner_name)
    arguments = with_view(arguments)
    declared = sinks_of(script.outputs, arguments.output, arguments.view, arguments.keys)
    if arguments.overwrite and not any(each.is_table for each in declared.values()):
        raise Problem("--overwrite is for tables of databases: files are written anew without it")
    queries = [_query(each, declared.get(each.name), arguments) for each in script.outputs]
    written = [query for query in queries if query.sink is None]
    _check_written(written, arguments)
    _check_free(queries, runner_name, arguments)
    shown = {name for name, sink in declared.items() if sink.view == "now"}
    if arguments.options.now:
        shown |= {query.name for query in written}
    _check_now([query for query in queries if query.name in shown], runner_name, arguments)
    check_types(arguments.target, {query.name: query.plan for query in written})
    sources = _sources(script)
    wanted = with_declared(arguments.inputs, script, sources)
    bounds = [Used("the bounds", each) for each in script.bounds]
    _need_apart(text, arguments, queries, [*bounds, *files_read(wanted, sources)])
    _lock(held, arguments, queries)
    grows = arguments.options.follow and runner_name == "local"
    inputs = read_inputs(
        wanted, sources, as_they_come=runner_name != "local" or grows, files_grow=grows
    )
    final = {query.name for query in queries if query.consistency.final == "true"}
    queries = [_final(query, inputs) for query in queries]
    _check_follow(inputs, queries, arguments.options)
    so_far = _so_far(written, runner_name, arguments)
    options = replace(
        arguments.options,
        now=bool(shown),
        written=frozenset(query.name for query in written),
        is_kept=arguments.options.checkpoint is not None and so_far is None,
        after={} if so_far is None else so_far.batches,
    )
    steps = run_queries(queries, inputs.streams, options)
    local_sinks = LocalSinks(queries if runner_name == "local" else [])
    plans = {query.name: query.plan for query in queries}
    follow = arguments.options.follow
    stopped = None
    as_changes = arguments.options.now and not arguments.table
    tally = Tally(plans, timestamps=all(plan.timestamps for plan in plans.values()))
    learning = Learning(sources) if _goes_on(arguments) and _may_guess(queries, sources) else None
    with (
        Letters(
            inputs, sources, arguments.dead_letters, strict=arguments.strict, so_far=so_far
        ) as letters,
        _writer(
            [query for query in queries if query.sink is None], arguments, final, so_far
        ) as output,
    ):
        try:
            with (
                _ended_by_sigterm() if grows else nullcontext(),
                drawn(unless=_is_shown(arguments)) as progress,
                closing(steps) as emitted,
            ):
                for outputs in emitted:
                    letters.add(outputs)
                    local_sinks(outputs)
                    for name, answer in output.answers.items():
                        if as_changes and name in outputs.now_changes:
                            output.changed(answer, outputs.now_changes[name])
                        elif name in outputs.batches:
                            output.add(name, outputs.batches[name], outputs.now)
                        if name in outputs.prefixes:
                            output.mark(name, outputs.prefixes[name])
                    if so_far is not None and outputs.number is not None:
                        closed = {name: each.closed for name, each in output.answers.items()}
                        so_far.commit(*outputs.number, closed)
                    tally.add(outputs)
                    if learning is not None:
                        learning.take(tally.counters)
                    if progress is not None:
                        progress(tally.progress())
                    elif arguments.live:
                        output.advanced(tally.progress())
        except KeyboardInterrupt as interrupt:
            if not follow and not arguments.live:
                raise
            # Ctrl-C ends a run that follows: what was emitted is written. A drawing just ends.
            stopped = None if arguments.live else interrupt
    letters.report()
    said = {} if learning is None else learning.said
    known = {n: each for n, each in learned(tally.counters).items() if said.get(n) != each}
    _say_open(inputs, arguments.options)
    if arguments.explain_time or arguments.time_chart is not None:
        explain_time(sources, inputs.streams, arguments.time_chart)
        say_loops(tally.counters)
        # What was read as it came is not read again to explain it.
        known = {n: each for n, each in known.items() if isinstance(inputs.streams[n], Streamed)}
    say_learned(sources, known)
    if stopped is not None and not isinstance(stopped, Terminated):
        raise stopped


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does; one that follows its inputs has then done its work."""

    def terminate(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _goes_on(arguments: RunArguments) -> bool:
    """Whether a run may take for ever, or as long as its inputs took, and nothing is drawn."""
    return (arguments.options.follow or arguments.options.pace is not None) and not arguments.live


def _may_guess(queries: Sequence[NamedQuery], sources: Mapping[str, Source]) -> bool:
    """Whether the time of a stream may be estimated: only then is there anything to learn."""
    waits = any(query.consistency.block != DEFAULT_BLOCK for query in queries)
    return waits or any(source.timing.by_source for source in sources.values())


def _query(output: Output, sink: DeclaredSink | None, arguments: RunArguments) -> NamedQuery:
    consistency = _consistency(output, arguments)
    if sink is None:
        return NamedQuery(output.name, output.plan, consistency)
    if sink.view == "finals":
        consistency = replace(consistency, final="true")
    made_sink = made(output.name, sink, overwrite=arguments.overwrite)
    return NamedQuery(output.name, output.plan, consistency, made_sink)


def _final(query: NamedQuery, inputs: Inputs) -> NamedQuery:
    """The query, with a plan that emits final rows only where these are asked for."""
    if query.consistency.final != "true":
        return query
    from driftline.model.level import Level
    from driftline.plan.finals import only_final, refuse_perfect

    names = query.plan.sources()
    plain = [name for name in names if name in inputs.streams and inputs.is_plain(name)]
    consistency = replace(query.consistency, final="false")
    plan = only_final(query.plan, plain)
    refuse_perfect(plan, Level(consistency.emit))
    return replace(query, plan=plan, consistency=consistency)


def _check_written(queries: Sequence[NamedQuery], arguments: RunArguments) -> None:
    """Refuses what is about the output of the run if nothing goes there."""
    if queries or is_database(arguments.output):
        return
    given = {
        "--output": arguments.output != STANDARD_OUTPUT,
        "--format": arguments.format is not None,
        "--table": arguments.table,
        "--now": arguments.options.now,
        "--live": arguments.live,
    }
    for option, is_given in given.items():
        if is_given:
            raise Problem(f"{option}: all answers of the script go to sinks: leave it out")


def _so_far(
    written: Sequence[NamedQuery], runner_name: str, arguments: RunArguments
) -> Written | None:
    """What earlier runs from the checkpoint have written, if that can be added to."""
    checkpoint = arguments.options.checkpoint
    if checkpoint is None or runner_name == "local":
        return None
    appended = arguments.target.is_appended_to(table=arguments.table) and not arguments.live
    if written and not appended:
        need_kept(checkpoint)
        return None
    output = arguments.output if written else None
    return Written.so_far(checkpoint, output, arguments.dead_letters)


def _writer(
    queries: Sequence[NamedQuery], arguments: RunArguments, final: set[str], so_far: Written | None
) -> AbstractContextManager[Writer]:
    plans = {query.name: query.plan for query in queries}
    clocks = {query.name: cast("Clock", query.consistency.clock) for query in queries}
    if arguments.live:
        from driftline.cli.live import live

        return live(plans, clocks)
    return writer(
        arguments.target if queries else OutputTarget(STANDARD_OUTPUT),
        plans,
        table=arguments.table,
        current=arguments.view == "current",
        final=final,
        growing=arguments.options.follow,
        clocks=clocks if arguments.options.now else None,
        so_far=so_far,
    )


def _check_now(queries: Sequence[NamedQuery], runner_name: str, arguments: RunArguments) -> None:
    """Refuses what does not go with the answer now, which these queries ask for, or needs it."""
    options = arguments.options
    for option, given in (("--pace", options.pace), ("--expiry", arguments.expiry)):
        if given is not None and runner_name != "local":
            raise Problem(f"{option} is for --runner local")
    if arguments.live:
        from driftline.cli.live import check_terminal

        check_terminal()
        if arguments.output != STANDARD_OUTPUT or arguments.table:
            raise Problem("--live draws on the terminal: leave --output and --table out")
    if not queries:
        for option, given in (
            ("--clock", arguments.clock),
            ("--expiry", arguments.expiry),
            ("--pace", options.pace),
        ):
            if given is not None:
                raise Problem(f"{option} is for the answer now: add --now or --live")
        return
    for query in queries:
        asked = query.consistency
        if asked.final == "true":
            raise Problem(f"{query.name}: an answer now is not final: leave --final out")
        need_now(asked.clock, asked.emit, timestamps=query.plan.timestamps)
        if asked.outputs == "marked":
            raise Problem("--now: an answer now has no marks: take outputs = held")


def _check_folder(option: str, path: str | None) -> None:
    """Refuses at the beginning what could not be written in the end."""
    if path is not None and not Path(path).parent.is_dir():
        raise Problem(f"{option}: there is no directory {Path(path).parent}")


def _check_letters(path: str | None) -> None:
    _check_folder("--dead-letters", path)
    if path is not None and Path(path).is_dir():
        raise Problem(f"--dead-letters: {path} is a directory: give a file")


def _need_apart(
    text: ScriptText, arguments: RunArguments, queries: Sequence[NamedQuery], inputs: Sequence[Used]
) -> None:
    """Refuses to write over the script, an input, or something else that is written."""
    names = [query.name for query in queries if query.sink is None]
    written = [
        Used("standard output", STDOUT) if each is None else Used("--output", each)
        for each in (arguments.target.files(names) if names else ())
    ]
    for query in queries:
        places = getattr(query.sink, "places", ())
        written += [Used(f"the sink {query.name},", place) for place in places]
    shared = {place for query in queries for place in getattr(query.sink, "shared_places", ())}
    written += [Used("the database", place) for place in sorted(shared)]
    options = {"--dead-letters": arguments.dead_letters, "--time-chart": arguments.time_chart}
    written += [Used(option, given) for option, given in options.items() if given is not None]
    if arguments.options.checkpoint is not None:
        written.append(Used("--checkpoint", arguments.options.checkpoint))
    need_apart(written, [*text.used(), *inputs])


def _lock(held: ExitStack, arguments: RunArguments, queries: Sequence[NamedQuery]) -> None:
    """Take the locks of all that is written, before anything is."""
    names = [query.name for query in queries if query.sink is None]
    outputs = arguments.target.files(names) if names else []
    written = [Used("--output", each) for each in outputs if each is not None]
    if written and "://" not in arguments.output and not arguments.output.endswith(os.sep):
        _check_folder("--output", arguments.output)
    given = {
        "--dead-letters": arguments.dead_letters,
        "--time-chart": arguments.time_chart,
        "--checkpoint": arguments.options.checkpoint,
    }
    written += [Used(option, each) for option, each in given.items() if each is not None]
    held.enter_context(locked(written))
    for query in queries:
        if query.sink is not None:
            from driftline.spark.sinks import held_for

            held.enter_context(held_for(query.sink, f"the sink {query.name},"))


def _check_free(queries: Sequence[NamedQuery], runner_name: str, arguments: RunArguments) -> None:
    """Refuses marks that no output would show, and what Spark does not do."""
    written = [query for query in queries if query.sink is None]
    marked = any(query.consistency.outputs == "marked" for query in written)
    if runner_name != "local":
        for query in queries:
            asked = query.consistency
            need_spark(arguments.options.scheduler, asked.tokens, asked.heeding, asked.loop)
    elif arguments.loop is not None and arguments.options.scheduler == "drain":
        raise Problem("--loop is for --scheduler round-robin or threads: else loops are drained")
    if all(query.consistency.outputs == "free" for query in queries):
        for option, given in (("--tokens", arguments.tokens), ("--heeding", arguments.heeding)):
            if given is not None:
                raise Problem(
                    f"{option} is for answers that are exact: add --outputs marked or held"
                )
    if marked and (arguments.table or arguments.target.form != "json"):
        raise Problem(
            "outputs = marked: marks stand in an event log: write one (--output FILE.jsonl), or "
            "take outputs = held"
        )


def _check_follow(inputs: Inputs, queries: Sequence[NamedQuery], options: RunOptions) -> None:
    streamed = [each for each in inputs.streams.values() if isinstance(each, Streamed)]
    endless = [each.shown for each in streamed if each.is_endless]
    if endless and not options.follow:
        raise Problem(f"{endless[0]} has no end: add --follow, and stop it with Ctrl-C")
    if options.follow and not streamed:
        raise Problem(
            "--follow needs an input that goes on: a directory, kafka:// or, with --runner spark, "
            "rate://, and with --runner local a file of lines (.jsonl, .csv)"
        )
    if options.follow and len({query.consistency for query in queries}) > 1:
        raise Problem(
            "--follow: the queries have different settings (emit, block, remember, max_expansion, "
            "max_steps, outputs): run them apart"
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
    """Print what the next run can do, where it can do something else than this one."""
    growing = any(isinstance(each, Streamed) for each in inputs.streams.values())
    asked = options.close or options.keep_open or options.follow
    if growing and options.checkpoint and not asked:
        print(
            f"driftline: the streams stay open in {options.checkpoint}: run again to go on with "
            "what is new, and with --close to end them, so that all answers become final",
            file=sys.stderr,
        )


def _is_shown(arguments: RunArguments) -> bool:
    """Whether the answers themselves go to a terminal while the queries run."""
    answers = arguments.target == OutputTarget(STANDARD_OUTPUT) and not arguments.table
    return arguments.live or (answers and sys.stdout.isatty())


def _consistency(output: Output, arguments: RunArguments) -> Consistency:
    given = {
        "emit": arguments.emit,
        "block": arguments.block,
        "remember": arguments.remember,
        "max_expansion": arguments.max_expansion,
        "max_steps": arguments.max_steps,
        "outputs": arguments.outputs,
        "tokens": arguments.tokens,
        "heeding": arguments.heeding,
        "clock": arguments.clock,
        "expiry": arguments.expiry,
        "loop": arguments.loop,
        "heartbeat": arguments.heartbeat,
        "final": None if arguments.final is None else str(arguments.final).lower(),
    }
    return consistency_of(output, given)


def _sources(script: Script) -> dict[str, Source]:
    from driftline.engine.plan_sources import sources_of
    from driftline.plan.nodes import Constant

    found = sources_of(output.plan for output in script.outputs)
    return {name: each for name, each in found.items() if not isinstance(each, Constant)}
