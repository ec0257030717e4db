"""`driftline explain`: the plan of each query as a tree, with what every operator does and keeps.

What runs natively in Spark, and where the exchanges are, is shown for the queries of the
same settings together, as they run as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from driftline.cli.scripts import consistency_of, load, script_of
from driftline.cli.start import load_engine
from driftline.event_log.apart import STDOUT, Used, need_apart
from driftline.running.options import (
    DEFAULT_REMEMBER,
    Consistency,
    Query,
    RunOptions,
    by_consistency,
    engine_options,
)

if TYPE_CHECKING:
    from driftline.plan.facts import Facts
    from driftline.plan.nodes import Node, Source
    from driftline.sql import Output, Script


def explain(path: str, *, dot: bool, emit: str | None = None) -> None:
    """Prints the plans of a script."""
    need_apart([Used("standard output", STDOUT)], [script_of(path)])
    load_engine()
    script = load(path)
    if dot:
        print("\n".join(_dot(script)))
        return
    parts = [explained(output, emit) for output in script.outputs]
    print("\n\n".join("\n".join(lines) for lines in (*parts, on_spark(script, emit))))


def explained(output: Output, emit: str | None = None) -> list[str]:
    """The lines about one query: how it is run, and its plan."""
    consistency = consistency_of(output, {"emit": emit})
    lines = [f"{output.name}: {_shown(consistency)}"]
    lines += _tree(output.plan, consistency.emit, _of_plain_records(output.plan), set())
    if _nothing_final(output.plan, consistency.remember):
        lines.append(
            "note: without ctis in the input, disorder or remember, nothing is final before the "
            "end, and state only grows"
        )
    return lines


def _shown(consistency: Consistency) -> str:
    settings = ("emit", "block", "remember")
    return ", ".join(f"{name} {getattr(consistency, name)}" for name in settings)


def _nothing_final(plan: Node, remember: str) -> bool:
    return remember == DEFAULT_REMEMBER and any(
        source.disorder is None for source in plan.sources().values()
    )


def _of_plain_records(plan: Node) -> Facts:
    """What is known of a plan if its streams that have a time column are plain records."""
    from driftline.plan.facts import Facts

    return Facts([each.name for each in plan.sources().values() if each.time is not None])


def _tree(node: Node, emit: str, facts: Facts, seen: set[int]) -> list[str]:
    if id(node) in seen and node.inputs:
        return [f"{node.label()} (the same as above)"]
    seen.add(id(node))
    remarks = node.remarks(emit, facts).lines()
    bar = "│ " if node.inputs else "  "
    lines = [node.label(), *(f"{bar}  {line}" for line in remarks)]
    for number, child in enumerate(node.inputs):
        last = number == len(node.inputs) - 1
        for place, line in enumerate(_tree(child, emit, facts, seen)):
            edge = ("└─ " if last else "├─ ") if place == 0 else ("   " if last else "│  ")
            lines.append(edge + line)
    return lines


def on_spark(script: Script, emit: str | None = None) -> list[str]:
    """How Spark runs the queries: those of the same settings as one, with a cut in common."""
    queries = [
        Query(each.name, each.plan, consistency_of(each, {"emit": emit})) for each in script.outputs
    ]
    groups = by_consistency(queries)
    lines: list[str] = []
    for consistency, plans in groups.items():
        settings = f", {_shown(consistency)}" if len(groups) > 1 else ""
        lines += [f"on Spark{settings}:", *_stages(consistency, plans)]
    return lines


def _stages(consistency: Consistency, plans: Mapping[str, Node]) -> list[str]:
    """A stateful stage for each level of fragments, and its inputs."""
    from driftline.engine.shards.stages import Reading
    from driftline.plan.fragments import cut_together

    options = engine_options(consistency, plans, RunOptions())

    def native(source: Source) -> bool:
        return Reading(plain=source.time is not None, ordered=False).is_native(source, options)

    lines: list[str] = []
    for fragment in cut_together(plans, native):
        lines.append(f"  stage {fragment.level}: {fragment.name}")
        lines += [f"    {line}" for line in fragment.plan.tree().split("\n")]
        for each in fragment.inputs:
            keys = ", ".join(map(str, each.keys))
            where = f"by {keys}" if keys else "to one shard"
            if isinstance(each.origin, str):
                lines.append(f"    exchange: the answer of {each.origin}, {where}")
                continue
            lines.append(f"    exchange: {each.origin.source.name}, {where}")
            steps = ", ".join(step.label() for step in each.origin.steps)
            if steps:
                lines.append(f"      before it, natively in Spark if it reads records: {steps}")
    return lines


# Graphviz


def _dot(script: Script) -> Iterator[str]:
    yield "digraph driftline {"
    yield '  rankdir=BT; node [shape=box, fontname="sans-serif"];'
    numbers: dict[int, int] = {}
    for output in script.outputs:
        for node in output.plan.walk():
            if id(node) in numbers:
                continue
            numbers[id(node)] = len(numbers)
            yield f"  n{numbers[id(node)]} [label={_quoted(node.label())}];"
    drawn: set[str] = set()
    for output in script.outputs:
        for edge in _edges(output.plan, numbers):
            if edge not in drawn:
                drawn.add(edge)
                yield edge
        yield f"  {_quoted(output.name)} [shape=ellipse];"
        yield f"  n{numbers[id(output.plan)]} -> {_quoted(output.name)};"
    yield "}"


def _edges(plan: Node, numbers: dict[int, int]) -> Iterator[str]:
    for node in plan.walk():
        for child in node.inputs:
            yield f"  n{numbers[id(child)]} -> n{numbers[id(node)]};"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
