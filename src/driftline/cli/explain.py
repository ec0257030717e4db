"""`driftline explain`: the plan of each query as a tree, with what every operator does and keeps.

What runs natively in Spark, and where the exchanges are, is said of all queries together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.cli.runners import DEFAULT_BLOCK, DEFAULT_EMIT, DEFAULT_REMEMBER
from driftline.cli.scripts import load, script_of
from driftline.cli.start import load_engine
from driftline.model.log.apart import STDOUT, Used, need_apart

if TYPE_CHECKING:
    from driftline.plan.nodes import Join, Node, Source, Window
    from driftline.sql import Output, Script


@dataclass(frozen=True)
class Remarks:
    """What is said of an operator besides its label."""

    lifetimes: str = ""
    keys: str = ""
    state: str = ""
    purged: str = ""
    final: str = ""

    def lines(self) -> list[str]:
        parts = [
            ("keys", self.keys),
            ("lifetimes", self.lifetimes),
            ("state", self.state),
            ("a cti drops", self.purged),
            ("final", self.final),
        ]
        return [f"{name}: {text}" for name, text in parts if text]


def explain(path: str, *, dot: bool, emit: str | None = None) -> None:
    """Prints the plans of a script."""
    need_apart([Used("standard output", STDOUT)], [script_of(path)])
    load_engine()
    script = load(path)
    if dot:
        print("\n".join(_dot(script)))
        return
    for number, output in enumerate(script.outputs):
        if number:
            print()
        print("\n".join(explained(output, emit)))
    print()
    print("\n".join(on_spark(script)))


def explained(output: Output, emit: str | None = None) -> list[str]:
    """The lines about one query: how it is run, and its plan."""
    settings = {
        "emit": emit or output.settings.get("emit", DEFAULT_EMIT),
        "block": output.settings.get("block", DEFAULT_BLOCK),
        "remember": output.settings.get("remember", DEFAULT_REMEMBER),
    }
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    lines = [f"{output.name}: {said}"]
    lines += _tree(output.plan, settings["emit"], set())
    if _nothing_final(output.plan, settings["remember"]):
        lines.append(
            "note: without ctis in the input, disorder or remember, nothing is final before the "
            "end, and state only grows"
        )
    return lines


def _nothing_final(plan: Node, remember: str) -> bool:
    return remember == DEFAULT_REMEMBER and any(
        source.disorder is None for source in plan.sources().values()
    )


def _tree(node: Node, emit: str, seen: set[int]) -> list[str]:
    if id(node) in seen and node.inputs:
        return [f"{node.label()} (the same as above)"]
    seen.add(id(node))
    remarks = remarks_on(node, emit).lines()
    bar = "│ " if node.inputs else "  "
    lines = [node.label(), *(f"{bar}  {line}" for line in remarks)]
    for number, child in enumerate(node.inputs):
        last = number == len(node.inputs) - 1
        for place, line in enumerate(_tree(child, emit, seen)):
            edge = ("└─ " if last else "├─ ") if place == 0 else ("   " if last else "│  ")
            lines.append(edge + line)
    return lines


def on_spark(script: Script) -> list[str]:
    """How Spark runs the queries: a stateful stage for each level of fragments, and its inputs."""
    from driftline.plan.fragments import cut_together

    plans = {output.name: output.plan for output in script.outputs}
    lines = ["on Spark:"]
    for fragment in cut_together(plans, _reads_plain_records):
        lines.append(f"  stage {fragment.level}: {fragment.name}")
        lines += [f"    {line}" for line in fragment.plan.tree().split("\n")]
        for each in fragment.inputs:
            keys = ", ".join(map(str, each.keys))
            where = f"by {keys}" if keys else "to one shard"
            if isinstance(each.origin, str):
                lines.append(f"    exchange: the answer of {each.origin}, {where}")
                continue
            lines.append(f"    exchange: {each.origin.source.name}, {where}")
            native = ", ".join(step.label() for step in each.origin.steps)
            if native:
                lines.append(f"      before it, natively in Spark if it reads records: {native}")
    return lines


def _reads_plain_records(source: Source) -> bool:
    """May Spark itself run the beginning? Only if nothing is ever set aside before it."""
    return source.time is not None and source.disorder is None


def remarks_on(node: Node, emit: str) -> Remarks:
    """Lifetimes, keys, state, and what a cti does, of one operator."""
    from driftline.plan import nodes
    from driftline.plan.over import Over

    timeline = "endpoints before it, and groups in which nothing is left"
    if _is_closed(node) and emit != "perfect":
        timeline += "; of plain records, groups whose window is over"
    match node:
        case nodes.Source():
            return _source(node)
        case nodes.Window():
            return Remarks(_window(node))
        case nodes.Join():
            return Remarks(
                "the part in which both rows are alive"
                if node.how == "inner"
                else "the parts in which rows have, or lack, a partner",
                _join_keys(node),
                "the lifetimes of both sides, by key",
                "lifetimes that ended before it" + _bounded(node, emit),
            )
        case nodes.Union():
            return Remarks("those of both inputs")
        case nodes.Aggregate():
            return Remarks(
                f"one for every value the answer has, said {emit}",
                ", ".join(str(key) for key in node.keys) or "none: one group",
                "a timeline for every group",
                timeline,
            )
        case nodes.Distinct() | nodes.SetOperation():
            return Remarks(
                f"while a row is there, said {emit}", "the whole row", "a timeline for every row",
                timeline,
            )  # fmt: skip
        case nodes.Rank():
            return Remarks(
                f"while a row has its place, said {emit}",
                ", ".join(map(str, node.partition)) or "none: one group",
                "the rows of every group, with a timeline",
                timeline,
            )
        case Over():
            return Remarks(
                f"while the functions of a row have their values, said {emit}",
                ", ".join(map(str, node.partition)) or "none: one group",
                "the rows of every group, with a timeline",
                timeline,
            )
    return Remarks()  # select, project and alias: rows of the same lifetimes, and no state


def _bounded(node: Join, emit: str) -> str:
    """Which rows of plain records a join lets go although they never end."""
    from driftline.model.time import INFINITY
    from driftline.plan.bands import spans
    from driftline.plan.durations import span

    plain = [source.name for source in node.sources().values() if source.time is not None]
    found = spans(node, plain, {}, closing=emit != "perfect")
    left, right = found[:2] if node.how == "inner" else (found.both, found.both)
    sides = {"left": left, "right": right}
    exactly = 1_000 if node.timestamps else 1  # a tick more or less is nothing to read
    lasting = [
        f"{span(max(each, 0) // exactly * exactly, node.timestamps)} old on the {side}"
        for side, each in sides.items()
        if each < INFINITY
    ]
    return f"; of plain records, those {' and '.join(lasting)}" if lasting else ""


def _is_closed(node: Node) -> bool:
    """Whether a cti closes groups of an operator, if its sources have plain records."""
    from driftline.plan import nodes
    from driftline.plan.closing import closing_key, delays
    from driftline.plan.over import Over

    plain = [source.name for source in node.sources().values() if source.time is not None]
    match node:
        case nodes.Aggregate(input=given, keys=keys):
            return closing_key([key.value for key in keys], given, plain, {}) is not None
        case nodes.Rank(input=given, partition=partition) | Over(input=given, partition=partition):
            return closing_key(partition, given, plain, {}) is not None
        case nodes.Distinct(input=given):
            return bool(delays(given, plain, {}))
    return False


def _source(node: Source) -> Remarks:
    from driftline.plan.durations import span

    if node.time is None:
        lifetimes = "those of the event log"
    else:
        lifetimes = f"those of the event log, or [{node.time}, ∞) for plain records"
    final = "ctis of the log"
    if node.disorder is not None:
        late = span(node.disorder, node.timestamps)
        latest = "the latest time"
        if node.timing.source is not None:
            latest += f" of each {node.timing.source}"
        final += f", or {latest} less {late}{_more_bounds(node)}"
    return Remarks(
        lifetimes,
        state="lifetimes that may still be retracted, and what waits for block",
        purged="lifetimes that ended before it",
        final=f"by {final}",
    )


def _more_bounds(node: Source) -> str:
    from driftline.plan.durations import span

    timing = node.timing
    parts = []
    if timing.skew is not None:
        parts.append(f"clocks at most {span(timing.skew, node.timestamps)} apart")
    if timing.latency:
        parts.append(f"at most {timing.latency} ms on their way")
    if timing.timeout is not None:
        parts.append(f"silent ones not waited for after {timing.timeout} ms")
    return "".join(f", {part}" for part in parts)


def _window(node: Window) -> str:
    from driftline.plan.durations import span

    size, slide = (span(each, node.timestamps) for each in (node.size, node.slide))
    match node.form:
        case "sliding":
            return f"[vs, vs + {size})"
        case "hopping":
            return f"from the first multiple of {slide} after vs to that after vs + {size}"
        case "now":
            return "[vs, vs + 1)"
        case "unbounded":
            return "[vs, ∞)"
    return f"from {node.start}, for {node.duration}"


def _join_keys(node: Join) -> str:
    from driftline.plan.conditions import conjuncts, equality

    names = (node.left.schema + node.right.schema).names
    left, right = (
        frozenset(names[: len(node.left.schema)]),
        frozenset(names[len(node.left.schema) :]),
    )
    pairs = [equality(part, left, right) for part in conjuncts(node.condition)]
    found = [f"{one} = {other}" for one, other in (pair for pair in pairs if pair is not None)]
    return ", ".join(found) or "none: every pair is tried"


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
