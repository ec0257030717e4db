"""From a logical plan to a graph of physical operators.

Every node becomes one operator, with projections before and after it that compute what it needs as
columns and bring names and types into line. A node that is used twice is compiled once.
The larger operators are imported where a plan has them: loading their kernels takes time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive import AdditiveOperator
from driftline.engine.aggregates import Aggregate
from driftline.engine.aggregation import group_by
from driftline.engine.alter_lifetime import AlterLifetime
from driftline.engine.batch import Batch
from driftline.engine.closing import Closing
from driftline.engine.edges import Edges
from driftline.engine.explode import Explode
from driftline.engine.expressions import evaluate, evaluate_predicate
from driftline.engine.general_aggregates import OF_PAIRS
from driftline.engine.graph import Graph, Scheduler, Step
from driftline.engine.group_by import distinct
from driftline.engine.linear import Linear
from driftline.engine.netting import net_where_needed
from driftline.engine.operator import Operator
from driftline.engine.project import Project
from driftline.engine.rank import OrderBy, Rank
from driftline.engine.retell import Retell
from driftline.engine.select import Select
from driftline.engine.set_operators import SetOperator
from driftline.engine.snapshots import SnapshotOperator
from driftline.engine.union import Union
from driftline.engine.window_columns import Hop
from driftline.model.reference.latency import Level
from driftline.model.time import INFINITY
from driftline.plan import explode, nodes
from driftline.plan.bands import spans
from driftline.plan.closing import Delays, closing_key
from driftline.plan.conditions import conjuncts, equality, linear_form, together
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Case, Cast, Column, Expression, Literal
from driftline.plan.functions.collections import struct
from driftline.plan.functions.operators import arithmetic, is_not_null
from driftline.plan.lifetimes import Coalescing, is_stretches, only_grows
from driftline.plan.over import Over, OverColumn
from driftline.plan.types import BOOLEAN, is_float

if TYPE_CHECKING:
    from driftline.engine import over

Int64s = NDArray[np.int64]

FUNCTIONS = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "min": "min",
    "max": "max",
    "variance": "variance",
    "var_pop": "variance_pop",
    "stddev": "stddev",
    "stddev_pop": "stddev_pop",
    "median": "median",
    "percentile": "percentile",
    "percentile_disc": "percentile_disc",
    "percentile_approx": "percentile_disc",
    "mode": "mode",
    "covar_pop": "covar_pop",
    "covar_samp": "covar_samp",
    "first": "first",
    "any_value": "first",
    "last": "last",
    "array_agg": "array_agg",
    "collect_set": "array_agg",
    "count_if": "count",
    "bool_and": "min",
    "bool_or": "max",
}
"""The aggregate functions of SQL, and what the engine calls them."""
PERCENTILES = ("percentile", "percentile_disc", "percentile_approx")
NULL_IS_A_VALUE = ("first", "last", "any_value")
"""The aggregates that do not pass over nulls by themselves."""


def compile_plan(
    plan: nodes.Node,
    sink: Callable[[Batch], None],
    level: Level = Level.ORDERED,
    scheduler: Scheduler = "drain",
    inserts_only: Collection[str] = (),
    closing: Mapping[str, Delays] | None = None,
) -> Graph:
    """The graph that runs a plan; its sources are named as the plan's."""
    return compile_plans([(plan, sink)], level, scheduler, inserts_only, closing)


def compile_plans(
    plans: Iterable[tuple[nodes.Node, Callable[[Batch], None]]],
    level: Level = Level.ORDERED,
    scheduler: Scheduler = "drain",
    inserts_only: Collection[str] = (),
    closing: Mapping[str, Delays] | None = None,
) -> Graph:
    """One graph that runs several plans, each with a sink; what they share is run once.
    `inserts_only`: the sources that never take anything back; `closing`: of leaves, the columns
    that close."""
    compiler = _Compiler(level, scheduler, inserts_only, closing or {})
    for plan, sink in plans:
        compiler.graph.end_with(compiler.step(compiler.lifetimes.of(plan)), sink)
    net_where_needed(compiler.graph)
    return compiler.graph


class _Compiler:
    def __init__(
        self,
        level: Level,
        scheduler: Scheduler,
        inserts_only: Collection[str],
        closing: Mapping[str, Delays],
    ) -> None:
        self.level, self.inserts_only, self.closing = level, inserts_only, closing
        self.graph = Graph(scheduler)
        self.lifetimes = Coalescing()
        self.done: dict[int, Step] = {}

    def step(self, node: nodes.Node) -> Step:
        if id(node) not in self.done:
            make = getattr(self, f"_{type(node).__name__.lower()}")
            self.done[id(node)] = cast("Step", make(node))
        return self.done[id(node)]

    def _after(self, name: str, operator: Operator, *inputs: Step) -> Step:
        step = self.graph.add(name, operator)
        for port, source in enumerate(inputs):
            self.graph.connect(source, step, port)
        return step

    def _closed(
        self,
        operator: AdditiveOperator | SnapshotOperator,
        keys: Iterable[Expression],
        given: nodes.Node,
    ) -> None:
        """Let the operator know by which of its keys a cti closes groups. At `perfect` an answer
        without end is said piece by piece, for which it has to be kept."""
        if self.level is not Level.PERFECT:
            key = closing_key(list(keys), given, self.inserts_only, self.closing)
            operator.closing = Closing(key)

    def _computed(self, source: Step, columns: dict[str, Expression], *, nets: bool = True) -> Step:
        """The input with other columns; rows that become equal cancel if it nets, see `Project`."""
        kept = {value.name for value in columns.values() if isinstance(value, Column)}
        nets = nets and not kept.issuperset(source.operator.schema.names)
        schema = pa.schema([(name, value.type) for name, value in columns.items()])

        def compute(rows: pa.RecordBatch) -> pa.RecordBatch:
            if not columns:
                return pa.RecordBatch.from_struct_array(
                    pa.array([{}] * rows.num_rows, pa.struct([]))
                )
            values = [evaluate(value, rows) for value in columns.values()]
            return pa.RecordBatch.from_arrays(values, schema=schema)

        return self._after("project", Project(schema, compute, nets=nets), source)

    def _renamed(self, source: Step, schema: pa.Schema) -> Step:
        """The input with its columns named, and cast, as in a schema."""
        have = source.operator.schema
        if have.names == schema.names and have.types == schema.types:
            return source
        columns: dict[str, Expression] = {}
        for old, new in zip(have, schema, strict=True):
            value: Expression = Column(old.name, old.type)
            columns[new.name] = value if old.type == new.type else Cast(value, new.type)
        return self._computed(source, columns)

    def _leaf(self, node: nodes.Leaf) -> Step:
        step = self.graph.add(f"from {node.name}", Union(node.schema.arrow, 1))
        self.graph.feed(node.name, step, 0)
        return step

    def _source(self, node: nodes.Source) -> Step:
        step = self.graph.add(f"source {node.name}", Union(node.schema.arrow, 1))
        self.graph.feed(node.name, step, 0)
        return step

    _constant = _source

    def _alias(self, node: nodes.Alias) -> Step:
        return self._renamed(self.step(node.input), node.schema.arrow)

    def _select(self, node: nodes.Select) -> Step:
        predicate = node.predicate

        def mask(rows: pa.RecordBatch) -> NDArray[np.bool_]:
            return evaluate_predicate(predicate, rows)

        return self._after("select", Select(node.schema.arrow, mask), self.step(node.input))

    def _project(self, node: nodes.Project) -> Step:
        columns = {column.name: column.value for column in node.columns}
        if len(columns) < len(node.columns):
            names = [column.name for column in node.columns]
            twice = next(name for name in names if names.count(name) > 1)
            raise PlanError(f"two columns of the result have the name {twice}: rename one")
        return self._computed(self.step(node.input), columns)

    def _window(self, node: nodes.Window) -> Step:
        schema = node.schema.arrow
        match node.form:
            case "sliding":
                operator = AlterLifetime.sliding(schema, node.size)
            case "hopping":
                operator = AlterLifetime.hopping(schema, node.size, node.slide)
            case "now":
                operator = AlterLifetime.now(schema)
            case "unbounded":
                operator = AlterLifetime.unbounded(schema)
            case "general":
                assert node.start is not None
                assert node.duration is not None
                operator = AlterLifetime(schema, _times(node.start), _times(node.duration))
        return self._retold(node, self._after("window", operator, self.step(node.input)))

    def _retold(self, node: nodes.Window | nodes.WindowColumns, step: Step) -> Step:
        """What follows stretches that may still grow, as a valid stream."""
        if not is_stretches(node.input):
            return step
        return self._after("retell", Retell(step.operator.schema), step)

    def _coalesce(self, node: nodes.Coalesce) -> Step:
        from driftline.engine.coalesce import Coalesce

        schema = node.schema.arrow
        operator = Coalesce(schema) if node.part == "stretches" else Edges(schema, node.part)
        return self._after(node.label(), operator, self.step(node.input))

    def _final(self, node: nodes.Final) -> Step:
        from driftline.engine.finals import Finals

        if node.windows and self.level is Level.PERFECT:
            raise PlanError("final answers about windows need emit=ordered or emit=eager")
        may_grow = is_stretches(node.input)
        operator = Finals(node.schema.arrow, node.windows, input_may_grow=may_grow)
        return self._after(node.label(), operator, self.step(node.input))

    def _windowcolumns(self, node: nodes.WindowColumns) -> Step:
        operator = Hop(
            node.input.schema.arrow,
            node.slide,
            node.size,
            node.time,
            timestamps=pa.types.is_timestamp(node.schema.fields[-1].type),
        )
        step = self._retold(node, self._after("windows", operator, self.step(node.input)))
        return self._renamed(step, node.schema.arrow)  # windows by a TIMESTAMP_NTZ are of this type

    def _explode(self, node: explode.Explode) -> Step:
        source = self.step(node.input)
        columns: dict[str, Expression] = {
            field.name: Column(field.name, field.type) for field in source.operator.schema
        }
        exploded = self._computed(source, {**columns, "$exploded": node.value}, nets=False)
        operator = Explode(
            exploded.operator.schema, "$exploded", outer=node.outer, position=node.position
        )
        return self._renamed(self._after("explode", operator, exploded), node.schema.arrow)

    def _join(self, node: nodes.Join) -> Step:
        from driftline.engine.join import Join

        both = (node.left.schema + node.right.schema).arrow
        width = len(node.left.schema)
        left = pa.schema([both.field(place) for place in range(width)])
        right = pa.schema([both.field(place) for place in range(width, len(both))])
        keys: list[tuple[Expression, Expression]] = []
        rest: list[Expression] = []
        for part in conjuncts(node.condition):
            pair = equality(part, frozenset(left.names), frozenset(right.names))
            if pair is not None:
                keys.append(pair)
            else:
                rest.append(part)
        left_step, left_keys = self._with_keys(
            self._renamed(self.step(node.left), left), [key for key, _ in keys], "left"
        )
        right_step, right_keys = self._with_keys(
            self._renamed(self.step(node.right), right), [key for _, key in keys], "right"
        )
        condition = together(rest)

        def residual(rows: pa.RecordBatch) -> NDArray[np.bool_]:
            assert condition is not None
            return evaluate_predicate(condition, rows)

        by_snapshots = node.how != "inner" and self.level is Level.PERFECT
        operator = Join(
            left_step.operator.schema,
            right_step.operator.schema,
            node.how,
            left_keys,
            right_keys,
            residual if condition is not None else None,
            spans(node, self.inserts_only, self.closing, closing=self.level is not Level.PERFECT),
            high_of_inputs=by_snapshots,
        )
        joined = self._after(f"{node.how} join", operator, left_step, right_step)
        if by_snapshots:
            joined = self._after("retell", Retell(operator.schema, self.level), joined)
        kept = left if node.how in ("semi", "anti") else both
        if joined.operator.schema.names != kept.names:
            joined = self._computed(
                joined, {field.name: Column(field.name, field.type) for field in kept}
            )
        return self._renamed(joined, node.schema.arrow)

    def _with_keys(self, source: Step, keys: list[Expression], side: str) -> tuple[Step, list[str]]:
        """The input with columns for join keys that are not columns already."""
        names: list[str] = []
        columns: dict[str, Expression] = {
            field.name: Column(field.name, field.type) for field in source.operator.schema
        }
        plain = len(columns)
        for key in keys:
            name = key.name if isinstance(key, Column) else f"${side} key {len(names)}"
            columns.setdefault(name, key)
            names.append(name)
        return (source if len(columns) == plain else self._computed(source, columns)), names

    def _union(self, node: nodes.Union) -> Step:
        schema = node.schema.arrow
        inputs = [self._renamed(self.step(each), schema) for each in node.inputs]
        return self._after("union", Union(schema), *inputs)

    def _setoperation(self, node: nodes.SetOperation) -> Step:
        schema = node.schema.arrow
        inputs = [self._as_groups(self._renamed(self.step(each), schema)) for each in node.inputs]
        operator = SetOperator(schema, node.kind, node.distinct, self.level)
        return self._after(node.kind, operator, *inputs)

    def _distinct(self, node: nodes.Distinct) -> Step:
        operator = distinct(node.schema.arrow, self.level)
        columns = [Column(each.name, each.type) for each in node.schema.arrow]
        self._closed(operator, columns, node.input)
        return self._after("distinct", operator, self._as_groups(self.step(node.input)))

    def _as_groups(self, source: Step) -> Step:
        """The rows as what a group of equal ones is shown by, in whichever order these came."""
        schema = source.operator.schema
        if not any(map(is_float, schema.types)):
            return source
        return self._computed(
            source, {each.name: _shown_by(Column(each.name, each.type)) for each in schema}
        )

    def _aggregate(self, node: nodes.Aggregate) -> Step:
        definitions = dict(node.definitions)
        columns = {key.name: _shown_by(key.value) for key in node.keys}
        aggregates: list[Aggregate] = []
        for number, named in enumerate(node.aggregates):
            call = cast("AggregateCall", named.value)
            argument = _argument(call)
            name = None
            if argument is not None:
                name = f"$argument {number}"
                columns[name] = argument
            aggregate = _aggregate(named.name, call, name, definitions)
            only = _only(call)
            if only is not None:
                columns[f"$only {number}"] = only
                aggregate = replace(aggregate, only=f"$only {number}")
            aggregates.append(aggregate)
        source = self._computed(self.step(node.input), columns, nets=False)
        keys = [key.name for key in node.keys]
        grows = only_grows(node.input, self.inserts_only)
        operator = group_by(source.operator.schema, keys, aggregates, self.level, only_grows=grows)
        self._closed(operator, [key.value for key in node.keys], node.input)
        if isinstance(operator, SnapshotOperator):
            operator.input_may_grow = is_stretches(node.input)
        return self._after("group by", operator, source)

    def _over(self, node: Over) -> Step:
        from driftline.engine import over

        source = self.step(node.input)
        own = source.operator.schema
        columns, named = _naming(own)
        partition = [named(value) for value in node.partition]
        order = [
            OrderBy(named(item.value), item.descending, item.nulls_first) for item in node.order
        ]
        functions = [_over_column(each, named) for each in node.columns]
        if len(columns) > len(own):
            source = self._computed(source, columns)
        operator = over.Over(
            source.operator.schema, partition, order, functions, self.level, own.names
        )
        self._closed(operator, node.partition, node.input)
        return self._renamed(self._after("over", operator, source), node.schema.arrow)

    def _rank(self, node: nodes.Rank) -> Step:
        source = self.step(node.input)
        own = source.operator.schema
        columns, named = _naming(own)
        partition = [named(value) for value in node.partition]
        order = [
            OrderBy(named(item.value), item.descending, item.nulls_first) for item in node.order
        ]
        computed = columns.keys() - set(own.names)
        if computed:
            source = self._computed(source, columns)
        operator = Rank(
            source.operator.schema,
            partition,
            order,
            node.method,
            node.name or "rank",
            self.level,
            limit=node.limit,
            keep_rank=node.name is not None,
        )
        self._closed(operator, node.partition, node.input)
        ranked = self._after("rank", operator, source)
        if computed:
            kept = [field for field in operator.schema if field.name not in computed]
            ranked = self._computed(
                ranked, {field.name: Column(field.name, field.type) for field in kept}
            )
        return self._renamed(ranked, node.schema.arrow)


def _naming(own: pa.Schema) -> tuple[dict[str, Expression], Callable[[Expression], str]]:
    """Columns of a schema, and how an expression becomes one more and gets its name."""
    columns: dict[str, Expression] = {field.name: Column(field.name, field.type) for field in own}

    def named(value: Expression) -> str:
        name = value.name if isinstance(value, Column) else f"$computed {len(columns)}"
        columns.setdefault(name, value)
        return name

    return columns, named


def _over_column(column: OverColumn, named: Callable[[Expression], str]) -> over.OverColumn:
    from driftline.engine import over

    frame = over.Frame(column.frame.unit, column.frame.start, column.frame.end)
    made = over.OverColumn(column.name, column.value.type, frame)
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
    argument, only = _argument(call), _only(call)
    aggregate = _aggregate(column.name, call, None if argument is None else named(argument), {})
    if only is not None:
        aggregate = replace(aggregate, only=named(only))
    return replace(made, aggregate=aggregate)


def _argument(call: AggregateCall) -> Expression | None:
    """What an aggregate is computed from: one column, with its filter applied."""
    value: Expression | None = call.args[0] if call.args else None
    if (call.function == "count" and len(call.args) > 1) or call.function in OF_PAIRS:
        value = _combination(call.args)
    counts_rows = call.function == "count" and not call.distinct
    if counts_rows and isinstance(value, Literal) and value.value is not None:
        value = None  # count(1) counts rows
    if call.function == "count_if":
        assert value is not None
        value = Case(((value, Literal(True, BOOLEAN)),), Literal(None, BOOLEAN), BOOLEAN)
    if call.filter is None or call.function in NULL_IS_A_VALUE:
        return value
    if value is None:
        value = Literal(True, BOOLEAN)
    return Case(((call.filter, value),), Literal(None, value.type), value.type)


def _combination(values: tuple[Expression, ...]) -> Expression:
    """Several values as one, which is null if any of them is."""
    whole = struct([f"col{place}" for place in range(1, len(values) + 1)], values)
    all_there = together([is_not_null((value,)) for value in values])
    assert all_there is not None
    return Case(((all_there, whole),), Literal(None, whole.type), whole.type)


def _only(call: AggregateCall) -> Expression | None:
    """Which rows a first or last goes by; None: all."""
    if call.function not in NULL_IS_A_VALUE:
        return None
    conditions = [] if call.filter is None else [call.filter]
    if call.ignore_nulls:
        conditions.append(is_not_null(call.args[:1]))
    return together(conditions)


def _aggregate(
    name: str, call: AggregateCall, argument: str | None, definitions: dict[str, object]
) -> Aggregate:
    if call.function in definitions:
        return Aggregate(
            name, "user_defined", argument, call.type, definition=definitions[call.function]
        )
    if call.function not in FUNCTIONS:
        known = ", ".join(sorted(FUNCTIONS))
        raise PlanError(
            f"the aggregate {call.function} cannot be kept up to date; there are {known}"
        )
    parameter = None
    if call.function in PERCENTILES:
        share = call.args[1]
        if not isinstance(share, Literal) or share.value is None:
            raise PlanError(f"{call.function} needs a constant share from 0 to 1")
        parameter = float(share.value)
        if not 0 <= parameter <= 1:
            raise PlanError(f"{call.function} needs a share from 0 to 1, not {parameter}")
        if call.function == "percentile" and len(call.args) > 2:  # noqa: PLR2004 - value and share
            raise PlanError("percentile does not take frequencies: repeat the rows instead")
    elif call.function == "mode" and len(call.args) > 1:
        parameter = 1.0  # of several the greatest
    elif len(call.args) > 1 and call.function not in ("count", *OF_PAIRS):
        raise PlanError(f"{call.function} of several arguments cannot be kept up to date")
    return Aggregate(
        name, FUNCTIONS[call.function], argument, call.type,
        distinct=call.distinct or call.function == "collect_set", parameter=parameter,
    )  # fmt: skip


def _shown_by(key: Expression) -> Expression:
    """What a group is shown by: 0.0 and -0.0 are one key, and as in Spark it is 0.0."""
    return arithmetic("add", key, Literal(0.0, key.type)) if is_float(key.type) else key


def _times(value: Expression) -> Linear | Callable[[Int64s, Int64s], Int64s]:
    """A time or a duration as a function of vs and ve; ∞ where it depends on an end that is ∞."""
    form = linear_form(value)
    if form is not None:
        return Linear(*form)

    def compute(vs: Int64s, ve: Int64s) -> Int64s:
        endless = ve == INFINITY
        columns = {"vs": vs, "ve": np.where(endless, 0, ve)}
        result: Any = evaluate(value, pa.RecordBatch.from_pydict(columns))
        times = result.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.where(endless, INFINITY, times) if "ve" in value.columns() else times

    return compute
