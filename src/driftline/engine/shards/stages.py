"""From the fragments of a plan to stages: what the shards of each level do, and where rows go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from driftline.engine.ingest.source import has_time
from driftline.engine.options import Options
from driftline.engine.shards.messages import OUTPUT, Target
from driftline.engine.shards.shard import SourcePort, Stage
from driftline.model.time import INFINITY
from driftline.plan.choices import Heartbeat
from driftline.plan.closing import delays
from driftline.plan.expressions import Expression
from driftline.plan.facts import Delays
from driftline.plan.fragments import Fragment, Input, SourcePrefix
from driftline.plan.native import has_dead_letters, is_read_natively
from driftline.plan.needed import needed, passed
from driftline.plan.nodes import EVERY_SHARD, Leaf, Source
from driftline.plan.timing import remembered


@dataclass(frozen=True)
class Reading:
    """How a source is read: `plain` records are inserts [time, ∞); `ordered`: each has its place in
    order of arrival, rather than that all of a micro-batch come at one moment."""

    plain: bool
    ordered: bool

    def remember(self, source: Source, options: Options) -> int:
        """How long the past of the source can be corrected; a promise of its own shortens that."""
        return remembered(source.timing, options.remember)

    def watched(self, source: Source, options: Options) -> bool:
        """Whether its heartbeats take more than the greatest time so far."""
        return has_time(source.timing, options, plain=self.plain)

    def has_dead_letters(self, source: Source, options: Options) -> bool:
        """Whether an event of the source can be set aside: then it is needed whole."""
        return has_dead_letters(source, plain=self.plain, remember=options.remember)

    def is_native(self, source: Source, options: Options) -> bool:
        """Whether Spark may run the beginning of the source itself (see `plan.native`)."""
        block, remember = options.block, options.remember
        return is_read_natively(source, plain=self.plain, block=block, remember=remember)

    def by_times(self, source: Source, options: Options) -> bool:
        """Whether what is in time depends on the order in which events have come."""
        return not self.plain or (
            self.ordered
            and (self.remember(source, options) < INFINITY or self.watched(source, options))
        )


@dataclass(frozen=True)
class Stages:
    """The stages of a plan, in the order they run, and by the name of a source where its rows go
    and what is computed before."""

    levels: tuple[Stage, ...]
    sources: Mapping[str, tuple[Target, ...]]
    prefixes: Mapping[str, SourcePrefix]


def stages(
    fragments: Sequence[Fragment],
    outputs: Sequence[str],
    readings: Mapping[str, Reading],
    options: Options,
    shards: int,
) -> Stages:
    """What has to be run; `outputs`: the fragments whose answer is wanted."""
    targets: dict[str, dict[tuple[int, str], Target]] = {each.name: {} for each in fragments}
    for name in outputs:
        targets[name][OUTPUT, name] = Target(OUTPUT, name)
    prefixes: dict[str, SourcePrefix] = {}
    from_sources: dict[str, dict[tuple[int, str], Target]] = {}
    levels: dict[int, list[Fragment]] = {}
    ports: dict[int, dict[str, SourcePort]] = {}
    for fragment in fragments:
        levels.setdefault(fragment.level, []).append(fragment)
        here = ports.setdefault(fragment.level, {})
        read, conditions = needed(fragment.plan), passed(fragment.plan)
        for each in fragment.inputs:
            columns = tuple(sorted(read.get(each.leaf.name, ())))
            place = (fragment.level, each.leaf.name)
            if isinstance(each.origin, str):
                _add(targets[each.origin], Target(*place, each.keys, columns))
                continue
            source = each.origin.source
            prefixes[source.name] = each.origin
            of_source = from_sources.setdefault(source.name, {})
            reading = readings[source.name]
            if reading.has_dead_letters(source, options):
                columns = tuple(range(len(each.leaf.schema)))
            time = _time_place(each, reading, options)
            is_primary = not of_source
            here.setdefault(
                each.leaf.name,
                SourcePort(
                    source.name,
                    each.leaf,
                    reading.by_times(source, options),
                    reading.plain,
                    source.timing,
                    time,
                    primary=is_primary,
                    is_copied=each.keys == EVERY_SHARD,
                ),
            )
            sent = tuple(column for column in columns if column != time)
            where: tuple[Expression, ...] = ()
            # The first port has all rows: it knows which are dead letters.
            if reading.plain and not reading.by_times(source, options) and not is_primary:
                there = {each.leaf.schema.names[column] for column in sent}
                where = tuple(
                    part for part in conditions[each.leaf.name] if part.columns() <= there
                )
            _add(of_source, Target(*place, each.keys, sent, where=where))
    below: dict[int, dict[str, tuple[str, ...]]] = {level: {} for level in levels}
    for fragment, leaf, wanted in _waited_for(fragments, options.heartbeat):
        here = ports[fragment.level]
        for source in wanted.values():
            if all(port.source != source.name for port in here.values()):
                port = _watching(source, readings[source.name], options)
                here[port.leaf.name] = port
                target = Target(fragment.level, port.leaf.name, columns=(), times_only=True)
                _add(from_sources[source.name], target)
        by_source = {port.source: name for name, port in here.items()}
        if leaf is not None:
            below[fragment.level][leaf] = tuple(by_source[name] for name in wanted)
    closing = _closing(fragments, readings)
    made = tuple(
        Stage(
            level,
            tuple(levels[level]),
            tuple(ports[level].values()),
            {each.name: tuple(targets[each.name].values()) for each in levels[level]},
            options,
            shards,
            closing,
            below[level],
        )
        for level in sorted(levels)
    )
    targets_of = {name: tuple(of.values()) for name, of in from_sources.items()}
    return Stages(made, targets_of, prefixes)


def _below(fragments: Sequence[Fragment]) -> dict[str, dict[str, Source]]:
    """By fragment, the sources that it and those before it read."""
    found: dict[str, dict[str, Source]] = {}
    for fragment in fragments:
        found[fragment.name] = {}
        for each in fragment.inputs:
            if isinstance(each.origin, SourcePrefix):
                found[fragment.name][each.origin.source.name] = each.origin.source
            else:
                found[fragment.name] |= found[each.origin]
    return found


def _waited_for(
    fragments: Sequence[Fragment], heartbeat: Heartbeat
) -> Iterator[tuple[Fragment, str | None, dict[str, Source]]]:
    """The sources that rows of a source wait for in a fragment: those below one of its leaves that
    stands for another fragment, or (with None in place of the leaf) all that there are."""
    below = _below(fragments)
    every = {name: source for each in below.values() for name, source in each.items()}
    for fragment in fragments:
        if heartbeat == "source" or all(isinstance(e.origin, str) for e in fragment.inputs):
            continue
        if heartbeat == "query":
            yield fragment, None, every
            continue
        for each in fragment.inputs:
            if isinstance(each.origin, str):
                yield fragment, each.leaf.name, below[each.origin]


def _watching(source: Source, reading: Reading, options: Options) -> SourcePort:
    """A port by which shards that read nothing of a source know its time."""
    leaf = Leaf(f"{source.name} (time)", source.schema, source.timestamps)
    ordered = reading.by_times(source, options)
    return SourcePort(source.name, leaf, ordered, reading.plain, source.timing, primary=False)


def _closing(fragments: Sequence[Fragment], readings: Mapping[str, Reading]) -> dict[str, Delays]:
    """By leaf, the columns that close; fragments stand after those they need."""
    answers: dict[str, Delays] = {}
    leaves: dict[str, Delays] = {}
    plain: set[str] = set()
    for fragment in fragments:
        for each in fragment.inputs:
            if isinstance(each.origin, str):
                leaves[each.leaf.name] = answers[each.origin]
            elif readings[each.origin.source.name].plain:
                plain.add(each.leaf.name)
        answers[fragment.name] = delays(fragment.plan, plain, leaves)
    return leaves


def _time_place(each: Input, reading: Reading, options: Options) -> int | None:
    """Where the column is in a leaf that need not be sent, because its values are those of vs."""
    assert isinstance(each.origin, SourcePrefix)
    source = each.origin.source
    if not reading.plain or reading.by_times(source, options) or each.origin.steps:
        return None
    if source.time is None:
        return None
    place = source.columns.places[source.time]
    name = each.leaf.schema.names[place]
    return None if any(name in key.columns() for key in each.keys) else place


def _add(targets: dict[tuple[int, str], Target], target: Target) -> None:
    """What two fragments of a level read of one port comes once."""
    place = (target.level, target.port)
    before = targets.get(place)
    if before is not None and before.columns is not None and target.columns is not None:
        columns = tuple(sorted({*before.columns, *target.columns}))
        target = Target(*place, target.keys, columns)  # whichever rows each of them reads
    targets[place] = target
