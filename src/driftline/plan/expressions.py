"""Expressions: what a value is computed from, typed, and free of how it is computed.

An expression is an immutable tree. Every implicit cast has become a `Cast`, every operator and
function a `Call` by its canonical name, so two expressions are equal when they compute the same
thing from the same columns in the same way. `driftline.plan.resolver` makes them from SQL;
`driftline.engine.expressions` evaluates them.

>>> from driftline.plan.types import INT
>>> Call("add", (Column("a", INT), Literal(1, INT)), INT).sql()
'(a + 1)'

A tree may be thousands of operands deep (`x + x + …`), so nothing here recurses: trees are walked
with a stack of their own, and what is known of a part (its hash, its height) is kept with it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from driftline.plan.literals import literal_sql
from driftline.plan.types import DataType, quoted, type_name

OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "integral_divide": "DIV",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "null_safe_equal": "<=>",
    "and": "AND",
    "or": "OR",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shiftleft": "<<",
    "shiftright": ">>",
    "rlike": "RLIKE",
    # Dates and times: the same signs, other operations.
    "add_interval": "+",
    "subtract_interval": "-",
    "add_months_interval": "+",
    "subtract_months_interval": "-",
    "subtract_dates": "-",
    "subtract_timestamps": "-",
    "multiply_interval": "*",
    "divide_interval": "/",
}
"""The canonical names that SQL writes between their two operands."""

_TEMPLATES = {
    "not": "(NOT {0})",
    "negate": "(- {0})",
    "bitwise_not": "(~ {0})",
    "is_null": "({0} IS NULL)",
    "like": "({0} LIKE {1} ESCAPE {2})",
    "ilike": "({0} ILIKE {1} ESCAPE {2})",
    "get_item": "{0}[{1}]",
    "trim": "TRIM(BOTH {1} FROM {0})",
    "ltrim": "TRIM(LEADING {1} FROM {0})",
    "rtrim": "TRIM(TRAILING {1} FROM {0})",
    "array_sort_by": "array_sort({0}, {1})",
    "round_ceil": "ceil({0}, {1})",
    "round_floor": "floor({0}, {1})",
    "try_remainder": "try_mod({0}, {1})",
    "second_fraction": "EXTRACT(SECOND FROM {0})",
    "dayofweek_iso": "EXTRACT(DAYOFWEEK_ISO FROM {0})",
    "yearofweek": "EXTRACT(YEAROFWEEK FROM {0})",
    "interval_day": "EXTRACT(DAY FROM {0})",
    "interval_hour": "EXTRACT(HOUR FROM {0})",
    "interval_minute": "EXTRACT(MINUTE FROM {0})",
    "interval_second": "EXTRACT(SECOND FROM {0})",
}
"""The canonical names that SQL writes in a form of their own."""

EXPANDING = frozenset(["repeat", "lpad", "rpad", "space", "sequence", "array_repeat"])
"""The functions whose result may be as long as an argument demands."""

_WITH_UNIT = ("timestampadd", "timestampdiff")
_SHOWN = 200
"""So much of an expression is shown in a message."""
_PICKLED_WHOLE = 20
"""The height up to which a tree is pickled as it is; higher ones as a list of their parts."""


@dataclass(frozen=True, eq=False)
class Expression:
    """The base of all expressions. Each has a `type`, an Arrow type (`driftline.plan.types`)."""

    @property
    def type(self) -> DataType:
        """The type of the value."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions this one is computed from, in order."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same operation on other operands."""
        return self

    def sql(self) -> str:
        """Spark SQL text that means this expression."""
        text: str = self.fold(lambda part, texts: part.written(texts))
        return text

    def brief(self) -> str:
        """Its text, or the start of it, for a message."""
        text = self.sql()
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def written(self, texts: list[str]) -> str:
        """Its text, given those of its children."""
        raise NotImplementedError

    def fold(self, combine: Callable[[Expression, list[Any]], Any]) -> Any:
        """What `combine` makes of each part and the results of its children, from the leaves up."""
        waiting: list[tuple[Expression, bool]] = [(self, False)]
        results: list[Any] = []
        while waiting:
            part, ready = waiting.pop()
            children = part.children
            if children and not ready:
                waiting.append((part, True))
                waiting.extend((child, False) for child in reversed(children))
                continue
            first = len(results) - len(children)
            results[first:] = [combine(part, results[first:])]
        return results[0]

    def walk(self) -> Iterator[Expression]:
        """This expression and all below it, from the top."""
        waiting: list[Expression] = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting.extend(reversed(part.children))

    @property
    def height(self) -> int:
        """How many levels of operands are below it."""
        number: int = self.__dict__["_height"]
        return number

    def __post_init__(self) -> None:
        heights = (child.height for child in self.children)
        self.__dict__["_height"] = 1 + max(heights, default=-1)

    def own(self) -> tuple[Any, ...]:
        """What it is apart from its children: two parts are the same if this and those are."""
        raise NotImplementedError

    def __hash__(self) -> int:
        waiting: list[Expression] = [self]
        while waiting:
            part = waiting[-1]
            unknown = [child for child in part.children if "_hash" not in child.__dict__]
            if unknown and "_hash" not in part.__dict__:
                waiting += unknown
                continue
            waiting.pop()
            known = (child.__dict__["_hash"] for child in part.children)
            part.__dict__.setdefault("_hash", hash((type(part), *part.own(), *known)))
        number: int = self.__dict__["_hash"]
        return number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        waiting: list[tuple[Expression, Expression]] = [(self, other)]
        while waiting:
            one, two = waiting.pop()
            if one is two:
                continue
            if type(one) is not type(two) or hash(one) != hash(two) or one.own() != two.own():
                return False
            waiting.extend(zip(one.children, two.children, strict=True))
        return True

    def columns(self) -> frozenset[str]:
        """The names of the columns it reads."""
        return frozenset(node.name for node in self.walk() if isinstance(node, Column))

    def transform(self, change: Callable[[Expression], Expression]) -> Expression:
        """The expression with `change` applied to each of its parts, from the leaves up."""

        def changed(part: Expression, children: list[Expression]) -> Expression:
            same = all(map(operator.is_, children, part.children))
            return change(part if same else part.with_children(tuple(children)))

        result: Expression = self.fold(changed)
        return result

    def aggregates(self) -> tuple[AggregateCall, ...]:
        """The aggregate calls in it, each once, in the order they are written."""
        found = (node for node in self.walk() if isinstance(node, AggregateCall))
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        return self.sql()

    def __getstate__(self) -> dict[str, Any]:
        # What others keep with an expression (its compiled form) stays in this process.
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.height <= _PICKLED_WHOLE:
            return super().__reduce_ex__(protocol)
        parts: list[Expression] = []

        def number(part: Expression, children: list[int]) -> int:
            places = tuple(Column(str(child), part.type) for child in children)
            parts.append(part.with_children(places) if children else part)
            return len(parts) - 1

        self.fold(number)
        return _from_parts, (parts,)


def _from_parts(parts: list[Expression]) -> Expression:
    """The tree of which these are the parts: the children of each are the numbers of others."""
    built: list[Expression] = []
    for part in parts:
        places = part.children
        children = tuple(built[int(place.name)] for place in places if isinstance(place, Column))
        built.append(part.with_children(children) if places else part)
    return built[-1]


@dataclass(frozen=True, eq=False)
class Column(Expression):
    """The value of a column; `name` is the name of the Arrow column that holds it."""

    name: str
    kind: DataType
    qualifier: str | None = None

    @property
    def type(self) -> DataType:
        """The type of the column."""
        return self.kind

    def own(self) -> tuple[Any, ...]:
        """Its name and type."""
        return self.name, self.kind, self.qualifier

    def written(self, texts: list[str]) -> str:
        """Its name, with the relation's where the name alone was not unique."""
        if self.qualifier and self.name.startswith(f"{quoted(self.qualifier)}."):
            return self.name
        return quoted(self.name)


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
        if self.function in OPERATORS:
            return f"({texts[0]} {OPERATORS[self.function]} {texts[1]})"
        if self.function == "negate" and isinstance(self.args[0], Literal):
            return f"negative({texts[0]})"  # a sign before a number would be part of it
        if self.function in _TEMPLATES:
            return _TEMPLATES[self.function].format(*texts)
        if self.function == "in":
            return f"({texts[0]} IN ({', '.join(texts[1:])}))"
        if self.function in _WITH_UNIT:
            texts = [texts[0].strip("'"), *texts[1:]]
        name = self.function
        if name.startswith("try_") and name[4:] in OPERATORS:
            sign = OPERATORS[name[4:]]
            name = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}.get(
                sign, "try_divide"
            )
        return f"{name}({', '.join(texts)})"


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
