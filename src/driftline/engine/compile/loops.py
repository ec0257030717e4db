"""The builder of loops: their bodies become a graph of their own, in which the level of a row is
its last column (see `driftline.engine.loop`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from driftline.engine.compile.compiler import Builder, Compiler
from driftline.engine.compile.stateful import as_groups, with_arguments
from driftline.engine.consolidation import consolidate_where_needed
from driftline.engine.core.graph import Graph, Step
from driftline.engine.narrowing import narrow_joins
from driftline.engine.stateless.project import Project
from driftline.engine.stateless.union import Union
from driftline.model.level import Level
from driftline.plan import nodes
from driftline.plan.expressions import Column
from driftline.plan.improving import fixed_rules
from driftline.plan.types import BIGINT

if TYPE_CHECKING:
    from driftline.engine.loop.loop import RuleHead


def loop(compiler: Compiler, node: nodes.Loop) -> Step:
    from driftline.engine.loop.free import FreeLoop
    from driftline.engine.loop.loop import Loop

    graph, heads = _bodies(compiler.builders, node)
    schema, restated = node.schema.arrow, None
    if rows_may_go(node):
        from driftline.engine.loop.restated import Restated

        restated = Restated(schema)
    parts = schema, len(node.given), graph, heads, node.limit, restated
    is_drained = compiler.graph.scheduler == "drain"
    operator = Loop(*parts) if is_drained else FreeLoop(*parts, compiler.loop)
    return compiler.after(node, "fixed point", operator, *map(compiler.step, node.given))


def _bodies(
    builders: Mapping[type[nodes.Node], Builder], node: nodes.Loop
) -> tuple[Graph, list[RuleHead]]:
    """The graph of all rules, and the steps at which each of them ends."""
    from driftline.engine.loop.derivations import Derivations
    from driftline.engine.loop.levels import LEVEL, Levels
    from driftline.engine.loop.loop import RuleHead

    as_set = _in_any_round if rows_may_go(node) else _least_level
    stays = not rows_may_go(node)
    own: dict[type[nodes.Node], Builder] = {
        nodes.Distinct: lambda inner, each: as_set(inner, inner.step(each.input)),
        nodes.Aggregate: lambda inner, each: _best(inner, each, stays=stays),
    }
    inner = Compiler({**builders, **own}, Level.EAGER, "drain", (), {})
    levels = Levels()
    selections = {rule.name: _selection(rule) if stays else None for rule in node.rules}
    plans = [
        levels.of(rule.body) if found is None else levels.of_groups(found.node)
        for rule, found in zip(node.rules, selections.values(), strict=True)
    ]  # all live: steps go by their ids
    ends: list[Step] = []
    for rule, plan in zip(node.rules, plans, strict=True):
        if isinstance(plan, nodes.Aggregate):
            ends.append(_best(inner, plan, stays=True, goes_out=True))
            continue
        schema = pa.schema([*rule.columns.arrow, (LEVEL, BIGINT)])
        body = inner.renamed(inner.step(plan), schema)
        if rule.distinct:
            ends.append(as_set(inner, body))
        else:
            ends.append(inner.graph.add("derivations", Derivations(schema)))
            inner.graph.connect(body, ends[-1], 0)
    _shorten(inner.graph)
    consolidate_where_needed(inner.graph)
    narrow_joins(inner.graph)
    heads, before = [], 0
    for number, (rule, end) in enumerate(zip(node.rules, ends, strict=True)):
        uses = [(leaf.name, leaf.schema.arrow) for leaf in levels.uses.get(rule.name, ())]
        found = selections[rule.name]
        places = None if found is None else found.places
        heads.append(RuleHead(rule.name, end, uses, number, before, places))
        before += len(rule.columns)
    return inner.graph, heads


def rows_may_go(node: nodes.Loop) -> bool:
    """Whether a row that is there in a round has to be gone in a later one, when an aggregate has
    found a better one. It may stay if all rules are groups of which only the best goes out, or sets
    of rows that no better ones take the place of."""
    aggregates = any(
        isinstance(each, nodes.Aggregate) for rule in node.rules for each in rule.body.walk()
    )
    if not aggregates:
        return False
    fixed = fixed_rules(node.rules)
    return not all(
        _selection(rule) is not None or (rule.distinct and rule.name in fixed)
        for rule in node.rules
    )


class _Selection(NamedTuple):
    """The aggregate that a rule is, and where that has each of the rule's columns."""

    node: nodes.Aggregate
    places: list[int]


def _selection(rule: nodes.Rule) -> _Selection | None:
    """The aggregate that a rule is, if its columns are all of the aggregate's, in any order."""
    node, names = rule.body, list(rule.body.schema.names)
    while isinstance(node, (nodes.Project, nodes.Alias)):
        if isinstance(node, nodes.Project):
            values = {each.name: each.value for each in node.columns}
            found = [values[name] for name in names]
            columns = [each.name for each in found if isinstance(each, Column)]
            if len(columns) < len(names):
                return None
            names = columns
        else:
            renamed = dict(zip(node.schema.names, node.input.schema.names, strict=True))
            names = [renamed[name] for name in names]
        node = node.inputs[0]
    if not isinstance(node, nodes.Aggregate):
        return None
    own = node.schema.names
    types = [list(node.schema)[own.index(name)].type for name in names]
    if sorted(names) != sorted(own) or types != [each.type for each in rule.columns]:
        return None
    return _Selection(node, [own.index(name) for name in names])


def _best(
    compiler: Compiler, node: nodes.Aggregate, *, stays: bool, goes_out: bool = False
) -> Step:
    """The best values of groups; the last aggregate is the level."""
    from driftline.engine.loop.best import Best

    source, (*aggregates, _) = with_arguments(compiler, node, compiler.step(node.input))
    given, schema = source.operator.schema, node.schema.arrow
    operator = Best(given, schema, aggregates, stays=stays, keeps_outgoing=goes_out)
    return compiler.after(node, "best", operator, source)


def _in_any_round(compiler: Compiler, source: Step) -> Step:
    """A set of rows that may go again."""
    from driftline.engine.loop.best import Best

    groups = as_groups(compiler, source)
    schema = groups.operator.schema
    step = compiler.graph.add("best", Best(schema, schema))
    compiler.graph.connect(groups, step, 0)
    return step


def _shorten(graph: Graph) -> None:
    """Leave out the steps that sources begin with, and have projections that follow each other be
    one: every level goes through all steps."""
    for step in list(graph.steps):
        following = step.outputs[0][0] if len(step.outputs) == 1 else None
        if isinstance(step.operator, Union) and step.operator.ports == 1:
            graph.leave_out(step)
        elif (
            isinstance(step.operator, Project)
            and following is not None
            and isinstance(following.operator, Project)
        ):
            following.operator = following.operator.after(step.operator)
            graph.leave_out(step)


def _least_level(compiler: Compiler, source: Step) -> Step:
    from driftline.engine.loop.least_level import LeastLevel

    groups = as_groups(compiler, source)
    step = compiler.graph.add("least level", LeastLevel(groups.operator.schema))
    compiler.graph.connect(groups, step, 0)
    return step
