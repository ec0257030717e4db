"""Expressions: what a value is computed from, typed, and free of how it is computed.

An expression is an immutable tree. Every implicit cast has become a `Cast`, every operator and
function a `Call` by its canonical name, so two expressions are equal when they compute the same
thing from the same columns in the same way. `driftline.plan.resolver` makes them from SQL;
`driftline.engine.expressions` evaluates them.

>>> from driftline.plan.types import INT
>>> Call("add", (Column("a", INT), Literal(1, INT)), INT).sql()
'(a + 1)'

Their base, with columns, is in `expression`; how calls are written in `written_calls`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from driftline.plan.expression import Column, Expression
from driftline.plan.literals import literal_sql
from driftline.plan.types import DataType, quoted, type_name
from driftline.plan.written_calls import call_text

__all__ = [
    "EXPANDING", "AggregateCall", "Call", "Case", "Cast", "Column", "Expression", "FieldAccess",
    "Lambda", "Literal", "Variable",
]  # fmt: skip

EXPANDING = frozenset(["repeat", "lpad", "rpad", "space", "sequence", "array_repeat"])
"""The functions whose result may be as long as an argument demands."""


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A constant. Dates are days and timestamps and intervals microseconds, as in Arrow; an
    interval of months is their number. `unit` is "DAY" for an interval that was written in whole
    days: a DATE plus such an interval is a DATE.
    """

    value: Any
    kind: DataType
    unit: str | None = None

    @property
    def type(self) -> DataType:
        """The type of the constant."""
        return self.kind

    def written(self, texts: list[str]) -> str:
        """The constant with its type, such as `10L` or `DATE '2024-05-01'`."""
        return literal_sql(self.value, self.kind, self.unit)

    def own(self) -> tuple[Any, ...]:
        """Its value, as it is written: 0.0 and -0.0 are different constants, though equal."""
        return repr(self.value), self.kind, self.unit


@dataclass(frozen=True, eq=False)
class Variable(Expression):
    """A parameter of a `Lambda`, inside of its body."""

    name: str
    kind: DataType

    @property
    def type(self) -> DataType:
        """The type of what it stands for."""
        return self.kind

    def own(self) -> tuple[Any, ...]:
        """Its name and type."""
        return self.name, self.kind

    def written(self, texts: list[str]) -> str:
        """Its name."""
        return quoted(self.name)


@dataclass(frozen=True, eq=False)
class Lambda(Expression):
    """A function that is an argument: `(x, y) -> body`. Its type is that of the body."""

    parameters: tuple[Variable, ...]
    body: Expression

    @property
    def type(self) -> DataType:
        """The type of the body."""
        return self.body.type

    @property
    def children(self) -> tuple[Expression, ...]:
        """The body."""
        return (self.body,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same parameters with another body."""
        return replace(self, body=children[0])

    def own(self) -> tuple[Any, ...]:
        """The parameters."""
        return tuple(each.own() for each in self.parameters)

    def written(self, texts: list[str]) -> str:
        """`(x, y) -> body`."""
        return f"({', '.join(quoted(each.name) for each in self.parameters)}) -> {texts[0]}"


@dataclass(frozen=True, eq=False)
class Call(Expression):
    """A function or operator, by its canonical name, with arguments of the types it takes."""

    function: str
    args: tuple[Expression, ...]
    kind: DataType

    @property
    def type(self) -> DataType:
        """The type of the result."""
        return self.kind

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self.args

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same call with other arguments."""
        return replace(self, args=children)

    def own(self) -> tuple[Any, ...]:
        """The function."""
        return self.function, self.kind, len(self.args)

    def written(self, texts: list[str]) -> str:
        """The operator with its operands in brackets, or the call."""
        of_literal = bool(self.args) and isinstance(self.args[0], Literal)
        return call_text(self.function, texts, of_literal=of_literal)


@dataclass(frozen=True, eq=False)
class FieldAccess(Expression):
    """A field of a struct, by its position."""

    value: Expression
    index: int

    @property
    def type(self) -> DataType:
        """The type of the field."""
        return self.value.type.field(self.index).type

    @property
    def children(self) -> tuple[Expression, ...]:
        """The struct."""
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same field of another struct."""
        return replace(self, value=children[0])

    def own(self) -> tuple[Any, ...]:
        """Which field."""
        return (self.index,)

    def written(self, texts: list[str]) -> str:
        """`struct.field`."""
        return f"{texts[0]}.{quoted(self.value.type.field(self.index).name)}"


@dataclass(frozen=True, eq=False)
class Cast(Expression):
    """A value turned into another type; `lenient` (TRY_CAST) gives null where CAST would fail."""

    value: Expression
    kind: DataType
    lenient: bool = False

    @property
    def type(self) -> DataType:
        """The type it is turned into."""
        return self.kind

    @property
    def children(self) -> tuple[Expression, ...]:
        """The value."""
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same cast of another value."""
        return replace(self, value=children[0])

    def own(self) -> tuple[Any, ...]:
        """The type."""
        return self.kind, self.lenient

    def written(self, texts: list[str]) -> str:
        """`CAST(value AS type)`."""
        name = "TRY_CAST" if self.lenient else "CAST"
        return f"{name}({texts[0]} AS {type_name(self.kind)})"


@dataclass(frozen=True, eq=False)
class Case(Expression):
    """The value of the first branch whose condition is true. A branch is evaluated only for the
    rows that take it.
    """

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    kind: DataType

    @property
    def type(self) -> DataType:
        """The type all branches share."""
        return self.kind

    @property
    def children(self) -> tuple[Expression, ...]:
        """Condition and value of each branch, then the value of ELSE."""
        return (*(part for branch in self.branches for part in branch), self.otherwise)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same CASE with other conditions and values."""
        pairs = tuple(zip(children[:-1:2], children[1:-1:2], strict=True))
        return replace(self, branches=pairs, otherwise=children[-1])

    def own(self) -> tuple[Any, ...]:
        """The type, and how many branches there are."""
        return self.kind, len(self.branches)

    def written(self, texts: list[str]) -> str:
        """`CASE WHEN … THEN … ELSE … END`."""
        branches = zip(texts[:-1:2], texts[1:-1:2], strict=True)
        whens = (f"WHEN {when} THEN {then}" for when, then in branches)
        return f"CASE {' '.join(whens)} ELSE {texts[-1]} END"


@dataclass(frozen=True, eq=False)
class AggregateCall(Expression):
    """An aggregate function over the rows of a group. It has no value of its own for a row: plans
    take it apart, and evaluating it is an error.
    """

    is_aggregate: ClassVar[bool] = True
    function: str
    args: tuple[Expression, ...]
    kind: DataType
    distinct: bool = False
    filter: Expression | None = None
    ignore_nulls: bool = False

    @property
    def type(self) -> DataType:
        """The type of the result."""
        return self.kind

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments, and the filter if there is one."""
        return self.args if self.filter is None else (*self.args, self.filter)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same aggregate of other arguments."""
        if self.filter is None:
            return replace(self, args=children)
        return replace(self, args=children[:-1], filter=children[-1])

    def own(self) -> tuple[Any, ...]:
        """The function and how it is called."""
        count = len(self.args), self.filter is None
        return self.function, self.kind, self.distinct, self.ignore_nulls, *count

    def written(self, texts: list[str]) -> str:
        """The call, with DISTINCT, IGNORE NULLS and FILTER as they are."""
        arguments = ", ".join(texts[: len(self.args)]) or "*"
        text = f"{self.function}({'DISTINCT ' if self.distinct else ''}{arguments})"
        if self.ignore_nulls:
            text += " IGNORE NULLS"
        if self.filter is not None:
            text += f" FILTER (WHERE {texts[-1]})"
        return text
