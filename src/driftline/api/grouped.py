"""Groups of rows and their aggregates, also those that users define."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from driftline.arguments import resolved
from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.functions.collections import in_key_order
from driftline.plan.resolver import parse_expression
from driftline.plan.types import canonical, parse_type
from driftline.spark_columns import Text

if TYPE_CHECKING:
    from driftline.api.relation import Relation

R = TypeVar("R", bound="Relation")

USER_DEFINED = "user-defined "


@dataclass(frozen=True)
class UserDefined:
    """A user's aggregate for `agg`: an object with `initial`, `add` and `result`, the value it
    takes (SQL), and the type of its result. With a `remove` that undoes `add`, a row that leaves a
    long window costs one call, instead of all others being added up again."""

    definition: object
    argument: str
    type: Any


@dataclass(frozen=True)
class Grouped(Generic[R]):
    """Groups of a query's rows, waiting for their aggregates."""

    query: R
    keys: tuple[nodes.Named, ...]

    def agg(self, *aggregates: Text, **named: Text | UserDefined) -> R:
        """One row for every group: its keys, and these: `agg("count(*) AS n", top="max(price)")`.

        An item may compute with aggregates and keys: `"sum(a) / sum(b) AS share"`.
        """
        own = {name: item for name, item in named.items() if isinstance(item, UserDefined)}
        texts = {name: item for name, item in named.items() if not isinstance(item, UserDefined)}
        schema = self.query.schema
        calls: dict[AggregateCall, str] = {}
        wanted: list[tuple[str, Expression]] = []
        for name, value, text in resolved(aggregates, texts, schema):
            if not value.aggregates():
                raise PlanError(f"{text} has no aggregate in it")
            for call in value.aggregates():
                calls.setdefault(call, f"${len(calls)}")
            wanted.append((name, value))
        definitions = []
        for name, item in own.items():
            if isinstance(item.definition, type):
                raise PlanError(
                    f"{name}: give an object, {item.definition.__name__}(), not its class"
                )
            if not all(hasattr(item.definition, each) for each in ("initial", "add", "result")):
                raise PlanError(f"{name}: its definition needs the methods initial, add and result")
            argument = parse_expression(item.argument, schema)
            kind = parse_type(item.type) if isinstance(item.type, str) else canonical(item.type)
            call = AggregateCall(f"{USER_DEFINED}{name}", (argument,), kind)
            definitions.append((call.function, item.definition))
            calls[call] = f"${len(calls)}"
            wanted.append((name, call))
        grouped = nodes.Aggregate(
            self.query.plan,
            tuple(nodes.Named(key.name, in_key_order(key.value)) for key in self.keys),
            tuple(nodes.Named(name, call) for call, name in calls.items()),
            tuple(definitions),
        )
        keys = {key.value: key for key in self.keys}

        def over_groups(part: Expression) -> Expression:
            # From the top: what an aggregate takes are columns of the input, keys or not.
            if part in keys:
                return Column(keys[part].name, part.type)
            if isinstance(part, AggregateCall):
                return Column(calls[part], part.type)
            return part.with_children(tuple(map(over_groups, part.children)))

        columns = [nodes.Named(key.name, Column(key.name, key.value.type)) for key in self.keys]
        columns += [nodes.Named(name, over_groups(value)) for name, value in wanted]
        known = set(grouped.schema.names)
        for column in columns:
            stray = column.value.columns() - known
            if stray:
                raise PlanError(
                    f"{column}: {min(stray)} is neither a key of the groups nor in an aggregate"
                )
        return self.query._of(nodes.Project(grouped, tuple(columns)))
