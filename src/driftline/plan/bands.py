"""How long a row can find partners in a join, by what the condition says of time.

    span of the left: a row that starts at vs matches only rows of the right that start before
    vs + span; the span of the right likewise. INFINITY: the condition says nothing.

A condition that compares the time columns of plain records says it (`l.ts BETWEEN r.ts - INTERVAL 5
SECONDS AND r.ts`), and so do equal windows (`l.window_end = r.window_end`), of plain records and of
what is grouped by them. When the other side's cti has passed vs + span, an inner join needs the row
no more, although its lifetime goes on.

    span of both: when both sides' ctis have passed vs + span, neither the row nor any that it
    matches changes or finds another partner

That is what other joins go by, which have to know what was matched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import pyarrow as pa

from driftline.model.time import INFINITY
from driftline.plan import nodes
from driftline.plan.closing import Delays, closing_pairs, is_time, later
from driftline.plan.conditions import conjuncts
from driftline.plan.expressions import Call, Cast, Column, Expression, Literal
from driftline.plan.lifetimes import only_grows


class Spans(NamedTuple):
    """How long after its vs a row of the left and of the right can match, and of both."""

    left: int = INFINITY
    right: int = INFINITY
    both: int = INFINITY


Line = tuple[int, int, int]
"""(a, b, c): a · time of the left + b · time of the right + c."""

_SIGNS = {"add": 1, "add_interval": 1}
_SIGNS |= {"subtract": -1, "subtract_interval": -1, "subtract_timestamps": -1}
_STRICT = {"less": True, "less_equal": False, "greater": True, "greater_equal": False}


def spans(
    node: nodes.Join,
    inserts_only: Collection[str],
    known: Mapping[str, Delays],
    *,
    closing: bool = True,
) -> Spans:
    """What the condition of a join says. `inserts_only`: the sources of plain records; `known`:
    which columns of leaves close; `closing`: whether what is grouped is said once and for all (see
    `plan.closing`)."""
    left = right = both = INFINITY
    if all(only_grows(each, inserts_only) for each in node.inputs):
        left, right = _by_times(node, inserts_only)
        if INFINITY not in (left, right):
            both = max(left + right, left, right)
    if closing:
        for (_, one), (_, other) in closing_pairs(node, inserts_only, known):
            left = min(left, one.reach + other.delay)
            right = min(right, other.reach + one.delay)
            whole = later(one, other)
            both = min(both, whole.reach + whole.delay)
    return Spans(left, right, both)


def _by_times(node: nodes.Join, inserts_only: Collection[str]) -> tuple[int, int]:
    names = (node.left.schema + node.right.schema).names
    width = len(node.left.schema)
    times: dict[str, Line] = {}
    for place, name in enumerate(names):
        if place < width and is_time(node.left, place, inserts_only):
            times[name] = (1, 0, 0)
        elif place >= width and is_time(node.right, place - width, inserts_only):
            times[name] = (0, 1, 0)
    ahead = {1: INFINITY, -1: INFINITY}  # of right - left, of left - right: less than this
    for part in conjuncts(node.condition):
        for (a, b, c), strict in _below_zero(part, times):
            if (a, b) in ((-1, 1), (1, -1)):
                ahead[b] = min(ahead[b], -c if strict else 1 - c)
    return ahead[1], ahead[-1]


def _below_zero(part: Expression, times: Mapping[str, Line]) -> list[tuple[Line, bool]]:
    """Lines that a condition wants below zero; or at it, where it is not strict."""
    if not isinstance(part, Call) or len(part.args) != 2:  # noqa: PLR2004
        return []
    one, other = part.args
    if part.function == "equal":
        lines = [_between(one, other, times), _between(other, one, times)]
        return [(line, False) for line in lines if line is not None]
    if part.function not in _STRICT:
        return []
    strict = _STRICT[part.function]
    if part.function.startswith("greater"):
        one, other = other, one
    sizes = [one]
    if isinstance(one, Call) and one.function == "abs":
        inner = one.args[0]
        sizes = [inner, Call("negate", (inner,), inner.type)]
    lines = [_between(each, other, times) for each in sizes]
    return [(line, strict) for line in lines if line is not None]


def _between(one: Expression, other: Expression, times: Mapping[str, Line]) -> Line | None:
    return _sum(_line(one, times), _line(other, times), -1)


def _line(value: Expression, times: Mapping[str, Line]) -> Line | None:
    def line(part: Expression, lines: list[Line | None]) -> Line | None:
        match part:
            case Column(name=name) if _is_exact(part.type):
                return times.get(name)
            case Literal(value=int() as number) if not isinstance(number, bool):
                return (0, 0, number) if _is_exact(part.type) else None
            case Cast(value=inner) if pa.types.is_integer(part.type):
                return lines[0] if pa.types.is_integer(inner.type) else None
            case Call(function="negate"):
                return _sum((0, 0, 0), lines[0], -1)
            case Call(function=function) if function in _SIGNS:
                return _sum(lines[0], lines[1], _SIGNS[function])
        return None

    found: Line | None = value.fold(line)
    return found


def _is_exact(kind: pa.DataType) -> bool:
    """Whether values are counted in the ticks of time: integers, and microseconds."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return bool(kind.unit == "us")
    return bool(pa.types.is_integer(kind))


def _sum(one: Line | None, other: Line | None, sign: int) -> Line | None:
    if one is None or other is None:
        return None
    return (one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2])
