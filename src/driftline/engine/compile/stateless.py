"""Builders of operators that keep no rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.compile.compiler import Compiler, Naming, columns_of
from driftline.engine.core.graph import Step
from driftline.engine.expressions import evaluate, evaluate_predicate
from driftline.engine.lifetimes.restate import Retell
from driftline.engine.stateless.alter_lifetime import AlterLifetime
from driftline.engine.stateless.clip import Clip
from driftline.engine.stateless.endless_times import with_infinity
from driftline.engine.stateless.explode import Explode
from driftline.engine.stateless.linear_times import Linear
from driftline.engine.stateless.select import Select
from driftline.engine.stateless.union import Union
from driftline.engine.stateless.window_columns import Cumulate, Hop
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.plan import nodes
from driftline.plan.conditions import linear_form
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Expression
from driftline.plan.lifetimes import is_stretches


def leaf(compiler: Compiler, node: nodes.Leaf) -> Step:
    return _fed(compiler, node, f"from {node.name}")


def source(compiler: Compiler, node: nodes.Source) -> Step:
    return _fed(compiler, node, f"source {node.name}")


def _fed(compiler: Compiler, node: nodes.Beginning, name: str) -> Step:
    step = compiler.after(node, name, Union(node.schema.arrow, 1))
    compiler.graph.feed(node.name, step, 0)
    return step


def alias(compiler: Compiler, node: nodes.Alias) -> Step:
    return compiler.renamed(compiler.step(node.input), node.schema.arrow)


def select(compiler: Compiler, node: nodes.Select) -> Step:
    predicate = node.predicate

    def mask(rows: pa.RecordBatch) -> NDArray[np.bool_]:
        return evaluate_predicate(predicate, rows)

    operator = Select(node.schema.arrow, mask)
    return compiler.after(node, "select", operator, compiler.step(node.input))


def project(compiler: Compiler, node: nodes.Project) -> Step:
    columns = {column.name: column.value for column in node.columns}
    if len(columns) < len(node.columns):
        names = [column.name for column in node.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise PlanError(f"two columns of the result have the name {twice}: rename one")
    return compiler.computed(compiler.step(node.input), columns)


def union(compiler: Compiler, node: nodes.Union) -> Step:
    schema = node.schema.arrow
    inputs = [compiler.renamed(compiler.step(each), schema) for each in node.inputs]
    return compiler.after(node, "union", Union(schema), *inputs)


def explode(compiler: Compiler, node: nodes.Explode) -> Step:
    given = compiler.step(node.input)
    columns = columns_of(given.operator.schema)
    exploded = compiler.computed(given, {**columns, "$exploded": node.value}, consolidates=False)
    operator = Explode(
        exploded.operator.schema,
        "$exploded",
        outer=node.outer,
        position=node.position,
        fields=node.fields,
    )
    step = compiler.after(node, "explode", operator, exploded)
    return compiler.renamed(step, node.schema.arrow)


def window(compiler: Compiler, node: nodes.Window) -> Step:
    operator = _alter_lifetime(node, node.schema.arrow)
    step = compiler.after(node, "window", operator, compiler.step(node.input))
    return _restated(compiler, node, step)


def _alter_lifetime(node: nodes.Window, schema: pa.Schema) -> AlterLifetime:
    match node.form:
        case "sliding":
            return AlterLifetime.sliding(schema, node.size)
        case "hopping":
            return AlterLifetime.hopping(schema, node.size, node.slide)
        case "within":
            return AlterLifetime.within(schema, node.size)
        case "now":
            return AlterLifetime.now(schema)
        case "unbounded":
            return AlterLifetime.unbounded(schema)
    assert node.start is not None
    assert node.duration is not None
    return AlterLifetime(schema, _times(node.start), _times(node.duration))


def clip(compiler: Compiler, node: nodes.Clip) -> Step:
    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    bound = named(node.bound)
    more = len(named.columns) > len(own)
    if more:
        source = compiler.computed(source, named.columns)
    operator = Clip(source.operator.schema, bound, node.delay, until=node.keeps == "until")
    step = compiler.after(node, "clip", operator, source)
    if more:
        columns = columns_of(operator.schema)
        step = compiler.computed(step, {name: columns[name] for name in own.names})
    return compiler.renamed(step, node.schema.arrow)


def window_columns(compiler: Compiler, node: nodes.WindowColumns) -> Step:
    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    time = None if node.time is None else named(node.time)
    if len(named.columns) > len(own):
        source = compiler.computed(source, named.columns)
    operator = (Cumulate if node.cumulative else Hop)(
        source.operator.schema,
        node.slide,
        node.size,
        time,
        timestamps=pa.types.is_timestamp(node.schema.fields[-1].type),
    )
    step = compiler.after(node, "windows", operator, source)
    if len(named.columns) > len(own):
        columns = columns_of(operator.schema)
        step = compiler.computed(step, {name: columns[name] for name in node.schema.names})
    # Windows by a TIMESTAMP_NTZ are of this type.
    return compiler.renamed(_restated(compiler, node, step), node.schema.arrow)


def _restated(compiler: Compiler, node: nodes.Window | nodes.WindowColumns, step: Step) -> Step:
    """What follows stretches that may still grow, as a valid stream."""
    if not is_stretches(node.input):
        return step
    return compiler.after(node, "retell", Retell(step.operator.schema), step)


def _times(value: Expression) -> Linear | Callable[[Int64s, Int64s], Int64s]:
    """A time or a duration as a function of vs and ve; null is before all times."""
    form = linear_form(value)
    if form is not None:
        return Linear(*form)
    whole = with_infinity(value)

    def compute(vs: Int64s, ve: Int64s) -> Int64s:
        result: Any = evaluate(whole, pa.RecordBatch.from_pydict({"vs": vs, "ve": ve}))
        times: Int64s = result.cast(pa.int64()).fill_null(BEGINNING).to_numpy()
        return times

    return compute
