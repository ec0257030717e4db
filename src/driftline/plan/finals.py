"""Asking a plan for final answers only.

A result with the end of windows of TUMBLE or HOP in a column, or else with their start, answers
about windows: a row is final when the cti has passed all of its window. Any other row is final when
its lifetime has ended. A row without an end, and without a window, is final when its streams are
closed.

What a column is depends on where it comes from, not on how it is called:

    a column has the delay d if its rows of a value v start before v + d

The end of windows by vs has the delay 0 and their start that of the size; the column that plain
records have their time from 1 (they start at v); a column that is moved by n ticks n less. Windows
by a column go on with its delay: by `ts - INTERVAL 5 HOURS` they are over five hours later. Where
rows of another value, or of a stream without one, still change an answer after that, as in a join
or a rank that does not go by the column, it has no delay: nothing is final that is not.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, equality, linear_form, shifted
from driftline.plan.errors import PlanError
from driftline.plan.explode import Explode
from driftline.plan.expressions import Call, Column, Expression
from driftline.plan.over import Over


class Times(NamedTuple):
    """Times in a column: their delay, and whether they are the ends or the starts of windows."""

    delay: int
    of: str = ""


START, END = "start", "end"


def final(
    plan: nodes.Node, plain: Collection[str] = (), tables: Collection[str] = ()
) -> nodes.Final:
    """The plan, which emits every row once, when it can not change any more. `plain`: the streams
    that are plain records, which have their vs from their time column; an event log's need not be
    the same. `tables`: the streams of which all rows have always been there."""
    tracing = _Tracing(plain, tables)
    found = {name: tracing.times(plan, place) for place, name in enumerate(plan.schema.names)}
    for part in (END, START):
        windows = [(name, t.delay) for name, t in found.items() if t is not None and t.of == part]
        if windows:
            return nodes.Final(plan, tuple(windows))
    return nodes.Final(plan)


class _Tracing:
    """Where columns come from. `done`: by the id of a node and a place, what was found."""

    def __init__(self, plain: Collection[str], tables: Collection[str]) -> None:
        self.plain, self.tables = plain, tables
        self.done: dict[tuple[int, int], Times | None] = {}
        self.partners: dict[int, dict[int, list[int]]] = {}

    def times(self, node: nodes.Node, place: int) -> Times | None:
        """What times a column of a node has; None if none that say when its rows start."""
        key = (id(node), place)
        if key not in self.done:
            self.done[key] = self._times(node, place)
        return self.done[key]

    def _times(self, node: nodes.Node, place: int) -> Times | None:
        match node:
            case nodes.Source():
                own = node.name in self.plain and node.schema.names[place] == node.time
                return Times(1) if own else None
            case nodes.WindowColumns(input=given) if place >= len(given.schema):
                delay = self._of_windows(node)
                is_start = place == len(given.schema)
                return Times(delay + node.size, START) if is_start else Times(delay, END)
            case nodes.Project(columns=columns):
                return self._computed(node.input, columns[place].value)
            case nodes.Aggregate(keys=keys):
                return self._computed(node.input, keys[place].value) if place < len(keys) else None
            case nodes.Window():
                return _moved(self.times(node.input, place), node)
            case nodes.Join():
                return self._joined(node, place)
            case nodes.Union() | nodes.SetOperation():
                return _latest([self.times(side, place) for side in node.inputs])
            case nodes.Rank(partition=partition) | Over(partition=partition):
                names = node.inputs[0].schema.names
                kept = place < len(names) and any(
                    isinstance(each, Column) and each.name == names[place] for each in partition
                )
                return self.times(node.inputs[0], place) if kept else None
            case (
                nodes.Select()
                | nodes.Alias()
                | nodes.Distinct()
                | nodes.WindowColumns()
                | Explode()
            ):
                given = node.inputs[0]
                return self.times(given, place) if place < len(given.schema) else None
        return None

    def _of_windows(self, node: nodes.WindowColumns) -> int:
        """The delay of the end of windows."""
        if node.time is None:
            return 0
        times = self.times(node.input, node.input.schema.places[node.time])
        if times is None:
            raise PlanError(
                f"windows by {node.time} have no final answers: ctis are about the time of the "
                "stream; take windows by that (of an event log it is vs: name no column)"
            )
        # Values in a window are before its end; of the ends of others, it is over when these are.
        return times.delay - (times.of != END)

    def _joined(self, node: nodes.Join, place: int) -> Times | None:
        """A pair starts when the later of its rows does: both have to be known."""
        width = len(node.left.schema)
        own, other = (node.left, node.right) if place < width else (node.right, node.left)
        times = self.times(own, place if place < width else place - width)
        if times is None or self._is_table(other):
            return times
        for match in self._partners(node).get(place, ()):
            found = self.times(other, match)
            if found is not None:
                return Times(max(times.delay, found.delay), times.of)
        return None

    def _partners(self, node: nodes.Join) -> dict[int, list[int]]:
        """By the place of a column of a join, those of the other side that have to be equal."""
        if id(node) not in self.partners:
            both, width = node.left.schema + node.right.schema, len(node.left.schema)
            left, right = frozenset(both.names[:width]), frozenset(both.names[width:])
            found: dict[int, list[int]] = {}
            for part in conjuncts(node.condition):
                match equality(part, left, right):
                    case Column(name=one), Column(name=other):
                        here, there = both.places[one], both.places[other]
                        found.setdefault(here, []).append(there - width)
                        found.setdefault(there, []).append(here)
            self.partners[id(node)] = found
        return self.partners[id(node)]

    def _is_table(self, node: nodes.Node) -> bool:
        """Whether all rows have always been there."""
        match node:
            case nodes.Source():
                return node.name in self.tables
            case nodes.Window() | nodes.WindowColumns() | nodes.Final() | nodes.Leaf():
                return False
        return all(map(self._is_table, node.inputs))

    def _computed(self, given: nodes.Node, value: Expression) -> Times | None:
        places = given.schema.places
        match shifted(value), value:
            case (name, by), _ if name in places:
                times = self.times(given, places[name])
                return None if times is None else Times(times.delay - by, times.of)
            case _, Call(function="coalesce", args=args):
                return _latest([self._computed(given, each) for each in args])
        return None


def _moved(times: Times | None, window: nodes.Window) -> Times | None:
    """Times of rows that have got other lifetimes; None if they may start at any time."""
    if times is None:
        return None
    if window.form == "hopping":
        return Times(times.delay + window.slide, times.of)
    if window.form == "general":
        form = None if window.start is None else linear_form(window.start)
        if form is None or form[:2] != (1, 0):
            return None
        return Times(times.delay + form[2], times.of)
    return times


def _latest(found: list[Times | None]) -> Times | None:
    """What holds of all of several columns."""
    known = [each for each in found if each is not None]
    if len(known) < len(found) or len({each.of for each in known}) > 1:
        return None
    return max(known, default=None)
