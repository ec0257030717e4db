"""What two queries need before they are combined: the same kind of time, and, in set operations,
columns of common types."""

from __future__ import annotations

from driftline.plan import nodes
from driftline.plan.coercion import common_type
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Cast, Column
from driftline.plan.types import DataType, type_name

_TIMES = {True: "TIMESTAMP", False: "integer"}


def need_same_time(left: nodes.Node, right: nodes.Node) -> None:
    """An error if one side counts microseconds and the other numbers of its own."""
    if left.timestamps != right.timestamps:
        raise PlanError(
            f"one side has {_TIMES[left.timestamps]} time, the other {_TIMES[right.timestamps]} "
            "time: declare both streams alike (WITH (time = …) or timestamps = true)"
        )


def with_common_types(
    left: nodes.Node, right: nodes.Node, word: str
) -> tuple[nodes.Node, nodes.Node]:
    """Both sides of a set operation, whose columns correspond by position, with the types that can
    hold the values of both."""
    if len(left.schema) != len(right.schema):
        raise PlanError(
            f"{word}: the left side has {len(left.schema)} columns, the right side "
            f"{len(right.schema)}"
        )
    kinds: list[DataType] = []
    for place, (one, other) in enumerate(zip(left.schema, right.schema, strict=True), start=1):
        kind = one.type if one.type == other.type else common_type(one.type, other.type)
        if kind is None:
            raise PlanError(
                f"{word}: column {place} is {type_name(one.type)} on the left and "
                f"{type_name(other.type)} on the right"
            )
        kinds.append(kind)
    return _cast(left, kinds), _cast(right, kinds)


def _cast(plan: nodes.Node, kinds: list[DataType]) -> nodes.Node:
    schema = plan.schema
    if [each.type for each in schema] == kinds:
        return plan
    columns = []
    for name, each, kind in zip(schema.names, schema, kinds, strict=True):
        value = Column(name, each.type, each.qualifier)
        columns.append(nodes.Named(name, value if each.type == kind else Cast(value, kind)))
    return nodes.Project(plan, tuple(columns))
