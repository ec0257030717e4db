"""MATCH_RECOGNIZE in tests: nodes from text, and what they mean by the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import pyarrow as pa

from driftline.engine.expressions import evaluate
from driftline.model import reference
from driftline.model.history import History, Lifetime
from driftline.model.reference import Order, aggregates
from driftline.model.reference.match import CLASSIFIER, MATCH_NUMBER, Measure, Seen
from driftline.model.row import Row, Value, sort_key
from driftline.model.time import INFINITY
from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.naming import parse_ordered
from driftline.plan.nodes import Match, Node, OrderItem, RowsPerMatch
from driftline.plan.nodes.base import SETTLED
from driftline.plan.nodes.sources import Leaf
from driftline.plan.patterns.building import matched
from driftline.plan.patterns.navigation import Classifier, MatchAggregate, MatchNumber, Navigation
from driftline.plan.patterns.texts import clauses
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.types import BIGINT, STRING, Schema, is_timestamp


def match_node(
    rows: Node | Mapping[str, str],
    pattern: str,
    define: Mapping[str, str] | None = None,
    measures: Mapping[str, str] | None = None,
    *,
    per: Sequence[str] = (),
    by: Sequence[str] = ("t",),
    output: RowsPerMatch = "one",
    skip: str = "past last row",
    within: int | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
) -> Match:
    """A node from the text of its clauses, over a node or over columns with types."""
    given = rows if isinstance(rows, Node) else Leaf("rows", Schema.of(rows))
    partition = [parse_expression(name, given.schema) for name in per]
    order = []
    for each in by:
        node, descending, nulls_first = parse_ordered(each)
        order.append(OrderItem(resolve(node, given.schema), descending, nulls_first))

    written = clauses(
        pattern,
        define,
        measures or {},
        order,
        rows=output,
        skip=skip,
        within=within,
        subsets=subsets,
    )
    return matched(given, partition, order, written)


def meaning(node: Match) -> Callable[[History], History]:
    """What a node means."""
    within: Any = node.within
    if within is not None and is_timestamp(node.order[0].value.type):
        within = timedelta(microseconds=within)
    elif within is not None and node.order[0].value.type == pa.date32():
        within = timedelta(days=within)
    keys = [each.name for each in node.partition if isinstance(each, Column)]
    return lambda history: reference.match(
        history,
        node.pattern,
        {each.name: of_match(each.value) for each in node.conditions},
        {each.name: of_match(each.value) for each in node.measures},
        [Order(of_row(each.value), each.descending, each.nulls_first) for each in node.order],
        {name: of_row(Column(name, node.input.schema.arrow.field(name).type)) for name in keys},
        rows=node.rows,
        skip=node.skip,
        within=within,
        settled=SETTLED if node.settled else None,
    )


def matches_of(node: Match, rows: Iterable[Mapping[str, Value]]) -> list[dict[str, Value]]:
    """What a node gives for rows that are all there at one time, sorted by its columns."""
    history = History([Lifetime(0, INFINITY, Row(row)) for row in rows])
    found = meaning(node)(history)
    answer = [{name: each.row[name] for name in node.schema.names} for each in found]
    return sorted(answer, key=lambda row: [sort_key(value) for value in row.values()])


def of_row(value: Expression) -> Callable[[Row], Value]:
    """An expression over one row, as a function."""

    def change(part: Expression) -> Expression:
        if isinstance(part, Classifier):
            return Column(CLASSIFIER, STRING)
        return Column(MATCH_NUMBER, BIGINT) if isinstance(part, MatchNumber) else part

    plain = value.transform(change)
    if isinstance(plain, Column):
        return lambda row: row[plain.name]
    read = {part.name: part.type for part in plain.walk() if isinstance(part, Column)}

    @cache
    def evaluated(row: Row) -> Value:
        return _evaluated(plain, {name: (row[name], kind) for name, kind in read.items()})

    return evaluated


def of_match(value: Expression) -> Measure:
    """An expression over the rows of a match, as a function."""
    parts: dict[Expression, Column] = {}

    def outside(part: Expression) -> Expression:
        """The expression with a column for each part that looks at rows."""
        if isinstance(part, (Navigation, MatchAggregate, MatchNumber)):
            return parts.setdefault(part, Column(f"part {len(parts)}", part.type))
        return part.with_children(tuple(map(outside, part.children)))

    plain = outside(value)
    measures = {column: _part(part) for part, column in parts.items()}

    def measure(seen: Seen) -> Value:
        found = {column.name: (each(seen), column.type) for column, each in measures.items()}
        return found[plain.name][0] if isinstance(plain, Column) else _evaluated(plain, found)

    return measure


def _part(part: Expression) -> Measure:
    if isinstance(part, Navigation):
        return reference.navigation(
            of_row(part.value),
            part.variables,
            last=part.last,
            offset=part.offset,
            physical=part.physical,
            running=part.running,
        )
    if isinstance(part, MatchAggregate):
        return reference.aggregated(_aggregate(part.call), part.variables, running=part.running)
    return lambda seen: seen.number


def _aggregate(call: AggregateCall) -> aggregates.Aggregate:
    """The reference of an aggregate."""
    if not call.args:
        found = aggregates.count_all()
    elif call.distinct:
        assert call.function == "count"
        found = aggregates.count_distinct(of_row(call.args[0]))
    else:
        name = {"sum": "sum_", "min": "min_", "max": "max_", "var_pop": "variance_pop"}
        function = getattr(aggregates, name.get(call.function, call.function))
        found = function(of_row(call.args[0]))
    return found if call.filter is None else aggregates.filtered(found, of_row(call.filter))


def _evaluated(value: Expression, columns: Mapping[str, tuple[Value, Any]]) -> Value:
    """An expression over one row, given as values and types; the row has a column more, so that
    there is one."""
    arrays = {name: pa.array([value], kind) for name, (value, kind) in columns.items()}
    return evaluate(value, pa.table({**arrays, "$": [0]})).to_pylist()[0]
