"""A plan, and what is common to all ways to build on it. Expressions are Spark SQL in strings, or
columns of PySpark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from driftline.arguments import resolved, row_value, several, text_of
from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Expression
from driftline.plan.naming import parse_ordered
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.types import Schema, is_orderable, type_name
from driftline.spark_columns import Text, sql_text


@dataclass(frozen=True, repr=False)
class Planned:
    """A plan, and what the ways to build on it have in common."""

    plan: nodes.Node

    def __post_init__(self) -> None:
        if not isinstance(self.plan, nodes.Node):
            raise PlanError(f"a query begins with stream(…), not with a {type(self.plan).__name__}")

    def __repr__(self) -> str:
        columns = ", ".join(f"{each.name} {type_name(each.type)}" for each in self.schema)
        return f"<{type(self).__name__}: {columns}>"

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return self.plan.schema

    def explain(self) -> str:
        """The plan, drawn as a tree."""
        return self.plan.tree()

    def _of(self, plan: nodes.Node, *others: Planned) -> Self:
        """A query like this one, and over the inputs of others, too, with another plan."""
        return replace(self, plan=plan)

    def _called(self, name: str) -> Planned:
        """The same under a name that it is given later."""
        return self

    def _expression(self, given: Text) -> Expression:
        text = sql_text(given)
        return row_value(parse_expression(text, self.schema), text)

    def _named(self, texts: Sequence[Text], named: Mapping[str, Text]) -> tuple[nodes.Named, ...]:
        return tuple(
            nodes.Named(name, row_value(value, text))
            for name, value, text in resolved(texts, named, self.schema)
        )

    def _new_name(self, name: str) -> None:
        if self.schema.find(text_of(name, "the name of a column")):
            raise PlanError(f"there is a column {name} already: give the new one another name")

    def _columns(self, texts: Text | Sequence[Text]) -> tuple[Expression, ...]:
        return tuple(self._expression(text) for text in several(texts))

    def _order(self, texts: Text | Sequence[Text]) -> tuple[nodes.OrderItem, ...]:
        return tuple(self._order_item(text) for text in several(texts))

    def _order_item(self, given: Text) -> nodes.OrderItem:
        text = sql_text(given)
        node, descending, nulls_first = parse_ordered(text)
        value = row_value(resolve(node, self.schema), text)
        if not is_orderable(value.type):
            raise PlanError(f"{text}: one cannot order by a {type_name(value.type)}")
        return nodes.OrderItem(value, descending, nulls_first)
