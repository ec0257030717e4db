"""Builders of operators that keep rows. The larger ones are imported where a plan has them: loading
their kernels takes time."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.engine.additive.group_by import distinct as distinct_rows
from driftline.engine.additive.set_operators import SetOperator
from driftline.engine.aggregation import group_by
from driftline.engine.compile.aggregates import aggregate_of, argument_of, rows_of
from driftline.engine.compile.compiler import Compiler, Naming, columns_of
from driftline.engine.core.graph import Step
from driftline.engine.core.snapshot_operator import SnapshotOperator
from driftline.engine.expressions import evaluate_predicate
from driftline.engine.lifetimes.edges import Edges
from driftline.engine.lifetimes.expire import OrderedExpiry
from driftline.engine.lifetimes.restate import Retell
from driftline.engine.state.closing import Closing
from driftline.model.level import Level
from driftline.plan import nodes
from driftline.plan.bands import spans_of
from driftline.plan.by_session import by_session
from driftline.plan.conditions import together
from driftline.plan.expressions import AggregateCall, Column, Expression, Literal
from driftline.plan.finals import refuse_perfect
from driftline.plan.functions.operators import arithmetic
from driftline.plan.lifetimes import is_stretches
from driftline.plan.nodes.base import SETTLED
from driftline.plan.running import running
from driftline.plan.types import is_float

if TYPE_CHECKING:
    from driftline.engine.by_rows.order_words import OrderBy
    from driftline.engine.by_rows.over import OverColumn


def coalesce(compiler: Compiler, node: nodes.Coalesce) -> Step:
    from driftline.engine.lifetimes.coalesce import Coalesce

    schema = node.schema.arrow
    operator = Coalesce(schema) if node.part == "stretches" else Edges(schema, node.part)
    return compiler.after(node, node.label(), operator, compiler.step(node.input))


def session(compiler: Compiler, node: nodes.Session) -> Step:
    from driftline.engine.lifetimes.session import Session, SessionColumns

    own = compiler.step(node.input).operator.schema
    source, per = _partitioned(compiler, node)
    schema, grows = source.operator.schema, compiler.facts.only_grows(node.input)
    operator = Session(schema, node.gap, per, node.at_most)
    if isinstance(node, nodes.SessionColumns):
        kind = node.schema.fields[-1].type
        operator = SessionColumns(schema, node.gap, per, node.at_most, kind=kind, only_grows=grows)
    step = compiler.after(node, "session", operator, source)
    if compiler.level is Level.PERFECT:
        step = compiler.after(node, "retell", Retell(operator.schema, Level.PERFECT), step)
    elif isinstance(node, nodes.SessionColumns) and not grows:
        step = compiler.after(node, "retell", Retell(operator.schema), step)
    if len(schema) > len(own):
        columns = columns_of(operator.schema)
        step = compiler.computed(step, {name: columns[name] for name in node.schema.names})
    return step


def session_members(compiler: Compiler, node: nodes.SessionMembers) -> Step:
    from driftline.engine.lifetimes.session_members import SessionMembers

    source, names = _partitioned(compiler, node, *node.further)
    per, further = names[: len(node.partition)], names[len(node.partition) :]
    start = node.schema.arrow.field(-2).type
    operator = SessionMembers(
        source.operator.schema, node.gap, per, node.at_most,
        further=further, kind=start, only_grows=compiler.facts.only_grows(node.input),
    )  # fmt: skip
    step = compiler.after(node, "session", operator, source)
    columns = columns_of(operator.schema)
    if len(columns) > len(node.schema):
        step = compiler.computed(step, {name: columns[name] for name in node.schema.names})
    return step


def _partitioned(
    compiler: Compiler, node: nodes.Session, *further: Expression
) -> tuple[Step, list[str]]:
    """The input with columns for the keys of sessions and further ones, and their names."""
    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    per = [named(value) for value in (*node.partition, *further)]
    if len(named.columns) > len(own):
        source = compiler.computed(source, named.columns)
    return source, per


def final(compiler: Compiler, node: nodes.Final) -> Step:
    from driftline.engine.lifetimes.finals import Finals

    refuse_perfect(node, compiler.level)
    may_grow = is_stretches(node.input)
    operator = Finals(node.schema.arrow, node.windows, input_may_grow=may_grow)
    return compiler.after(node, node.label(), operator, compiler.step(node.input))


def join(compiler: Compiler, node: nodes.Join) -> Step:
    from driftline.engine.join import Join

    both, width = node.both.arrow, len(node.left.schema)
    left = pa.schema([both.field(place) for place in range(width)])
    right = pa.schema([both.field(place) for place in range(width, len(both))])
    pairs, rest = node.parts
    left_step, left_keys = _with_keys(
        compiler,
        compiler.renamed(compiler.step(node.left), left),
        [key for key, _ in pairs],
        "left",
    )
    right_step, right_keys = _with_keys(
        compiler,
        compiler.renamed(compiler.step(node.right), right),
        [key for _, key in pairs],
        "right",
    )
    condition = together(list(rest))

    def residual(rows: pa.RecordBatch) -> NDArray[np.bool_]:
        assert condition is not None
        return evaluate_predicate(condition, rows)

    by_snapshots = node.how != "inner" and compiler.level is Level.PERFECT
    operator = Join(
        left_step.operator.schema,
        right_step.operator.schema,
        node.how,
        left_keys,
        right_keys,
        residual if condition is not None else None,
        spans_of(node, compiler.facts, closing=compiler.level is not Level.PERFECT),
        high_of_inputs=by_snapshots,
        for_good=node.for_good,
    )
    joined = compiler.after(node, f"{node.how} join", operator, left_step, right_step)
    if by_snapshots:
        joined = compiler.after(node, "retell", Retell(operator.schema, compiler.level), joined)
    kept = left if node.how in ("semi", "anti") else both
    if joined.operator.schema.names != kept.names:
        joined = compiler.computed(joined, columns_of(kept))
    return compiler.renamed(joined, node.schema.arrow)


def as_of(compiler: Compiler, node: nodes.AsOf) -> Step:
    from driftline.engine.join.as_of import AsOf

    both, width = node.schema.arrow, len(node.left.schema)
    schemas = pa.schema(list(both)[:width]), pa.schema(list(both)[width:])
    left_time, right_time, strict = node.times_of
    times, steps, keys = (left_time, right_time), [], []
    for side, (given, schema) in enumerate(zip(node.inputs, schemas, strict=True)):
        wanted = [*(pair[side] for pair in node.pairs.parts[0]), times[side]]
        renamed = compiler.renamed(compiler.step(given), schema)
        step, names = _with_keys(compiler, renamed, wanted, ("left", "right")[side])
        steps.append(step)
        keys.append(names)
    operator = AsOf(
        steps[0].operator.schema,
        steps[1].operator.schema,
        (keys[0][:-1], keys[1][:-1]),
        (keys[0][-1], keys[1][-1]),
        padded=node.how == "left",
        strict=strict,
        by_time=node.is_by_time(compiler.facts) and compiler.level is not Level.PERFECT,
        forward=node.is_by_time(compiler.facts, forward=True),
        high_of_inputs=compiler.level is Level.PERFECT,
    )
    joined = compiler.after(node, "as-of join", operator, *steps)
    if compiler.level is Level.PERFECT or not compiler.facts.only_grows(node.right):
        joined = compiler.after(
            node, "retell", Retell(operator.schema, _restated_at(compiler)), joined
        )
    if joined.operator.schema.names != both.names:
        joined = compiler.computed(joined, columns_of(both))
    return joined


def _restated_at(compiler: Compiler) -> Level:
    return Level.PERFECT if compiler.level is Level.PERFECT else Level.EAGER


def _with_keys(
    compiler: Compiler, source: Step, keys: list[Expression], side: str
) -> tuple[Step, list[str]]:
    """The input with columns for join keys that are not columns already."""
    names: list[str] = []
    columns = columns_of(source.operator.schema)
    plain = len(columns)
    for key in keys:
        name = key.name if isinstance(key, Column) else f"${side} key {len(names)}"
        columns.setdefault(name, key)
        names.append(name)
    return (source if len(columns) == plain else compiler.computed(source, columns)), names


def set_operation(compiler: Compiler, node: nodes.SetOperation) -> Step:
    schema = node.schema.arrow
    inputs = [
        as_groups(compiler, compiler.renamed(compiler.step(each), schema)) for each in node.inputs
    ]
    operator = SetOperator(schema, node.kind, node.distinct, compiler.level)
    return compiler.after(node, node.kind, operator, *inputs)


def distinct(compiler: Compiler, node: nodes.Distinct) -> Step:
    if node.of_a_set and compiler.level is not Level.PERFECT:
        source = compiler.step(node.input)
        if compiler.level is Level.EAGER:
            return source
        return compiler.after(node, "ordered", OrderedExpiry(node.schema.arrow), source)
    operator = distinct_rows(node.schema.arrow, compiler.level)
    compiler.closed(operator, node)
    groups = as_groups(compiler, compiler.step(node.input))
    return compiler.after(node, "distinct", operator, groups)


def stitch(compiler: Compiler, node: nodes.Stitch) -> Step:
    operator = Retell(node.schema.arrow, compiler.level)
    compiler.closed(operator, node)
    return compiler.after(node, "stitch", operator, compiler.step(node.input))


def as_groups(compiler: Compiler, source: Step) -> Step:
    """The rows as what a group of equal ones is shown by, in whichever order these came."""
    schema = source.operator.schema
    if not any(map(is_float, schema.types)):
        return source
    columns = {name: _shown_by(column) for name, column in columns_of(schema).items()}
    return compiler.computed(source, columns)


def _shown_by(key: Expression) -> Expression:
    """What equal values are shown by: 0.0 and -0.0 are one key, and as in Spark it is 0.0."""
    return arithmetic("add", key, Literal(0.0, key.type)) if is_float(key.type) else key


def aggregate(compiler: Compiler, node: nodes.Aggregate) -> Step:
    of_session = by_session(node)
    if of_session is not None:
        return _by_session(compiler, node, *of_session)
    source, aggregates = with_arguments(compiler, node, compiler.step(node.input))
    keys = [key.name for key in node.keys]
    grows = compiler.facts.only_grows(node.input)
    operator = group_by(source.operator.schema, keys, aggregates, compiler.level, only_grows=grows)
    compiler.closed(operator, node)
    if not isinstance(operator, GroupBy):
        of_sessions = isinstance(node.input, nodes.SessionMembers)  # a row goes: they end later
        operator.input_may_grow = of_sessions or is_stretches(node.input)
    return compiler.after(node, "group by", operator, source)


def _by_session(
    compiler: Compiler, node: nodes.Aggregate, total: nodes.Aggregate, whole: nodes.Node
) -> Step:
    """An aggregate by session: see `plan.by_session`. The end of a session closes its group."""
    assert node.session is not None
    sessions = node.session.sessions
    closes = compiler.facts.value_closes(sessions, sessions.window[1])
    grouped = compiler.step(compiler.lifetimes.of(total)).operator
    if closes is not None and compiler.level is not Level.PERFECT:
        assert isinstance(grouped, SnapshotOperator)
        ends = f"$argument {len(total.aggregates) - 1}"
        grouped.closing = Closing(column=(ends, closes.delay))
    step = compiler.step(compiler.lifetimes.of(whole))
    if compiler.level is Level.PERFECT:
        step = compiler.after(node, "retell", Retell(step.operator.schema, Level.PERFECT), step)
    return step


def with_arguments(
    compiler: Compiler, node: nodes.Aggregate, source: Step
) -> tuple[Step, list[Aggregate]]:
    """The keys of an aggregate and what it is computed from, as columns; and its aggregates."""
    definitions = dict(node.definitions)
    columns = {key.name: _shown_by(key.value) for key in node.keys}
    aggregates: list[Aggregate] = []
    for number, named in enumerate(node.aggregates):
        call = cast("AggregateCall", named.value)
        argument, only = argument_of(call), rows_of(call)
        name = None
        if argument is not None:
            name = f"$argument {number}"
            columns[name] = argument
        made = aggregate_of(named.name, call, name, definitions)
        if only is not None:
            columns[f"$only {number}"] = only
            made = replace(made, only=f"$only {number}")
        aggregates.append(made)
    return compiler.computed(source, columns, consolidates=False), aggregates


def over(compiler: Compiler, node: nodes.Over) -> Step:
    from driftline.engine.by_rows.over import Over

    so_far = running(node, compiler.facts)
    if so_far is not None:
        return compiler.renamed(compiler.step(compiler.lifetimes.of(so_far)), node.schema.arrow)
    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    partition = [named(value) for value in node.partition]
    order = _order(node.order, named)
    functions = [_over_column(each, named) for each in node.columns]
    if len(named.columns) > len(own):
        source = compiler.computed(source, named.columns)
    schema = source.operator.schema
    operator = Over(schema, partition, order, functions, compiler.level, own.names)
    compiler.closed(operator, node)
    step = compiler.after(node, "over", operator, source)
    return compiler.renamed(step, node.schema.arrow)


def _over_column(column: nodes.OverColumn, named: Naming) -> OverColumn:
    from driftline.engine.by_rows.over import Frame, OverColumn

    frame = Frame(*astuple(column.frame))
    made = OverColumn(column.name, column.value.type, frame)
    if column.nth is not None:
        default = None if column.default is None else named(column.default)
        return replace(
            made,
            argument=named(column.value),
            nth=column.nth,
            default=default,
            ignore_nulls=column.ignore_nulls,
        )
    call = cast("AggregateCall", column.value)
    if call.function in ("first", "last") and call.ignore_nulls and call.filter is None:
        nth = 1 if call.function == "first" else -1
        return replace(made, argument=named(call.args[0]), nth=nth, ignore_nulls=True)
    argument, only = argument_of(call), rows_of(call)
    if argument is not None and call.function in ("min", "max"):
        argument = _shown_by(argument)
    name = None if argument is None else named(argument)
    found = aggregate_of(column.name, call, name, {})
    if only is not None:
        found = replace(found, only=named(only))
    return replace(made, aggregate=found)


def rank(compiler: Compiler, node: nodes.Rank) -> Step:
    from driftline.engine.by_rows.rank import Rank

    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    partition = [named(value) for value in node.partition]
    order = _order(node.order, named)
    computed = named.columns.keys() - set(own.names)
    if computed:
        source = compiler.computed(source, named.columns)
    operator = Rank(
        source.operator.schema,
        partition,
        order,
        node.method,
        node.name or "rank",
        compiler.level,
        limit=node.limit,
        keep_rank=node.name is not None,
        grows=node.drops_outranked(compiler.facts),
    )
    compiler.closed(operator, node)
    ranked = compiler.after(node, "rank", operator, source)
    if computed:
        kept = [field for field in operator.schema if field.name not in computed]
        ranked = compiler.computed(ranked, columns_of(kept))
    return compiler.renamed(ranked, node.schema.arrow)


def automaton_runs(compiler: Compiler, node: nodes.AutomatonRuns) -> Step:
    from driftline.engine.automata.automaton_runs import AutomatonRuns

    keys = len(node.keys)
    operator = AutomatonRuns(node.schema.arrow, keys, node.automaton, partial=node.partial)
    return compiler.after(node, "automaton", operator, compiler.step(node.input))


def match(compiler: Compiler, node: nodes.Match) -> Step:
    from driftline.engine.match.match import Match

    source = compiler.step(node.input)
    own = source.operator.schema
    named = Naming(own)
    partition = [named(value) for value in node.partition]
    order = _order(node.order, named)
    if len(named.columns) > len(own):
        source = compiler.computed(source, named.columns)
    operator = Match(
        source.operator.schema,
        node.schema.arrow,
        partition,
        order,
        node.pattern,
        [(each.name, each.value) for each in node.conditions],
        [(each.name, each.value) for each in node.measures],
        node.rows,
        node.skip,
        node.within,
        compiler.level,
        own.names,
        in_order=node.goes_by_time(compiler.facts),
        settled=SETTLED if node.settled else None,
    )
    compiler.closed(operator, node)
    return compiler.after(node, "match", operator, source)


def _order(items: tuple[nodes.OrderItem, ...], named: Naming) -> list[OrderBy]:
    from driftline.engine.by_rows.order_words import OrderBy

    return [OrderBy(named(item.value), item.descending, item.nulls_first) for item in items]
