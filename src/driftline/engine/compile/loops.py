"""The builder of loops: their bodies become a graph of their own, in which the level of a row is
its last column (see `driftline.engine.loop`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.engine.compile.compiler import Builder, Compiler
from driftline.engine.compile.stateful import as_groups
from driftline.engine.consolidation import consolidate_where_needed
from driftline.engine.core.graph import Graph, Step
from driftline.model.level import Level
from driftline.plan import nodes
from driftline.plan.types import BIGINT

if TYPE_CHECKING:
    from driftline.engine.loop.operator import Head


def loop(compiler: Compiler, node: nodes.Loop) -> Step:
    from driftline.engine.loop.operator import Loop

    graph, heads = _bodies(compiler.builders, node)
    operator = Loop(node.schema.arrow, len(node.given), graph, heads, node.limit)
    return compiler.after(node, "fixed point", operator, *map(compiler.step, node.given))


def _bodies(
    builders: Mapping[type[nodes.Node], Builder], node: nodes.Loop
) -> tuple[Graph, list[Head]]:
    """The graph of all rules, and the steps at which each of them ends."""
    from driftline.engine.loop.derivations import Derivations
    from driftline.engine.loop.levels import LEVEL, Levels
    from driftline.engine.loop.operator import Head

    inner = Compiler({**builders, nodes.Distinct: _distinct}, Level.EAGER, "drain", (), {})
    levels = Levels()
    plans = [levels.of(rule.body) for rule in node.rules]  # all live: steps go by their ids
    ends: list[Step] = []
    for rule, plan in zip(node.rules, plans, strict=True):
        schema = pa.schema([*rule.columns.arrow, (LEVEL, BIGINT)])
        body = inner.renamed(inner.step(plan), schema)
        if rule.distinct:
            ends.append(_least_level(inner, body))
        else:
            ends.append(inner.graph.add("derivations", Derivations(schema)))
            inner.graph.connect(body, ends[-1], 0)
    consolidate_where_needed(inner.graph)
    heads, before = [], 0
    for number, (rule, end) in enumerate(zip(node.rules, ends, strict=True)):
        uses = [(leaf.name, leaf.schema.arrow) for leaf in levels.uses.get(rule.name, ())]
        heads.append(Head(rule.name, end, uses, number, before))
        before += len(rule.columns)
    return inner.graph, heads


def _distinct(compiler: Compiler, node: nodes.Distinct) -> Step:
    return _least_level(compiler, compiler.step(node.input))


def _least_level(compiler: Compiler, source: Step) -> Step:
    from driftline.engine.loop.least_level import LeastLevel

    groups = as_groups(compiler, source)
    step = compiler.graph.add("least level", LeastLevel(groups.operator.schema))
    compiler.graph.connect(groups, step, 0)
    return step
