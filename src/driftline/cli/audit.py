"""`driftline audit`: is what a log says at its marks what follows from the inputs?

For every mark of the log the query is run afresh over the prefix that the mark names, and its
answer compared with what the log had emitted up to the mark.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from driftline.cli.inputs import STANDARD_INPUT, read_inputs
from driftline.cli.progress import reading
from driftline.cli.scripts import consistency_of, load
from driftline.cli.start import load_engine
from driftline.running.options import RunOptions, engine_options
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.options import Options
    from driftline.engine.readers.inputs import RawEvents
    from driftline.plan.nodes import Node, Source

EXIT_WRONG = 1
MOST_SHOWN = 5

History = Counter[str]
"""Lifetimes with their rows, as text."""


@dataclass(frozen=True)
class Marked:
    """A mark: its line in the log, of which query, and for which prefix."""

    line: int
    query: str
    prefix: Mapping[str, int]
    closed: bool


def audit(
    path: str,
    log: str,
    inputs: Sequence[str],
    settings: Mapping[str, str | None],
    sample: int | None,
) -> int:
    """Checks the marks of a log; prints what is wrong, and returns the exit code."""
    load_engine()
    script = load(path)
    plans = {each.name: each.plan for each in script.outputs}
    options = {
        each.name: engine_options(
            consistency_of(each, settings), {each.name: each.plan}, RunOptions()
        )
        for each in script.outputs
    }
    marks = _sampled(_marks(log, plans), sample)
    events = _events(plans, inputs)
    emitted = _emitted(log, plans)
    wrong = 0
    for mark in marks:
        found = _upto(emitted[mark.query], mark.line)
        truth, names = _afresh(mark, plans[mark.query], events, options[mark.query], found)
        if found != truth:
            wrong += 1
            _print_difference(log, mark, found, truth, names)
    count = f"{len(marks):,} mark{'s' if len(marks) != 1 else ''}"
    if wrong:
        print(f"{log}: {wrong:,} of {count} {'is' if wrong == 1 else 'are'} wrong")
        return EXIT_WRONG
    print(f"{log}: {count} checked, all are what follows from the inputs")
    return 0


def _marks(log: str, plans: Mapping[str, Node]) -> list[Marked]:
    """The marks of the queries in the order of the log."""
    import orjson

    from driftline.event_log.explain import CONSISTENT

    found = []
    for number, line in enumerate(_lines(log), start=1):
        if CONSISTENT.encode() not in line:
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # whoever reads the events says so
        if not isinstance(event, dict) or event.get("kind") != CONSISTENT:
            continue
        if event["stream"] not in plans:
            raise Problem(
                f"{log}:{number}: a mark of {event['stream']}, but the script has no such query; "
                f"it has {', '.join(plans)}"
            )
        found.append(Marked(number, event["stream"], event["prefix"], event.get("closed", False)))
    if not found:
        raise Problem(
            f"{log} has no marks: write them with driftline run --outputs marked (or held)"
        )
    return found


def _lines(log: str) -> Iterator[bytes]:
    from driftline.event_log.source import Source as File

    if log == STANDARD_INPUT:
        raise Problem("the log is read twice: give a file, not standard input")
    for block in File(log).blocks():
        yield from block.splitlines()


def _sampled(marks: list[Marked], sample: int | None) -> list[Marked]:
    """So many of the marks, evenly from the first to the last."""
    if sample is None or sample >= len(marks):
        return marks
    if sample == 1:
        return marks[-1:]
    last = len(marks) - 1
    return [marks[number * last // (sample - 1)] for number in range(sample)]


def _events(plans: Mapping[str, Node], wanted: Sequence[str]) -> dict[str, RawEvents]:
    """All events of every input."""
    from driftline.engine.options import DEFAULT_BATCH
    from driftline.engine.plan_sources import sources_of
    from driftline.engine.readers.chunks import chunks
    from driftline.engine.readers.inputs import joined_events
    from driftline.plan.nodes import Constant
    from driftline.running.local import readings

    sources = {
        name: source
        for name, source in sources_of(plans.values()).items()
        if not isinstance(source, Constant)
    }
    given = read_inputs(wanted, sources)
    (read,) = readings([plans], given.streams, DEFAULT_BATCH)
    return {
        name: joined_events([*chunks(source, read[name], DEFAULT_BATCH)])
        for name, source in sources.items()
    }


def _emitted(log: str, plans: Mapping[str, Node]) -> dict[str, tuple[Source, RawEvents, Any]]:
    """What the log says of every query, with the line of each event."""
    from driftline.engine.readers.inputs import events_from
    from driftline.plan.nodes import Source
    from driftline.plan.types import Schema

    sources = {
        name: Source(
            name,
            Schema.of({each.name: each.type for each in plan.schema}),
            ticks_are_timestamps=plan.timestamps,
        )
        for name, plan in plans.items()
    }
    with reading([log]):
        given = read_inputs([log], sources)
    if given.bad:
        raise Problem(str(given.bad[0]))
    return {
        name: (source, events_from(source, given.streams[name]), given.streams[name].line)
        for name, source in sources.items()
    }


def _upto(emitted: tuple[Source, RawEvents, Any], line: int) -> History:
    """What a log had emitted before a line."""
    import numpy as np

    source, events, lines = emitted
    count = int(np.searchsorted(lines, line))
    from driftline.engine.options import Options

    history, _ = _history(source, {source.name: events.slice(0, count)}, Options(keep_open=True))
    return history


def _afresh(
    mark: Marked,
    plan: Node,
    events: Mapping[str, RawEvents],
    options: Options,
    found: History,
) -> tuple[History, list[str]]:
    """The answer for the prefix of a mark. How far `perfect` and `ordered` have come may depend on
    the batches, so if it differs it is computed once more event by event."""
    needed = {}
    for name in plan.sources():
        if name in events:
            count = mark.prefix.get(name, 0)
            if count > len(events[name]):
                raise Problem(
                    f"the mark on line {mark.line} is for {count:,} events of {name}, and its "
                    f"input has {len(events[name]):,}: give the input that the log was made from"
                )
            needed[name] = events[name].slice(0, count)
    chosen = replace(options, keep_open=not mark.closed)
    truth, names = _history(plan, needed, chosen)
    if truth != found and options.level.value != "eager":
        truth, names = _history(plan, needed, replace(chosen, batch=1))
    return truth, names


def _history(
    plan: Node, inputs: Mapping[str, RawEvents], options: Options
) -> tuple[History, list[str]]:
    from driftline.engine.local import run_all
    from driftline.engine.tables import history_table

    batches = [outputs.batch for outputs in run_all({"": plan}, inputs, options)]
    table = history_table(batches, plan.schema.arrow, loose=True)
    columns = [column.to_pylist() for column in table.columns]
    return Counter(repr(row) for row in zip(*columns, strict=True)), table.schema.names


def _print_difference(
    log: str, mark: Marked, found: History, truth: History, names: Sequence[str]
) -> None:
    prefix = ", ".join(f"{count:,} of {name}" for name, count in mark.prefix.items())
    print(f"{log}:{mark.line}: {mark.query} is not the answer for {prefix}", file=sys.stderr)
    print(f"  ({', '.join(names)})", file=sys.stderr)
    for what, more in (("too much", found - truth), ("missing", truth - found)):
        rows = [*more.elements()]
        for row in rows[:MOST_SHOWN]:
            print(f"  {what}: {row}", file=sys.stderr)
        if len(rows) > MOST_SHOWN:
            print(f"  and {len(rows) - MOST_SHOWN:,} more {what}", file=sys.stderr)
