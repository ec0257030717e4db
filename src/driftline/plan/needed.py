"""Which columns a plan reads of what comes into it.

    A column that nothing above a leaf reads can be left out: a bag of rows without it is what the
    operators see of the bag of rows with it.

Operators that compare whole rows (distinct, set operators, rank, over, coalesce) read all of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from driftline.plan import nodes
from driftline.plan.explode import Explode
from driftline.plan.expressions import AggregateCall, Expression

Places = frozenset[int]


def needed(plan: nodes.Node) -> dict[str, Places]:
    """By the name of a leaf, the places of the columns that are read. All of the result is read."""
    found: dict[str, Places] = {}
    _read(plan, _all(plan), found)
    return found


def _all(node: nodes.Node) -> Places:
    return frozenset(range(len(node.schema)))


def _places(node: nodes.Node, values: Iterable[Expression]) -> Places:
    """Where the columns that expressions read are in a node."""
    names = node.schema.places
    return frozenset(names[name] for value in values for name in value.columns())


def _read(node: nodes.Node, wanted: Places, found: dict[str, Places]) -> None:
    """Add what is read if these columns of a node are wanted."""
    match node:
        case nodes.Leaf():
            found[node.name] = found.get(node.name, frozenset()) | wanted
        case nodes.Alias() | nodes.Window():
            _read(node.input, wanted, found)
        case nodes.Select():
            _read(node.input, wanted | _places(node.input, [node.predicate]), found)
        case nodes.Project():
            values = [node.columns[place].value for place in wanted]
            _read(node.input, _places(node.input, values), found)
        case nodes.WindowColumns():
            width = len(node.input.schema)
            by = _time(node)
            _read(node.input, frozenset(place for place in wanted if place < width) | by, found)
        case Explode():
            width = len(node.input.schema)
            by = _places(node.input, [node.value])
            _read(node.input, frozenset(place for place in wanted if place < width) | by, found)
        case nodes.Join():
            _join(node, wanted, found)
        case nodes.Union():
            for side in node.inputs:
                _read(side, wanted, found)
        case nodes.Aggregate():
            values = [key.value for key in node.keys]
            for each in node.aggregates:
                if isinstance(each.value, AggregateCall):
                    values += [each.value]
            _read(node.input, _places(node.input, values), found)
        case _:
            for child in node.inputs:
                _read(child, _all(child), found)


def _time(node: nodes.WindowColumns) -> Places:
    if node.time is None:
        return frozenset()
    return frozenset({node.input.schema.places[node.time]})


def _join(node: nodes.Join, wanted: Places, found: dict[str, Places]) -> None:
    both = (node.left.schema + node.right.schema).names
    width = len(node.left.schema)
    if node.condition is not None:
        columns = node.condition.columns()
        wanted |= frozenset(place for place, name in enumerate(both) if name in columns)
    _read(node.left, frozenset(place for place in wanted if place < width), found)
    _read(node.right, frozenset(place - width for place in wanted if place >= width), found)
