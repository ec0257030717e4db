"""`driftline explain`: the plan of each query as a tree, with what every operator does and keeps.

What runs natively in Spark, and where the exchanges are, is shown for the queries of the
same settings together, as they run as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from driftline.cli.scripts import ScriptText, consistency_of, load
from driftline.event_log.apart import STDOUT, Used, need_apart
from driftline.kernels import announce_compilation
from driftline.running.options import (
    DEFAULT_REMEMBER,
    Consistency,
    NamedQuery,
    RunOptions,
    by_consistency,
    engine_options,
)

if TYPE_CHECKING:
    from driftline.plan.facts import Facts
    from driftline.plan.nodes import Node, Source
    from driftline.sql import Output, Script


def explain(text: ScriptText, *, dot: bool, emit: str | None = None) -> None:
    """Prints the plans of a script."""
    need_apart([Used("standard output", STDOUT)], text.used())
    announce_compilation()
    script = load(text)
    if dot:
        print("\n".join(_dot(script)))
        return
    print_plans((*script.outputs, *script.explained), emit)


def print_plans(outputs: Sequence[Output], emit: str | None = None) -> None:
    """Prints the plans of queries, and how Spark runs them."""
    parts = [explained(output, emit) for output in outputs]
    print("\n\n".join("\n".join(lines) for lines in (*parts, on_spark(outputs, emit))))


def explained(output: Output, emit: str | None = None) -> list[str]:
    """The lines about one query: how it is run, and its plan."""
    from driftline.plan.depth import room
    from driftline.plan.nodes import CALLS

    consistency = consistency_of(output, {"emit": emit})
    loops, sink = _loops(output.plan, consistency), _sink(output)
    lines = [f"{output.name}: {_shown(consistency)}{loops}{sink}"]
    with room(CALLS):
        lines += _tree(output.plan, consistency.emit, _of_plain_records(output.plan), set())
    if _nothing_final(output.plan, consistency.remember):
        lines.append(
            "note: without ctis in the input, disorder or remember, nothing is final before the "
            "end, and state only grows"
        )
    return lines


def _shown(consistency: Consistency) -> str:
    settings = ["emit", "block", "remember"]
    if consistency.heartbeat != "source":
        settings.append("heartbeat")
    return ", ".join(f"{name} {getattr(consistency, name)}" for name in settings)


def _loops(plan: Node, consistency: Consistency) -> str:
    """How loops find progress if they run free, where there are loops."""
    from driftline.plan.nodes import Loop

    has_loop = any(isinstance(node, Loop) for node in plan.walk())
    return f", loop {consistency.loop}" if has_loop else ""


def _sink(output: Output) -> str:
    """What the answer goes to; never where, which may be a secret."""
    return "" if output.sink is None else f", to a sink of type {output.sink.options['type']}"


def _nothing_final(plan: Node, remember: str) -> bool:
    return remember == DEFAULT_REMEMBER and any(
        not source.timing.is_promised for source in plan.sources().values()
    )


def _of_plain_records(plan: Node) -> Facts:
    """What is known of a plan if its streams that have a time column are plain records."""
    from driftline.plan.facts import Facts

    return Facts([each.name for each in plan.sources().values() if each.time is not None])


def _tree(node: Node, emit: str, facts: Facts, seen: set[int]) -> list[str]:
    if id(node) in seen and node.inputs:
        return [f"{node.label()} (the same as above)"]
    seen.add(id(node))
    inputs = [_tree(child, emit, facts, seen) for child in node.inputs]
    return node.drawn(node.remarks(emit, facts).lines(), inputs)


def on_spark(outputs: Iterable[Output], emit: str | None = None) -> list[str]:
    """How Spark runs the queries: those of the same settings as one, with a cut in common."""
    queries = [
        NamedQuery(each.name, each.plan, consistency_of(each, {"emit": emit})) for each in outputs
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
    from driftline.plan.nodes import EVERY_SHARD

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
            if each.keys == EVERY_SHARD:
                where = f"to {keys}"
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
    drawn: set[str] = set()
    for output in (*script.outputs, *script.explained):
        for node in output.plan.walk():
            for part in (*_bodies(node), node):
                if id(part) not in numbers:
                    numbers[id(part)] = len(numbers)
                    yield f"  n{numbers[id(part)]} [label={_quoted(part.label())}];"
        for node in output.plan.walk():
            for one, other, style in _edges(node):
                edge = f"  n{numbers[id(one)]} -> n{numbers[id(other)]}{style};"
                if edge not in drawn:
                    drawn.add(edge)
                    yield edge
        yield f"  {_quoted(output.name)} [shape=ellipse];"
        yield f"  n{numbers[id(output.plan)]} -> {_quoted(output.name)};"
    yield "}"


def _bodies(node: Node) -> Iterator[Node]:
    """What goes round, if a node is a loop."""
    from driftline.plan.nodes import Loop

    if isinstance(node, Loop):
        for rule in node.rules:
            yield from rule.body.walk()


def _edges(node: Node) -> Iterator[tuple[Node, Node, str]]:
    """From which node to which there is an edge because of one, and how it is drawn."""
    from driftline.plan.nodes import Back, Leaf, Loop, leaf_name

    if not isinstance(node, Loop):
        yield from ((child, node, "") for child in node.inputs)
        return
    given = {leaf_name(number): each for number, each in enumerate(node.given)}
    yield from ((rule.body, node, "") for rule in node.rules)
    for part in _bodies(node):
        yield from ((child, part, "") for child in part.inputs)
        if isinstance(part, Leaf):
            yield given[part.name], part, ""
        if isinstance(part, Back):
            yield node, part, " [style=dashed, constraint=false]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
