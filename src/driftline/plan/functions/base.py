"""How a function is described: its names, how many arguments it takes, and how a typed call is
built from them. The families of functions are in the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

from driftline.plan.coercion import can_cast, common_type_of_all, implicit_cast
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Cast, Expression, Literal
from driftline.plan.literals import fits
from driftline.plan.temporal import parse_date, parse_timestamp
from driftline.plan.types import (
    CALENDAR,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
    decimal,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    type_name,
)

Arguments = tuple[Expression, ...]
Builder = Callable[[Arguments], Expression]
Result = DataType | Callable[[Arguments], DataType]


@dataclass(frozen=True)
class Function:
    """A function of SQL. `most` is None where the number of arguments has no limit."""

    name: str
    least: int
    most: int | None
    build: Builder

    def __call__(self, args: Sequence[Expression]) -> Expression:
        """The typed call, or an error that says what is wrong with the arguments."""
        if self.name not in _OF_CALENDAR and any(_holds_calendar(arg.type) for arg in args):
            raise ExpressionError(
                f"{self.name} takes no INTERVAL of make_interval: add it to a TIMESTAMP, or cast "
                "it to STRING"
            )
        if len(args) < self.least or (self.most is not None and len(args) > self.most):
            raise ExpressionError(f"{self.name} takes {self._counts()}, not {len(args)}")
        return self.build(tuple(args))

    def _counts(self) -> str:
        if self.most == self.least:
            return "no arguments" if self.least == 0 else _arguments(self.least)
        if self.most is None:
            return f"at least {_arguments(self.least)}"
        return f"{self.least} to {self.most} arguments"


def _arguments(count: int) -> str:
    return f"{count} argument" + ("" if count == 1 else "s")


_OF_CALENDAR = frozenset(
    ["string", "coalesce", "if", "iff", "nvl", "ifnull", "nvl2", "array", "struct", "named_struct"]
    + ["date_part", "datepart", "isnull", "isnotnull", "is_null", "is_not_null", "typeof"]
    + ["try_add", "try_subtract", "negative", "positive"]
)
"""What takes an INTERVAL of months, days and less, which has neither an order nor a hash."""


def _holds_calendar(kind: DataType) -> bool:
    return bool(kind == CALENDAR) or any(
        _holds_calendar(kind.field(place).type) for place in range(kind.num_fields)
    )


FUNCTIONS: dict[str, Function] = {}
"""Every function by each of its names, in lower case."""


def register(names: str, least: int, most: int | None) -> Callable[[Builder], Builder]:
    """Makes a builder the function of these names (several are separated by spaces)."""

    def add(build: Builder) -> Builder:
        for name in names.split():
            FUNCTIONS[name] = Function(name, least, most, build)
        return build

    return add


def define(names: str, parameters: Sequence[DataType], result: Result, optional: int = 0) -> None:
    """A function that takes these types, the last `optional` of which may be left out."""
    canonical = names.split(maxsplit=1)[0]

    def build(args: Arguments) -> Expression:
        typed = tuple(
            argument(arg, wanted, canonical, place)
            for place, (arg, wanted) in enumerate(zip(args, parameters, strict=False), start=1)
        )
        return call(canonical, typed, result)

    register(names, len(parameters) - optional, len(parameters))(build)


def call(name: str, args: Arguments, result: Result) -> Call:
    """A call whose result type is given or follows from the arguments."""
    return Call(name, args, result(args) if callable(result) else result)


def argument(value: Expression, wanted: DataType, function: str, place: int) -> Expression:
    """The value, cast to what the function wants, or an error."""
    if not implicit_cast(value.type, wanted):
        raise wrong_argument(function, place, type_name(wanted), value)
    return cast_to(value, wanted)


def wrong_argument(function: str, place: int, wanted: str, value: Expression) -> ExpressionError:
    """The error for an argument that has the wrong type."""
    article = "an" if wanted[0] in "AEIOaeio" else "a"
    return ExpressionError(
        f"argument {place} of {function} must be {article} {wanted}: "
        f"{value.brief()} has the type {type_name(value.type)}"
    )


def numeric_argument(value: Expression, function: str, place: int = 1) -> Expression:
    """The value if it is a number; a STRING or NULL becomes a DOUBLE."""
    if value.type in (STRING, VOID):
        return cast_to(value, DOUBLE)
    if not is_numeric(value.type):
        raise wrong_argument(function, place, "number", value)
    return value


def same_type(args: Arguments, what: str, promote_strings: bool = True) -> Arguments:
    """The values, all cast to the type they have in common."""
    kind = common_type_of_all((arg.type for arg in args), promote_strings)
    if kind is None:
        listed = ", ".join(dict.fromkeys(type_name(arg.type) for arg in args))
        raise ExpressionError(f"the values of {what} have no common type: {listed}")
    return tuple(cast_to(arg, kind) for arg in args)


def constant(value: Expression, what: str) -> Any:
    """The value of an argument that must be written as a constant."""
    if not isinstance(value, Literal):
        raise ExpressionError(f"{what} must be a constant, not {value.brief()}")
    return value.value


def needs(library: str, extra: str, function: str) -> None:
    """Refuse a function whose library, which is not always installed, is missing."""
    if find_spec(library) is None:
        raise ExpressionError(f'{function} needs {library}: pip install "driftline[{extra}]"')


def cast_to(value: Expression, kind: DataType) -> Expression:
    """The value with another type, as an implicit cast. A constant that has an exact counterpart
    becomes that; one that is cast explicitly is no longer a constant to the rules of decimals.
    """
    if value.type == kind:
        return value
    if not can_cast(value.type, kind):
        raise ExpressionError(
            f"{value.brief()} has the type {type_name(value.type)}, "
            f"which cannot be cast to {type_name(kind)}"
        )
    if isinstance(value, Literal):
        folded = _folded(value, kind)
        if folded is not None:
            return folded
    return Cast(value, kind)


def _folded(value: Literal, kind: DataType) -> Literal | None:
    if value.value is None:
        return Literal(None, kind)
    if is_integer(value.kind):
        if is_integer(kind) and fits(value.value, kind):
            return Literal(value.value, kind)
        if is_float(kind) and abs(value.value) < 1 << 24:  # exact even as FLOAT
            return Literal(float(value.value), kind)
        if kind == decimal_of_literal(value):
            return Literal(Decimal(value.value), kind)
    if value.kind == STRING and kind in (DATE, TIMESTAMP):
        parsed = parse_date(value.value) if kind == DATE else parse_timestamp(value.value)
        return None if parsed is None else Literal(parsed, kind)
    if is_decimal(value.kind) and kind == DOUBLE:
        return Literal(float(value.value), kind)
    return None


def decimal_of_literal(value: Expression) -> DataType | None:
    """The smallest DECIMAL that holds an integer constant, or None for anything else."""
    if isinstance(value, Literal) and is_integer(value.kind) and value.value is not None:
        return decimal(len(str(abs(value.value))), 0)
    return None
