"""Which groups a cti closes: those about a window that is over, of rows that stay.

    A column closes with a delay d: after a cti t no row changes any more whose value v in the
    column has v + d <= t. A group of such a value is then said as it will always be.

The end of a window closes with the delay 0 and its start with that of the window's size, if rows
are only ever added, never end, and are in the window by their vs: those to come start at t or
later. That is so for plain records. Windows by a column that closes are over when all values in
them have closed. A row of an event log may be retracted, and one of a window in brackets ends,
which changes an answer after its window is over: these groups stay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, equality, shifted
from driftline.plan.explode import Explode
from driftline.plan.expressions import Column, Expression
from driftline.plan.lifetimes import only_grows
from driftline.plan.over import Over


class Closes(NamedTuple):
    """A column that closes, and its delay; `reach`: no value is above its row's vs by more."""

    delay: int
    reach: int


Delays = Mapping[int, Closes]
"""The columns that close, by place."""


def closing_key(
    keys: Sequence[Expression],
    given: nodes.Node,
    inserts_only: Collection[str],
    known: Mapping[str, Delays],
) -> tuple[int, int] | None:
    """The first of some keys over an input that closes, and its delay. `inserts_only`: the sources
    of plain records; `known`: what is known of leaves."""
    for number, closes in _renamed(keys, given, inserts_only, known).items():
        return number, max(closes.delay, 0)
    return None


def delays(
    node: nodes.Node, inserts_only: Collection[str], known: Mapping[str, Delays]
) -> dict[int, Closes]:
    """The columns of an answer that close."""
    match node:
        case nodes.Leaf():
            return dict(known.get(node.name, {}))
        case nodes.WindowColumns(input=given):
            return _of_windows(node, delays(given, inserts_only, known), inserts_only)
        case (
            nodes.Select(input=given)
            | nodes.Alias(input=given)
            | nodes.Distinct(input=given)
            | Explode(input=given)
        ):
            return delays(given, inserts_only, known)
        case nodes.Project(input=given, columns=columns):
            return _renamed([each.value for each in columns], given, inserts_only, known)
        case nodes.Aggregate(input=given, keys=keys):
            return _renamed([each.value for each in keys], given, inserts_only, known)
        case nodes.Rank(input=given, partition=partition) | Over(input=given, partition=partition):
            own = {each.name for each in partition if isinstance(each, Column)}
            names = given.schema.names
            found = delays(given, inserts_only, known)
            return {place: closes for place, closes in found.items() if names[place] in own}
        case nodes.Union(left=left, right=right):
            one, other = delays(left, inserts_only, known), delays(right, inserts_only, known)
            both = one.keys() & other.keys()
            return {place: later(one[place], other[place]) for place in both}
        case nodes.Join(how="inner"):
            width, found = len(node.left.schema), {}
            for (place, closes), (match, others) in closing_pairs(node, inserts_only, known):
                found |= dict.fromkeys((place, width + match), later(closes, others))
            return found
    return {}


def later(one: Closes, other: Closes) -> Closes:
    """What holds of the values of two columns."""
    return Closes(max(one.delay, other.delay), max(one.reach, other.reach))


def closing_pairs(
    node: nodes.Join, inserts_only: Collection[str], known: Mapping[str, Delays]
) -> list[tuple[tuple[int, Closes], tuple[int, Closes]]]:
    """The columns of the left and of the right that a join wants to be equal and that both close,
    by place."""
    names = (node.left.schema + node.right.schema).names
    width = len(node.left.schema)
    left, right = names[:width], names[width:]
    here, there = (delays(each, inserts_only, known) for each in (node.left, node.right))
    found = []
    for part in conjuncts(node.condition):
        match equality(part, frozenset(left), frozenset(right)):
            case Column(name=one), Column(name=other):
                place, match = left.index(one), right.index(other)
                if place in here and match in there:
                    found.append(((place, here[place]), (match, there[match])))
    return found


def _of_windows(
    node: nodes.WindowColumns, before: dict[int, Closes], inserts_only: Collection[str]
) -> dict[int, Closes]:
    given, width = node.input, len(node.input.schema)
    if any(each.name in ("window_start", "window_end") for each in given.schema):
        return {}  # the new ones take their place
    place = None if node.time is None else given.schema.places[node.time]
    if only_grows(given, inserts_only) and _endless(given, inserts_only):
        after = 0 if place is None else after_vs(given, place, inserts_only)
        if after is not None:
            return {
                **before,
                width: Closes(node.size - after, after),
                width + 1: Closes(-after, node.size + after),
            }
    if place in before:
        delay, reach = before[place]
        return {
            **before,
            width: Closes(delay + node.size, reach),
            width + 1: Closes(delay, reach + node.size),
        }
    return before


def _renamed(
    values: Sequence[Expression],
    given: nodes.Node,
    inserts_only: Collection[str],
    known: Mapping[str, Delays],
) -> dict[int, Closes]:
    """What closes among columns computed from an input: those that it has itself, moved or not."""
    found, places = delays(given, inserts_only, known), given.schema.places
    made = {}
    for number, value in enumerate(values):
        match shifted(value):
            case (name, by) if places.get(name) in found:
                delay, reach = found[places[name]]
                made[number] = Closes(delay - by, reach + by)
    return made


def _endless(node: nodes.Node, inserts_only: Collection[str]) -> bool:
    """Whether rows never end."""
    match node:
        case nodes.Source() | nodes.Leaf():
            return node.name in inserts_only
        case (
            nodes.Alias()
            | nodes.Select()
            | nodes.Project()
            | nodes.WindowColumns()
            | Explode()
            | nodes.Union()
            | nodes.Join(how="inner")
        ):
            return all(_endless(each, inserts_only) for each in node.inputs)
    return False


def after_vs(node: nodes.Node, place: int, inserts_only: Collection[str]) -> int | None:
    """How much later than its vs the time in a column of a row is; None if that is not known. The
    column that plain records have their vs from is not later at all."""
    match node:
        case nodes.Source() | nodes.Leaf():
            own = node.name in inserts_only and node.schema.names[place] == node.time
            return 0 if own else None
        case nodes.Select(input=given) | nodes.Alias(input=given):
            return after_vs(given, place, inserts_only)
        case nodes.WindowColumns(input=given) | Explode(input=given):
            return after_vs(given, place, inserts_only) if place < len(given.schema) else None
        case nodes.Project(input=given, columns=columns):
            places = given.schema.places
            match shifted(columns[place].value):
                case (name, by) if name in places:
                    before = after_vs(given, places[name], inserts_only)
                    return None if before is None else before + by
    return None
