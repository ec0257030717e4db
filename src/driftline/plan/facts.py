"""What is known of a plan's nodes, given what is known of the streams from outside.

Each question is answered by the node itself (see `driftline.plan.nodes`), out of the answers of its
inputs: an analysis is a fold. `Facts` asks every node once, so that a plan of which parts are
shared, or of which every operator asks, is gone through in time in proportion to its size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from driftline.plan.conditions import shifted
from driftline.plan.expressions import Call, Column, Expression, FieldAccess

if TYPE_CHECKING:
    from driftline.plan.nodes import Node


class Closes(NamedTuple):
    """A column that closes, and its delay; `reach`: no value is above its row's vs by more. See
    `driftline.plan.closing`."""

    delay: int
    reach: int


Delays = Mapping[int, Closes]
"""The columns that close, by place."""


class Times(NamedTuple):
    """Times in a column: their delay, and whether they are the ends or the starts of windows. See
    `driftline.plan.finals`."""

    delay: int
    of: str = ""


START, END = "start", "end"

P = ParamSpec("P")
T = TypeVar("T")


def _once(
    ask: Callable[Concatenate[Facts, Node, P], T],
) -> Callable[Concatenate[Facts, Node, P], T]:
    """A question that a node is asked once."""
    question = ask.__name__

    def answer(facts: Facts, node: Node, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (question, id(node), *args)
        if key not in facts.done:
            facts.done[key] = (node, ask(facts, node, *args, **kwargs))
        return cast("T", facts.done[key][1])

    return answer


class Facts:
    """`inserts_only`: the sources of plain records, of which nothing is ever retracted; `closing`:
    the columns of leaves that close; `tables`: the sources whose rows have always been there.

    `done`: by question and id of a node, the node itself (which keeps its id taken) and its answer.
    """

    def __init__(
        self,
        inserts_only: Collection[str] = (),
        closing: Mapping[str, Delays] | None = None,
        tables: Collection[str] = (),
    ) -> None:
        self.inserts_only, self.closing, self.tables = inserts_only, closing or {}, tables
        self.done: dict[tuple[object, ...], tuple[Node, object]] = {}

    @_once
    def only_grows(self, node: Node) -> bool:
        """Whether nothing is ever retracted of its output."""
        return node.only_grows(self)

    @_once
    def never_ends(self, node: Node) -> bool:
        """Whether its rows never end."""
        return node.never_ends(self)

    @_once
    def is_table(self, node: Node) -> bool:
        """Whether all of its rows have always been there."""
        return node.is_table(self)

    @_once
    def closes(self, node: Node) -> Delays:
        """The columns of its output that close."""
        return node.closes(self)

    @_once
    def starts(self, node: Node) -> Delays:
        """The columns that say when its rows start, of rows that are only added and never end:
        after a cti none changes that starts before it."""
        if not (self.only_grows(node) and self.never_ends(node)):
            return {}
        found = {place: self.after_vs(node, place) for place in range(len(node.schema))}
        return {place: Closes(1 - a, a) for place, a in found.items() if a is not None}

    @_once
    def after_vs(self, node: Node, place: int) -> int | None:
        """How much later than its vs the time in a column of a row is (than the start of a stretch,
        where the node is loose); None if that is not known."""
        return node.after_vs(place, self)

    @_once
    def times(self, node: Node, place: int) -> Times | None:
        """What times a column has; None if none that say when its rows start."""
        return node.times(place, self)

    def moved(self, given: Node, value: Expression | None) -> tuple[int, int] | None:
        """The place of the column of an input that a value is, and by how much it is moved."""
        found = None if value is None else shifted(value)
        if found is None or found[0] not in given.schema.places:
            return None
        return given.schema.places[found[0]], found[1]

    def _inside(self, given: Node, value: Expression | None) -> tuple[Node, Expression] | None:
        """A value of fields of structs, over the node whose columns these were made of; None if it
        is of none, or if they were not put together from columns."""
        from driftline.plan.nodes import Rowwise

        if value is None or not any(isinstance(part, FieldAccess) for part in value.walk()):
            return None
        while isinstance(given, Rowwise):
            places = given.schema.places
            if not value.columns() <= places.keys():
                return None
            origins = {name: given.origin(places[name]) for name in value.columns()}
            if any(origin is None for origin in origins.values()):
                return None
            known = {name: origin for name, origin in origins.items() if origin is not None}
            value = value.transform(
                lambda part, known=known: (  # type: ignore[misc]
                    known[part.name] if isinstance(part, Column) else _field_of(part)
                )
            )
            given = given.input
            if not any(isinstance(part, FieldAccess) for part in value.walk()):
                return given, value
        return None

    def value_closes(self, given: Node, value: Expression | None) -> Closes | None:
        """How a value over an input closes, if it does: a column that closes, moved or not."""
        inside = self._inside(given, value)
        if inside is not None:
            return self.value_closes(*inside)
        closing = {**self.starts(given), **self.closes(given)}
        found = self.moved(given, value) if closing else None
        if found is None or found[0] not in closing:
            return None
        delay, reach = closing[found[0]]
        return Closes(delay - found[1], reach + found[1])

    def value_after_vs(self, given: Node, value: Expression | None) -> int | None:
        """How much later than its vs a time is that is computed from a row of an input."""
        inside = self._inside(given, value)
        if inside is not None:
            return self.value_after_vs(*inside)
        found = self.moved(given, value)
        before = None if found is None else self.after_vs(given, found[0])
        return None if found is None or before is None else before + found[1]

    def value_times(self, given: Node, value: Expression | None) -> Times | None:
        """What times a value over an input has."""
        inside = self._inside(given, value)
        if inside is not None:
            return self.value_times(*inside)
        found = self.moved(given, value)
        if found is not None:
            times = self.times(given, found[0])
            return None if times is None else Times(times.delay - found[1], times.of)
        if isinstance(value, Call) and value.function == "coalesce":
            return latest([self.value_times(given, each) for each in value.args])
        return None


def _field_of(part: Expression) -> Expression:
    """A field of a struct that is put together is what it was put together from."""
    if isinstance(part, FieldAccess) and isinstance(part.value, Call):
        made = part.value
        if made.function == "named_struct":
            return made.args[2 * part.index + 1]
    return part


def later(one: Closes, other: Closes) -> Closes:
    """What holds of the values of two columns that close."""
    return Closes(max(one.delay, other.delay), max(one.reach, other.reach))


def latest(found: list[Times | None]) -> Times | None:
    """What holds of the times of all of several columns."""
    known = [each for each in found if each is not None]
    if len(known) < len(found) or len({each.of for each in known}) > 1:
        return None
    return max(known, default=None)
