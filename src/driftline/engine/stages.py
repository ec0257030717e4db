"""From the fragments of a plan to stages: what the shards of each level do, and where rows go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from driftline.engine.local import Options
from driftline.engine.parcels import OUTPUT, Target
from driftline.engine.shard import SourcePort, Stage
from driftline.model.time import INFINITY
from driftline.plan.fragments import Fragment
from driftline.plan.nodes import Source


@dataclass(frozen=True)
class Reading:
    """How a source is read: `plain` records are inserts [time, ∞); `ordered`: each has its place in
    order of arrival, rather than that all of a micro-batch come at one moment."""

    plain: bool
    ordered: bool

    def remember(self, source: Source, options: Options) -> int:
        """How long the past of the source can be corrected; a promise of its own shortens that."""
        if source.disorder is None or not self.plain:
            return options.remember
        return min(options.remember, max(source.disorder - 1, 0))

    def by_times(self, source: Source, options: Options) -> bool:
        """Whether what is in time depends on the order in which events have come."""
        return not self.plain or (self.ordered and self.remember(source, options) < INFINITY)


@dataclass(frozen=True)
class Stages:
    """The stages of a plan, in the order they run, and where the rows of each source go."""

    levels: tuple[Stage, ...]
    sources: Mapping[str, tuple[Target, ...]]


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
    from_sources: dict[str, dict[tuple[int, str], Target]] = {}
    levels: dict[int, list[Fragment]] = {}
    ports: dict[int, dict[str, SourcePort]] = {}
    for fragment in fragments:
        levels.setdefault(fragment.level, []).append(fragment)
        here = ports.setdefault(fragment.level, {})
        for each in fragment.inputs:
            place = (fragment.level, each.leaf.name)
            if isinstance(each.origin, str):
                targets[each.origin][place] = Target(*place, each.keys)
                continue
            source = each.origin
            of_source = from_sources.setdefault(source.name, {})
            reading = readings[source.name]
            here.setdefault(
                each.leaf.name,
                SourcePort(
                    each.leaf,
                    reading.by_times(source, options),
                    reading.plain,
                    reading.remember(source, options),
                    primary=not of_source,
                ),
            )
            of_source[place] = Target(*place, each.keys)
    made = tuple(
        Stage(
            level,
            tuple(levels[level]),
            tuple(ports[level].values()),
            {each.name: tuple(targets[each.name].values()) for each in levels[level]},
            options,
            shards,
        )
        for level in sorted(levels)
    )
    return Stages(made, {name: tuple(of.values()) for name, of in from_sources.items()})
