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

from driftline.cli.behind import Lifetimes, agree_before, is_behind, is_chained
from driftline.cli.given import STANDARD_INPUT, with_declared
from driftline.cli.inputs import read_inputs
from driftline.cli.progress import reading
from driftline.cli.scripts import ScriptText, consistency_of, load
from driftline.kernels import announce_compilation
from driftline.model.prefix import Prefix
from driftline.running.options import RunOptions, engine_options
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.options import Options
    from driftline.engine.readers.inputs import RawEvents
    from driftline.plan.nodes import Node, Source
    from driftline.sql import Script

EXIT_WRONG = 1
MOST_SHOWN = 5

Found = tuple[Lifetimes, int]
"""An answer that was emitted, and up to which time it was final."""


@dataclass(frozen=True)
class Marked:
    """A mark: its line in the log, of which query, and for which prefix."""

    line: int
    query: str
    prefix: Prefix


def audit(
    path: str,
    log: str,
    inputs: Sequence[str],
    settings: Mapping[str, str | None],
    sample: int | None,
    *,
    is_local: bool = True,
) -> int:
    """Checks the marks of a log; prints what is wrong, and returns the exit code. `is_local`: the
    local runner made it, of which no part of an answer is behind another."""
    announce_compilation()
    script = load(ScriptText(path))
    plans = {each.name: each.plan for each in script.outputs}
    options = {
        each.name: engine_options(
            consistency_of(each, settings), {each.name: each.plan}, RunOptions()
        )
        for each in script.outputs
    }
    every = _marks(log, plans)
    marks = _sampled(every, sample)
    events = _events(script, inputs, _files(every))
    emitted = _emitted(log, plans)
    wrong = behind = 0
    for mark in marks:
        found, final = _upto(emitted[mark.query], mark.line)
        cuts = [each for each in every if each.query == mark.query and each.line <= mark.line]
        plan, how = plans[mark.query], options[mark.query]
        truth, names = _afresh(cuts, plan, events, how, found)
        if found == truth:
            continue
        if not is_local and _is_behind(cuts, plan, events, how, (found, final)):
            behind += 1
        else:
            wrong += 1
            _print_difference(log, mark, found, truth, names)
    count = f"{len(marks):,} mark{'s' if len(marks) != 1 else ''}"
    if wrong:
        print(f"{log}: {wrong:,} of {count} {'is' if wrong == 1 else 'are'} wrong")
    elif behind:
        print(f"{log}: {count} checked, none is known to be wrong")
    else:
        print(f"{log}: {count} checked, all are what follows from the inputs")
    if behind:
        print(
            f"{log}: {behind:,} of them could be checked only as far as shards of Spark had come "
            "(all is, with emit = eager, and with --runner local if that made the log)"
        )
    return EXIT_WRONG if wrong else 0


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
            continue  # the reader of the events reports it
        if not isinstance(event, dict) or event.get("kind") != CONSISTENT:
            continue
        if event["stream"] not in plans:
            raise Problem(
                f"{log}:{number}: a mark of {event['stream']}, but the script has no such query; "
                f"it has {', '.join(plans)}"
            )
        closed = event.get("closed", False)
        ended = tuple(closed) if isinstance(closed, list) else ()
        prefix = Prefix(event["prefix"], closed is True, event.get("files", {}), ended)
        found.append(Marked(number, event["stream"], prefix))
    if not found:
        raise Problem(
            f"{log} has no marks: write them with driftline run --outputs marked (or held)"
        )
    return found


def _lines(log: str) -> Iterator[bytes]:
    from driftline.event_log.source import LogSource as File

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


def _files(marks: Sequence[Marked]) -> dict[str, list[str]]:
    """By input the files that marks name, in their order: the inputs are counted in it."""
    found: dict[str, dict[str, None]] = {}
    for mark in marks:
        for name, files in mark.prefix.files.items():
            found.setdefault(name, {}).update(dict.fromkeys(files))
    return {name: list(files) for name, files in found.items()}


def _events(
    script: Script, wanted: Sequence[str], first: Mapping[str, Sequence[str]]
) -> dict[str, RawEvents]:
    """All events of every input; `first`: the files that come first in their directories."""
    from driftline.engine.options import DEFAULT_BATCH
    from driftline.engine.plan_sources import sources_of
    from driftline.engine.readers.chunks import chunks
    from driftline.engine.readers.inputs import joined_events
    from driftline.plan.nodes import Constant
    from driftline.running.local import readings

    plans = {each.name: each.plan for each in script.outputs}
    sources = {
        name: source
        for name, source in sources_of(plans.values()).items()
        if not isinstance(source, Constant)
    }
    given = read_inputs(with_declared(wanted, script, sources), sources, first=first)
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


def _upto(emitted: tuple[Source, RawEvents, Any], line: int) -> Found:
    """What a log had emitted before a line, and up to which time that was final."""
    import numpy as np

    from driftline.model.columns import CTI
    from driftline.model.time import BEGINNING

    source, events, lines = emitted
    count = int(np.searchsorted(lines, line))
    from driftline.engine.options import Options

    before = events.slice(0, count)
    history, _ = _history(source, {source.name: before}, Options(keep_open=True))
    return history, int(before.vs[before.kind == CTI].max(initial=BEGINNING))


def _afresh(
    cuts: Sequence[Marked],
    plan: Node,
    events: Mapping[str, RawEvents],
    options: Options,
    found: Lifetimes,
) -> tuple[Lifetimes, list[str]]:
    """The answer for the prefix of the last of some marks. Plain records of a directory come at one
    moment from mark to mark, where it matters what came before what. How far `perfect` and
    `ordered` have come may depend on the batches, as long as more is to come: if the answer differs
    then, it is computed once more from mark to mark, and then event by event."""
    mark = cuts[-1]
    needed = {name: _prefix(mark, name, events[name]) for name in plan.sources() if name in events}
    at_once = [
        name
        for name, source in plan.sources().items()
        if name in needed and _comes_at_once(cuts, source, needed[name], options)
    ]
    chosen = replace(options, keep_open=not mark.prefix.closed)
    ways = [] if at_once else [(needed, chosen)]
    may_differ = options.level.value != "eager" and not mark.prefix.closed
    if at_once or may_differ:
        cut = {name: _cut(cuts, name, each, name in at_once) for name, each in needed.items()}
        ways.append((cut, replace(chosen, batch=1)))
        if not at_once:
            ways.append((needed, replace(chosen, batch=1)))
    for inputs, how in ways:
        truth, names = _history(plan, inputs, how)
        if truth == found:
            break
    return truth, names


def _prefix(mark: Marked, name: str, events: RawEvents) -> RawEvents:
    """The events of an input that a mark is for, and its end, if it alone has ended."""
    from driftline.engine.readers.inputs import closing, joined_events

    count = mark.prefix.events.get(name, 0)
    if count > len(events):
        raise Problem(
            f"the mark on line {mark.line} is for {count:,} events of {name}, and its input has "
            f"{len(events):,}: give the input that the log was made from"
        )
    part = events.slice(0, count)
    if name not in mark.prefix.ended:
        return part
    last = int(part.position[-1]) if count else 0
    return joined_events([part, closing(part, last)])


def _comes_at_once(
    cuts: Sequence[Marked], source: Source, events: RawEvents, options: Options
) -> bool:
    """Whether it matters that the records of a micro-batch have come at one moment."""
    from driftline.engine.shards.stages import Reading

    if events.is_log or source.timing.arrival is not None:
        return False
    is_folder = any(source.name in mark.prefix.files for mark in cuts)
    return is_folder and Reading(plain=True, ordered=True).by_times(source, options)


def _cut(cuts: Sequence[Marked], name: str, events: RawEvents, at_once: bool) -> RawEvents:
    """The events of an input, with the number of their mark as their place."""
    import numpy as np

    counts = [mark.prefix.events.get(name, 0) for mark in cuts]
    places = np.searchsorted(counts, np.arange(len(events)), side="right").astype(np.int64)
    ends = (number for number, mark in enumerate(cuts) if name in mark.prefix.ended)
    if (end := next(ends, None)) is not None:
        places[-1] = end
    return replace(events, position=places, at_once=at_once)


def _is_behind(
    cuts: Sequence[Marked],
    plan: Node,
    events: Mapping[str, RawEvents],
    options: Options,
    emitted: Found,
) -> bool:
    """Whether an answer is right as far as the shards have come that made it (see `behind`)."""
    from driftline.model.level import Level

    found, final = emitted
    if options.level is Level.EAGER or cuts[-1].prefix.closed:
        return False
    truth, _ = _afresh(cuts, plan, events, replace(options, level=Level.EAGER), found)
    if is_chained(plan):
        return agree_before(found, truth, final)
    return is_behind(found, truth, options.level, final)


def _history(
    plan: Node, inputs: Mapping[str, RawEvents], options: Options
) -> tuple[Lifetimes, list[str]]:
    from driftline.engine.local import run_all
    from driftline.engine.tables import history_table

    batches = [outputs.batch for outputs in run_all({"": plan}, inputs, options)]
    table = history_table(batches, plan.schema.arrow, loose=True)
    columns = [column.to_pylist() for column in table.columns]
    found = Counter((vs, ve, repr(row)) for vs, ve, *row in zip(*columns, strict=True))
    return found, table.schema.names


def _print_difference(
    log: str, mark: Marked, found: Lifetimes, truth: Lifetimes, names: Sequence[str]
) -> None:
    prefix = ", ".join(f"{count:,} of {name}" for name, count in mark.prefix.events.items())
    print(f"{log}:{mark.line}: {mark.query} is not the answer for {prefix}", file=sys.stderr)
    print(f"  ({', '.join(names)})", file=sys.stderr)
    for what, more in (("too much", found - truth), ("missing", truth - found)):
        rows = [*more.elements()]
        for vs, ve, row in rows[:MOST_SHOWN]:
            print(f"  {what}: {vs}, {ve}, {row[1:-1]}", file=sys.stderr)
        if len(rows) > MOST_SHOWN:
            print(f"  and {len(rows) - MOST_SHOWN:,} more {what}", file=sys.stderr)
