"""How long a row can find partners in a join, by the bounds on time in its condition.

    span of the left: a row that starts at vs matches only rows of the right that start before
    vs + span; the span of the right likewise. INFINITY: the condition has no bound.

A condition that compares the time columns of plain records has a bound (`l.ts BETWEEN r.ts -
INTERVAL 5 SECONDS AND r.ts`), and so do equal windows (`l.window_end = r.window_end`), of plain
records and of what is grouped by them. When the other side's cti has passed vs + span, an inner
join needs the row no more, although its lifetime goes on.

    span of both: when both sides' ctis have passed vs + span, neither the row nor any that it
    matches changes or finds another partner

That is what other joins go by, which have to know what was matched.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from driftline.model.time import INFINITY
from driftline.plan.conditions import Line, conjuncts, line, total
from driftline.plan.expressions import Call, Expression
from driftline.plan.facts import Delays, Facts, later

if TYPE_CHECKING:
    from driftline.plan.nodes import Join


class Spans(NamedTuple):
    """How long after its vs a row of the left and of the right can match, and of both."""

    left: int = INFINITY
    right: int = INFINITY
    both: int = INFINITY


_STRICT = {"less": True, "less_equal": False, "greater": True, "greater_equal": False}


def spans(
    node: Join,
    inserts_only: Collection[str],
    known: Mapping[str, Delays],
    *,
    closing: bool = True,
) -> Spans:
    """The spans of the condition of a join. `inserts_only`: the sources of plain records; `known`:
    which columns of leaves close; `closing`: whether the output for a group becomes final (see
    `plan.closing`)."""
    return spans_of(node, Facts(inserts_only, known), closing=closing)


def spans_of(node: Join, facts: Facts, *, closing: bool) -> Spans:
    """The spans of the condition of a join, given what is known of its inputs."""
    left = right = both = INFINITY
    if all(map(facts.only_grows, node.inputs)):
        left, right = _by_times(node, facts)
        if INFINITY not in (left, right):
            both = max(left + right, left, right)
    if closing:
        for (_, one), (_, other) in node.closing_pairs(facts):
            left = min(left, one.reach + other.delay)
            right = min(right, other.reach + one.delay)
            whole = later(one, other)
            both = min(both, whole.reach + whole.delay)
    return Spans(left, right, both)


def _by_times(node: Join, facts: Facts) -> tuple[int, int]:
    width = len(node.left.schema)
    times: dict[str, Line] = {}
    for place, name in enumerate(node.both.names):
        if place < width:
            if (after := facts.after_vs(node.left, place)) is not None:
                times[name] = (1, 0, after)
        elif (after := facts.after_vs(node.right, place - width)) is not None:
            times[name] = (0, 1, after)
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
    return total(line(one, times), line(other, times), -1)
