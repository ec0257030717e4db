"""Taking expressions apart: conjunctions, equalities between two sides, straight lines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa

from driftline.plan.expressions import Call, Cast, Column, Expression, Literal
from driftline.plan.types import BOOLEAN


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The parts that must all be true."""
    found: list[Expression] = []
    waiting = [] if condition is None else [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == "and":
            waiting.extend(reversed(part.args))
        else:
            found.append(part)
    return found


def together(parts: list[Expression]) -> Expression | None:
    """What is true when all parts are; None when there are none."""
    if not parts:
        return None
    return reduce(lambda one, other: Call("and", (one, other), BOOLEAN), parts)


def equality(
    part: Expression, left: frozenset[str], right: frozenset[str]
) -> tuple[Expression, Expression] | None:
    """The two sides of an equality between columns of the left and columns of the right."""
    if not isinstance(part, Call) or part.function != "equal":
        return None
    one, other = part.args
    for first, second in ((one, other), (other, one)):
        if frozenset() < first.columns() <= left and frozenset() < second.columns() <= right:
            return first, second
    return None


def linear_form(value: Expression) -> tuple[int, int, int] | None:
    """(a, b, c) such that the value is a · vs + b · ve + c, if it is of that form with b >= 0."""
    form: tuple[int, int, int] | None = value.fold(_linear)
    return form if form is not None and form[1] >= 0 else None


def _linear(
    value: Expression, forms: list[tuple[int, int, int] | None]
) -> tuple[int, int, int] | None:
    if isinstance(value, Cast):
        return forms[0]
    if isinstance(value, Column):
        return {"vs": (1, 0, 0), "ve": (0, 1, 0)}.get(value.name.lower())
    if isinstance(value, Literal):
        return (0, 0, value.value) if isinstance(value.value, int) else None
    if not isinstance(value, Call):
        return None
    if any(form is None for form in forms):
        return None
    known = [form for form in forms if form is not None]
    if value.function == "negate":
        a, b, c = known[0]
        return -a, -b, -c
    if value.function in ("add", "subtract"):
        sign = 1 if value.function == "add" else -1
        (a, b, c), (x, y, z) = known
        if b * sign * y < 0:
            return None  # ∞ - ∞ is ∞, and not nothing
        return a + sign * x, b + sign * y, c + sign * z
    if value.function == "multiply":
        for (a, b, c), (x, y, z) in (known, known[::-1]):
            if a == b == 0:
                return c * x, c * y, c * z
    return None


Line = tuple[int, int, int]
"""(a, b, c): a · time of the left + b · time of the right + c."""

_SIGNS = {"add": 1, "add_interval": 1}
_SIGNS |= {"subtract": -1, "subtract_interval": -1, "subtract_timestamps": -1}


def line(value: Expression, times: Mapping[str, Line]) -> Line | None:
    """A value as a line, if some columns are such; None if it is not straight."""

    def of(part: Expression, lines: list[Line | None]) -> Line | None:
        match part:
            case Column(name=name) if _is_exact(part.type):
                return times.get(name)
            case Literal(value=int() as number) if not isinstance(number, bool):
                return (0, 0, number) if _is_exact(part.type) else None
            case Cast(value=inner) if pa.types.is_integer(part.type):
                return lines[0] if pa.types.is_integer(inner.type) else None
            case Call(function="negate"):
                return total((0, 0, 0), lines[0], -1)
            case Call(function=function) if function in _SIGNS:
                return total(lines[0], lines[1], _SIGNS[function])
        return None

    found: Line | None = value.fold(of)
    return found


def total(one: Line | None, other: Line | None, sign: int) -> Line | None:
    """The sum or the difference of two lines."""
    if one is None or other is None:
        return None
    return (one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2])


def shifted(value: Expression) -> tuple[str, int] | None:
    """The column that a value is, and by how many ticks it is moved; None if it is not of this
    form."""
    if isinstance(value, Column):
        return value.name, 0
    names = value.columns()
    if len(names) != 1:
        return None
    (name,) = names
    form = line(value, {name: (1, 0, 0)})
    return None if form is None or form[0] != 1 else (name, form[2])


def _is_exact(kind: pa.DataType) -> bool:
    """Whether values are counted in the ticks of time: integers, and microseconds."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return bool(kind.unit == "us")
    return bool(pa.types.is_integer(kind))
