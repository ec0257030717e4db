"""`driftline run`: the queries of a script over inputs, their answers as an event log."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from driftline.cli.errors import Problem
from driftline.cli.explain_time import explain_time
from driftline.cli.inputs import STANDARD_INPUT, Inputs, read_inputs
from driftline.cli.learned import Learned, say_learned
from driftline.cli.outputs import STANDARD_OUTPUT, Writer, check_types, writer
from driftline.cli.progress import drawn
from driftline.cli.runners import (
    Consistency,
    Query,
    RunOptions,
    Spoken,
    runner,
)
from driftline.cli.scripts import load
from driftline.cli.streams import Streamed

if TYPE_CHECKING:
    from driftline.engine.dead_letters import DeadLetters
    from driftline.model.columns import StreamColumns
    from driftline.model.log.bad import BadEvent
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
    options: RunOptions = field(default_factory=RunOptions)


def run(path: str, runner_name: str, wishes: Wishes) -> None:
    """Runs all queries of a script."""
    if path == STANDARD_INPUT and any(each.endswith(STANDARD_INPUT) for each in wishes.inputs):
        raise Problem("the script and an input cannot both be standard input")
    _check_folder("--dead-letters", wishes.dead_letters)
    _check_folder("--time-chart", wishes.time_chart)
    script = load(path)
    run_queries = runner(runner_name)
    queries = [Query(each.name, each.plan, _consistency(each, wishes)) for each in script.outputs]
    check_types(wishes.output, {query.name: query.plan for query in queries})
    sources = _sources(script)
    inputs = read_inputs(
        wishes.inputs,
        sources,
        collect_bad=wishes.dead_letters is not None,
        as_they_come=runner_name != "local",
    )
    _check_follow(inputs, queries, wishes.options)
    plans = {query.name: query.plan for query in queries}
    letters = _Letters(inputs, sources, wishes.dead_letters)
    follow = wishes.options.follow
    stopped = None
    learned: Mapping[str, Learned] = {}
    with writer(wishes.output, plans, table=wishes.table, growing=follow) as output:
        try:
            with (
                drawn(unless=_is_shown(wishes)) as progress,
                closing(run_queries(queries, inputs.streams, wishes.options)) as spoken,
            ):
                for each in spoken:
                    _write(each, output)
                    letters.add(each)
                    learned = each.learned or learned
                    if each.progress is not None:
                        progress(each.progress)
        except KeyboardInterrupt as interrupt:
            if not follow:
                raise
            stopped = interrupt  # that is how it ends: what has been said is written
    letters.finish()
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


def _check_follow(inputs: Inputs, queries: Sequence[Query], options: RunOptions) -> None:
    streamed = [each for each in inputs.streams.values() if isinstance(each, Streamed)]
    endless = [each.shown for each in streamed if each.is_endless]
    if endless and not options.follow:
        raise Problem(f"{endless[0]} has no end: add --follow, and stop it with Ctrl-C")
    if options.follow and not streamed:
        raise Problem("--follow needs an input that goes on: a directory, kafka:// or rate://")
    if options.follow and len({query.consistency for query in queries}) > 1:
        raise Problem(
            "--follow: the queries have different settings (emit, block, remember): run them apart"
        )


def _write(spoken: Spoken, output: Writer) -> None:
    for name, batch in spoken.batches.items():
        output.add(name, batch)


def _is_shown(wishes: Wishes) -> bool:
    """Whether the answers themselves go to a terminal while the queries run."""
    return wishes.output == STANDARD_OUTPUT and not wishes.table and sys.stdout.isatty()


def _consistency(output: Output, wishes: Wishes) -> Consistency:
    """The command line goes before SET, and SET before the defaults."""
    given = {"emit": wishes.emit, "block": wishes.block, "remember": wishes.remember}
    said = {name: value for name, value in given.items() if value is not None}
    chosen = Consistency(**{**output.settings, **said})
    _check(chosen, output)
    return chosen


def _check(consistency: Consistency, output: Output) -> None:
    from driftline.plan.durations import ticks
    from driftline.plan.errors import PlanError

    for name, value in (("block", consistency.block), ("remember", consistency.remember)):
        try:
            ticks(value, output.plan.timestamps)
        except PlanError as error:
            raise Problem(f"{name}: {error}") from None


def _sources(script: Script) -> dict[str, Source]:
    from driftline.engine.local import sources_of

    return sources_of(output.plan for output in script.outputs)


class _Letters:
    """The events that were set aside: counted, and written to a file if one was named."""

    def __init__(self, inputs: Inputs, sources: dict[str, Source], path: str | None) -> None:
        self.inputs, self.sources, self.path = inputs, sources, path
        self.counts: dict[str, int] = {}
        self.letters: list[BadEvent] = list(inputs.bad)

    def add(self, spoken: Spoken) -> None:
        for name, dead in spoken.dead.items():
            self.counts[name] = self.counts.get(name, 0) + len(dead)
            if self.path is not None:
                self.letters += self._explained(name, dead)

    def _explained(self, name: str, dead: DeadLetters) -> list[BadEvent]:
        from driftline.model.log.bad import BadEvent
        from driftline.model.log.writer import event_lines

        stamps = self.sources[name].timestamps
        lines = event_lines(_as_stream(name, stamps, dead)).to_pylist()
        places = [self.inputs.places[name].of(int(number)) for number in dead.number]
        return [
            BadEvent(file, line, reason, text.strip().encode())
            for (file, line), reason, text in zip(places, dead.reasons(stamps), lines, strict=True)
        ]

    def finish(self) -> None:
        """Says how many there were, and where they are."""
        for name, count in self.counts.items():
            what = f"{count:,} event{'s' if count > 1 else ''} of {name}"
            where = (
                f"in {self.path}"
                if self.path is not None
                else "left out (--dead-letters FILE collects them, with the reasons)"
            )
            print(f"driftline: {what} came too late or cannot be: {where}", file=sys.stderr)
        if self.path is None:
            return
        from driftline.model.log.deadletters import write_dead_letters

        write_dead_letters(self.letters, self.path)
        if self.inputs.bad:
            count = len(self.inputs.bad)
            what = f"{count:,} line{'s' if count > 1 else ''}"
            print(f"driftline: {what} could not be read: in {self.path}", file=sys.stderr)


def _as_stream(name: str, stamps: bool, dead: DeadLetters) -> StreamColumns:
    import numpy as np
    import pyarrow as pa

    from driftline.model.columns import INSERT
    from driftline.model.columns import StreamColumns as Columns

    count = len(dead)
    return Columns(
        name=name,
        timestamps=stamps,
        kind=dead.kind,
        vs=dead.vs,
        ve=dead.ve,
        vn=np.where(dead.kind == INSERT, 0, dead.vn),
        at=None,
        position=np.arange(count, dtype=np.int64),
        line=np.arange(1, count + 1, dtype=np.int64),
        source=np.zeros(count, np.int32),
        payload=pa.Table.from_batches([dead.payload]),
    )
