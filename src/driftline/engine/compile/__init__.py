"""From a logical plan to a graph of physical operators.

    compiler.py     what builds the graph: steps, and the projections around operators
    stateless.py    builders of the operators that keep no rows
    stateful.py     builders of those that do
    loops.py        the builder of loops
    aggregates.py   what an aggregate is computed from
    expiry.py       where operators hear that time has passed

`BUILDERS` says by which function the operator of a node is built: a new operator is one line of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from driftline.engine.compile import loops, stateful, stateless
from driftline.engine.compile.compiler import Builder, Compiler
from driftline.engine.compile.expiry import hear_of_time
from driftline.engine.consolidation import consolidate_where_needed
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.narrowing import narrow_joins
from driftline.model.level import Level
from driftline.plan import nodes
from driftline.plan.choices import Expiry, Loops, Scheduler
from driftline.plan.depth import room
from driftline.plan.facts import Delays

BUILDERS: dict[type[nodes.Node], Builder] = {
    nodes.Source: stateless.source,
    nodes.Constant: stateless.source,
    nodes.Leaf: stateless.leaf,
    nodes.Alias: stateless.alias,
    nodes.Select: stateless.select,
    nodes.Project: stateless.project,
    nodes.Explode: stateless.explode,
    nodes.Union: stateless.union,
    nodes.Clip: stateless.clip,
    nodes.Window: stateless.window,
    nodes.WindowColumns: stateless.window_columns,
    nodes.Session: stateful.session,
    nodes.SessionColumns: stateful.session,
    nodes.SessionMembers: stateful.session_members,
    nodes.Coalesce: stateful.coalesce,
    nodes.Final: stateful.final,
    nodes.Join: stateful.join,
    nodes.AsOf: stateful.as_of,
    nodes.SetOperation: stateful.set_operation,
    nodes.Distinct: stateful.distinct,
    nodes.Stitch: stateful.stitch,
    nodes.Aggregate: stateful.aggregate,
    nodes.Rank: stateful.rank,
    nodes.Latest: stateful.rank,
    nodes.Over: stateful.over,
    nodes.AutomatonRuns: stateful.automaton_runs,
    nodes.Match: stateful.match,
    nodes.Loop: loops.loop,
}


def compile_plan(
    plan: nodes.Node,
    sink: Callable[[Batch], None],
    level: Level = Level.ORDERED,
    scheduler: Scheduler = "drain",
    inserts_only: Collection[str] = (),
    closing: Mapping[str, Delays] | None = None,
    expiry: Expiry = "ita",
    loop: Loops = "hybrid",
) -> Graph:
    """The graph that runs a plan; its sources are named as the plan's."""
    return compile_plans([(plan, sink)], level, scheduler, inserts_only, closing, expiry, loop)


@room(nodes.CALLS)
def compile_plans(
    plans: Iterable[tuple[nodes.Node, Callable[[Batch], None]]],
    level: Level = Level.ORDERED,
    scheduler: Scheduler = "drain",
    inserts_only: Collection[str] = (),
    closing: Mapping[str, Delays] | None = None,
    expiry: Expiry = "ita",
    loop: Loops = "hybrid",
) -> Graph:
    """One graph that runs several plans, each with a sink; what they share is run once.
    `inserts_only`: the sources that never take anything back; `closing`: of leaves, the columns
    that close; `expiry`: how operators hear that time has passed, where the answer now is
    asked for (see `Graph.advance`). With negative tuples every source takes something back.
    `loop`: how loops that run free find how far their answers are final."""
    if expiry == "nta":
        inserts_only, closing = (), None
    compiler = Compiler(BUILDERS, level, scheduler, inserts_only, closing or {}, loop)
    for plan, sink in plans:
        compiler.graph.end_with(compiler.step(compiler.lifetimes.of(plan)), sink)
    hear_of_time(compiler.graph, expiry, level)
    consolidate_where_needed(compiler.graph)
    narrow_joins(compiler.graph)
    return compiler.graph
