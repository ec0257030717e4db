"""Values that only get better from round to round of a loop: min and max of a recursive name.

A min can only fall when rows are added, and a max can only rise. A row of a round is then not there
in every later one, but a row at least as good is: one with the same values where these are fixed,
and with values that are no worse where a min or max has made them. All nodes of a loop have to keep
it so, or its rounds would have no fixed point to come to:

    an expression        must rise, or fall, with every such value that it is computed from
    a condition          must not become false when such a value gets better
    a key, a partner     is found by fixed values alone
    min, max             of what is fixed, and of what falls, or rises

and no such value may go round without a min or max: the worse ones, which have gone, would follow
each other around a circle for ever. (A null counts as the worst value: there is none yet.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import cast

from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Call, Case, Cast, Column, Expression, Literal
from driftline.plan.types import is_datetime, is_numeric

FALLS, FIXED, RISES = -1, 0, 1
Direction = int
"""How a value changes from round to round."""

SELECTS = {"min": FALLS, "bool_and": FALLS, "max": RISES, "bool_or": RISES}
"""The aggregates that only get better, and how."""

_RISING = {
    *("floor", "ceil", "round_floor", "round_ceil", "round", "bround"),
    *("sqrt", "cbrt", "exp", "expm1", "ln", "log10", "log2", "log1p"),
    *("date_add", "add_months", "add_interval", "add_months_interval"),
    *("unix_micros", "unix_seconds", "timestamp_micros", "timestamp_seconds"),
}
"""Functions that rise with their first argument, and need the others to be fixed."""
_FALLING = {"date_sub", "subtract_interval", "subtract_months_interval"}
_SUMS = {"add", "try_add", "least", "greatest", "and", "or"}
_DIFFERENCES = {"subtract", "try_subtract", "subtract_dates", "subtract_timestamps"}
_MORE, _LESS = {"greater", "greater_equal"}, {"less", "less_equal"}
_PRODUCTS = {"multiply", "try_multiply", "multiply_interval"}
_QUOTIENTS = {"divide", "try_divide", "divide_interval"}


class NotRecursive(PlanError):
    """A body that cannot go round; `node` is to blame."""

    def __init__(self, message: str, node: nodes.Node) -> None:
        super().__init__(message)
        self.node = node


def only_selects(node: nodes.Aggregate) -> bool:
    """Whether the aggregates of a node only get better."""
    calls = (each.value for each in node.aggregates)
    return all(isinstance(call, AggregateCall) and call.function in SELECTS for call in calls)


class _Unknown(Exception):
    """It is not known how a value changes."""


def check_improving(rules: Sequence[nodes.Rule]) -> None:
    """An error if rules that aggregate their own names do not only get better."""
    bodies = [node for rule in rules for node in rule.body.walk()]
    if not any(isinstance(node, nodes.Aggregate) for node in bodies):
        return
    _, through = _directions(rules)
    for rule in rules:
        if rule.name in reachable(rule.name, through):
            raise NotRecursive(
                f"{rule.name} goes round without a min or max of what one has made better: the "
                "values before would go round with it for ever; aggregate all of its rows",
                rule.body,
            )


def fixed_rules(rules: Sequence[nodes.Rule]) -> set[str]:
    """The names of the rules whose rows stay from round to round, as no column gets better."""
    found, _ = _directions(rules)
    return {name for name, columns in found.items() if not any(columns)}


def _directions(
    rules: Sequence[nodes.Rule],
) -> tuple[dict[str, tuple[Direction, ...]], dict[str, frozenset[str]]]:
    """By the name of a rule, how its columns change, and the rules whose rows come there as they
    are, and get better."""
    found = {rule.name: (FIXED,) * len(rule.columns) for rule in rules}
    while True:
        before, through = dict(found), dict[str, frozenset[str]]()
        for rule in rules:
            body = _Body(found)
            shown = body.of(rule.body)
            found[rule.name] = body.combined(shown.columns, found[rule.name], rule.body)
            through[rule.name] = shown.through if any(found[rule.name]) else frozenset()
        if before == found:
            return found, through


def reachable(name: str, through: Mapping[str, Set[str]]) -> set[str]:
    """The names that one leads to, by those that each leads to at once."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for each in through[waiting.pop()] - found:
            found.add(each)
            waiting.append(each)
    return found


@dataclass(frozen=True)
class _Shown:
    """How the columns of a node change; `through`: the rules whose rows come here as they are."""

    columns: tuple[Direction, ...]
    through: frozenset[str] = frozenset()


@dataclass
class _Body:
    """`rules`: how the columns of each rule change; `done`: by its id, what is known of a node."""

    rules: Mapping[str, tuple[Direction, ...]]
    done: dict[int, _Shown] = field(default_factory=dict)

    def of(self, body: nodes.Node) -> _Shown:
        for node in body.from_below():
            shown = self._node(node, [self.done[id(each)] for each in node.inputs])
            if not any(shown.columns):  # then what is there stays
                shown = _Shown(shown.columns)
            self.done[id(node)] = shown
        return self.done[id(body)]

    def _node(self, node: nodes.Node, inputs: list[_Shown]) -> _Shown:
        if isinstance(node, nodes.Back):
            return _Shown(self.rules[node.name], frozenset({node.name}))
        if not inputs:
            return _Shown((FIXED,) * len(node.schema))
        through = frozenset().union(*(each.through for each in inputs))
        if isinstance(node, nodes.Union):
            left, right = (each.columns for each in inputs)
            return _Shown(self.combined(left, right, node), through)
        known = tuple(each for shown in inputs for each in shown.columns)
        schema = node.both if isinstance(node, nodes.Join) else node.inputs[0].schema
        columns = dict(zip(schema.names, known, strict=True))
        if isinstance(node, nodes.Aggregate):
            return _Shown(_aggregated(node, columns))
        if isinstance(node, nodes.Select):
            _must_hold_on(node.predicate, columns, node)
        elif isinstance(node, nodes.Join) and node.condition is not None:
            if node.how == "inner":
                _must_hold_on(node.condition, columns, node)
            else:
                _must_be_fixed(node.condition, columns, node, f"the condition of a {node.how} join")
        elif isinstance(node, nodes.Explode):
            _must_be_fixed(node.value, columns, node, "explode")
        elif isinstance(node, nodes.Project):
            known = tuple(_direction(each.value, columns, node) for each in node.columns)
        width = len(node.schema)
        return _Shown((*known[:width], *(FIXED,) * (width - len(known))), through)

    def combined(
        self, one: Sequence[Direction], other: Sequence[Direction], node: nodes.Node
    ) -> tuple[Direction, ...]:
        """How columns change whose rows are of one kind and of another."""
        for name, first, second in zip(node.schema.names, one, other, strict=True):
            if first * second < 0:
                raise NotRecursive(f"a min and a max meet in the column {name} of a loop", node)
        return tuple(first or second for first, second in zip(one, other, strict=True))


def _aggregated(node: nodes.Aggregate, columns: Mapping[str, Direction]) -> tuple[Direction, ...]:
    for key in node.keys:
        _must_be_fixed(key.value, columns, node, "GROUP BY")
    made = []
    for each in node.aggregates:
        call = cast("AggregateCall", each.value)
        if call.function not in SELECTS:
            raise NotRecursive(
                f"{call.function} of a recursive name cannot be inside its loop, min and max can: "
                "aggregate its answer",
                node,
            )
        way = SELECTS[call.function]
        if _direction(call.args[0], columns, node) not in (FIXED, way):
            raise NotRecursive(
                f"{call.brief()} inside a loop is of a value that "
                f"{'rises' if way == FALLS else 'falls'} from round to round",
                node,
            )
        if call.filter is not None:
            _must_hold_on(call.filter, columns, node)
        made.append(way)
    return (*(FIXED,) * len(node.keys), *made)


def _must_be_fixed(
    value: Expression, columns: Mapping[str, Direction], node: nodes.Node, what: str
) -> None:
    if any(columns[name] for name in value.columns()):
        raise NotRecursive(
            f"{what} cannot go by {value.brief()} inside a loop: a min or max makes it better from "
            "round to round",
            node,
        )


def _must_hold_on(
    condition: Expression, columns: Mapping[str, Direction], node: nodes.Node
) -> None:
    """A condition that holds has to hold when values get better."""
    try:
        way = condition.fold(lambda each, parts: _way(each, parts, columns))
    except _Unknown:
        way = FALLS
    if way == FALLS:
        raise NotRecursive(
            f"{_written(condition, node).brief()} inside a loop may hold in one round and no more "
            "in the next, when a min or max gets better: put it after the loop",
            node,
        )


def _written(condition: Expression, node: nodes.Node) -> Expression:
    """A condition as HAVING has it, if it is one of a group."""
    below = node.inputs[0]
    if not isinstance(below, nodes.Aggregate):
        return condition
    calls = {each.name: each.value for each in below.aggregates}
    return condition.transform(
        lambda part: calls.get(part.name, part) if isinstance(part, Column) else part
    )


def _direction(value: Expression, columns: Mapping[str, Direction], node: nodes.Node) -> Direction:
    try:
        way: Direction = value.fold(lambda each, parts: _way(each, parts, columns))
    except _Unknown:
        raise NotRecursive(
            f"{value.brief()} inside a loop need not get better when a min or max that it is "
            "computed from does: compute it after the loop",
            node,
        ) from None
    return way


def _way(value: Expression, parts: list[Direction], columns: Mapping[str, Direction]) -> Direction:
    """How a value changes, given how its parts do."""
    if isinstance(value, Column):
        return columns[value.name]
    if not any(parts):
        return FIXED
    if isinstance(value, Case):
        conditions, values = parts[:-1:2], [*parts[1:-1:2], parts[-1]]
        return _all_alike(values) if not any(conditions) else _unknown()
    if isinstance(value, Cast):
        kinds = (value.children[0].type, value.type)
        alike = all(map(is_numeric, kinds)) or all(map(is_datetime, kinds))
        return parts[0] if alike else _unknown()
    if not isinstance(value, Call):
        return _unknown()
    return _of_call(value, parts)


def _of_call(value: Call, parts: list[Direction]) -> Direction:
    name = value.function
    if name in _SUMS:
        return _all_alike(parts)
    if name in _DIFFERENCES or name in _MORE:
        return _all_alike([parts[0], -parts[1]])
    if name in _LESS:
        return _all_alike([-parts[0], parts[1]])
    if name in ("negate", "not"):
        return -parts[0]
    if name == "is_null":  # there is a value from some round on
        return FALLS
    if name in _RISING or name in _FALLING:
        way = parts[0] if name in _RISING else -parts[0]
        return way if not any(parts[1:]) else _unknown()
    if name in _PRODUCTS or (name in _QUOTIENTS and not parts[1]):
        one, other = value.args
        if not parts[1]:
            return parts[0] * _sign(other)
        return parts[1] * _sign(one) if not parts[0] else _unknown()
    return _unknown()


def _all_alike(parts: Sequence[Direction]) -> Direction:
    ways = {each for each in parts if each}
    return ways.pop() if len(ways) == 1 else _unknown() if ways else FIXED


def _sign(value: Expression) -> int:
    """1 if a value is never less than zero, -1 if it is never more."""
    if isinstance(value, Cast) and is_numeric(value.children[0].type):
        return _sign(value.children[0])
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        return 1 if value.value >= 0 else -1
    if isinstance(value, Literal) and is_numeric(value.type) and value.value is not None:
        return 1 if not str(value.value).startswith("-") else -1
    if isinstance(value, Call):
        if value.function == "negate":
            return -_sign(value.args[0])
        if value.function in ("abs", "sqrt", "exp", "length", "size"):
            return 1
        if value.function == "greatest" and any(map(_is_positive, value.args)):
            return 1
    return _unknown()


def _is_positive(value: Expression) -> bool:
    try:
        return _sign(value) > 0
    except _Unknown:
        return False


def _unknown() -> int:
    raise _Unknown
