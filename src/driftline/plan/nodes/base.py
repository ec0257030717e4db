"""What every plan node is, and the questions that each has to answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from driftline.plan.depth import room
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Cast, Column, Expression

if TYPE_CHECKING:
    from driftline.plan.facts import Delays, Facts, Times
    from driftline.plan.native import Native
    from driftline.plan.nodes.sources import Source
    from driftline.plan.types import Schema

DEEPEST = 1000
"""How many operators may stand one on another."""
CALLS = 8 * DEEPEST
"""Python's calls, at most, to go down a plan: what does that has room for so many."""
_KNOWN_AT_ONCE = ("schema", "timestamps", "is_loose")
"""What a node asks its inputs when it is made. Asked later, it would be asked all the way down."""

SETTLED = "$settled"
"""A column with the start of the last row that could change a row; null: it is not there yet."""
Keys = tuple[Expression, ...]
"""What rows are partitioned by, over the columns of a node; (): all are in one shard;
`EVERY_SHARD`: each is in all of them."""
Places = frozenset[int]
"""Columns, by place."""
Part = Literal["stretches", "starts", "ends"]
"""What there is to know of the lifetimes of a row; see `Coalesce`."""


@dataclass(frozen=True, eq=False)
class EveryShard(Expression):
    """The key of rows that are copied to every shard: it has no value."""

    def own(self) -> tuple[Any, ...]:
        return ()

    def written(self, texts: list[str]) -> str:
        return "every shard"


EVERY_SHARD: Keys = (EveryShard(),)


@dataclass(frozen=True)
class Named:
    """A column of a result: its name, and what it is computed from."""

    name: str
    value: Expression

    def __str__(self) -> str:
        text = self.value.sql()
        return text if text == self.name else f"{text} AS {self.name}"


@dataclass(frozen=True)
class OrderItem:
    """One item of an ORDER BY; nulls come first when ascending and last when descending."""

    value: Expression
    descending: bool = False
    nulls_first: bool | None = None

    def __str__(self) -> str:
        nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[self.nulls_first]
        return f"{self.value.sql()}{' DESC' if self.descending else ''}{nulls}"


@dataclass(frozen=True)
class Remarks:
    """How explain describes an operator besides its label: which lifetimes its rows have, by what
    it groups, what state it keeps, what of it a cti evicts, and when its rows are final."""

    lifetimes: str = ""
    keys: str = ""
    state: str = ""
    evicted: str = ""
    final: str = ""

    def lines(self) -> list[str]:
        parts = [
            ("keys", self.keys),
            ("lifetimes", self.lifetimes),
            ("state", self.state),
            ("the watermark drops", self.evicted),
            ("final", self.final),
        ]
        return [f"{name}: {text}" for name, text in parts if text]


@dataclass(frozen=True)
class Node(ABC):
    """The base of all plan nodes.

    What is abstract has no answer that would be right for every node: a class that leaves one out
    cannot be made. The rest follows from these answers, or is a preference without which the
    answer is as right."""

    def __post_init__(self) -> None:
        depth = 1 + max((each.__dict__["_depth"] for each in self.inputs), default=0)
        if depth > DEEPEST:
            raise PlanError(
                f"the query is more than {DEEPEST} operators deep: write part of its results to "
                "an output, and read that in another query"
            )
        self.__dict__["_depth"] = depth
        self._ask_inputs()

    # What it is

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns of the rows."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one is made from. An edge back is none of them: it is a node without
        inputs that names the one it leads to, so that every way down ends."""

    @abstractmethod
    def label(self) -> str:
        """The node in one line."""

    @cached_property
    def timestamps(self) -> bool:
        """Whether time ticks in microseconds since 1970, rather than in units of its own."""
        return self.inputs[0].timestamps

    # Lifetimes

    @property
    @abstractmethod
    def is_loose(self) -> bool:
        """Whether it is left open in how many pieces a row is emitted, so that only its snapshots
        have a meaning (see `driftline.plan.lifetimes`)."""

    @property
    @abstractmethod
    def goes_by(self) -> Part | None:
        """What it goes by of the lifetimes of its inputs: where these are loose they are coalesced
        before. None: by snapshots, or it leaves lifetimes as they are."""

    @abstractmethod
    def only_grows(self, facts: Facts) -> bool:
        """Whether nothing is ever retracted of its output."""

    @abstractmethod
    def never_ends(self, facts: Facts) -> bool:
        """Whether its rows never end."""

    @abstractmethod
    def is_table(self, facts: Facts) -> bool:
        """Whether all of its rows have always been there."""

    # Columns

    @abstractmethod
    def origin(self, place: int, side: int = 0) -> Expression | None:
        """Where a column comes from: the value over the columns of an input such that all rows of
        the output with a value in the column depend only on the rows of the input that have it
        there. None: there is none."""

    @abstractmethod
    def reads(self, wanted: Places) -> tuple[Places, ...]:
        """The columns of each input that are read if these of the output are wanted."""

    @abstractmethod
    def closes(self, facts: Facts) -> Delays:
        """The columns that close (see `driftline.plan.closing`)."""

    @abstractmethod
    def after_vs(self, place: int, facts: Facts) -> int | None:
        """How much later than its vs the time in a column of a row is (than the start of a stretch,
        where the node is loose); None if that is not known."""

    @abstractmethod
    def times(self, place: int, facts: Facts) -> Times | None:
        """What times a column has (see `driftline.plan.finals`); None if none that bound when its
        rows start."""

    def with_settled(self, facts: Facts) -> Node | None:
        """The node with a column more, `SETTLED`, that says from when on rows change a row of it no
        more; None if that is not known."""
        return None

    # Partitions

    @property
    @abstractmethod
    def required_keys(self) -> tuple[Keys, ...] | None:
        """By what each input has to be partitioned, so that rows that meet are in one shard: by
        these, or by some of them. None: no rows meet, and any partition will do."""

    @property
    def natural_keys(self) -> Keys | None:
        """Columns by which its rows are partitioned if an aggregate below goes by its own keys;
        None if there are none."""
        return None

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        """By what each input has to be partitioned for the output to be by these keys; None if
        that cannot be."""
        found = []
        for side in range(len(self.inputs)):
            below = self.below(keys, side)
            if below is None:
                return None
            found.append(below)
        return tuple(found)

    def partitioned_with_copies(self, keys: Keys) -> tuple[Keys, ...] | None:
        """As `partitioned_by`, if an input may also be copied to every shard."""
        return self.partitioned_by(keys)

    def reaches(self, key: Expression) -> bool:
        """Whether the output can be partitioned by a key without an exchange above it."""
        below = self.partitioned_by((key,))
        if below is None:
            return False
        if self.required_keys is not None:
            return True
        return all(each.reaches(key) for each, (key,) in zip(self.inputs, below, strict=True))

    def keys_within_reach(self) -> tuple[Keys, ...]:
        """Those of its required keys by which its inputs can be partitioned without an exchange:
        rows that are together by all of its keys are together by some."""
        required = self.required_keys or ()
        free = [
            each
            for each in zip(*required, strict=True)
            if all(given.reaches(key) for given, key in zip(self.inputs, each, strict=True))
        ]
        return tuple(zip(*free, strict=True)) if free else required

    def below(self, keys: Keys, side: int = 0) -> Keys | None:
        """Keys with every column replaced by where it comes from; None if one is not known."""
        places = self.schema.places
        values: dict[str, Expression] = {}
        for name in {name for key in keys for name in key.columns()}:
            value = self.origin(places[name], side) if name in places else None
            if value is None:
                return None
            values[name] = value

        def change(part: Expression) -> Expression:
            return values[part.name] if isinstance(part, Column) else part

        return tuple(unqualified(key.transform(change)) for key in keys)

    # Running

    @property
    @abstractmethod
    def is_stateless(self) -> bool:
        """Whether its operator keeps no rows: each change is answered by itself."""

    @property
    @abstractmethod
    def wants_order(self) -> bool:
        """Whether its operator does less work if its inputs come in order: rows then wait for the
        heartbeats of all of these (see `heartbeat`)."""

    @property
    @abstractmethod
    def native(self) -> Native | None:
        """What Spark does instead, if it can run the node itself on the rows of a DataFrame."""

    @abstractmethod
    def remarks(self, emit: str, facts: Facts) -> Remarks:
        """How explain describes it."""

    # Walking

    def with_inputs(self, inputs: Sequence[Node]) -> Node:
        """The node over other inputs."""
        names = [each.name for each in fields(self) if isinstance(getattr(self, each.name), Node)]
        return replace(self, **dict(zip(names, inputs, strict=True)))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, each once, from the top."""
        seen: set[int] = set()
        waiting: deque[Node] = deque([self])
        while waiting:
            node = waiting.popleft()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                waiting += node.inputs

    def from_below(self) -> list[Node]:
        """This node and all below it, each once, after all of its inputs."""
        found: dict[int, Node] = {}
        waiting: list[tuple[Node, bool]] = [(self, False)]
        while waiting:
            node, ready = waiting.pop()
            if ready:
                found.setdefault(id(node), node)
            elif id(node) not in found:
                waiting.append((node, True))
                waiting += ((each, False) for each in reversed(node.inputs))
        return list(found.values())

    def sources(self) -> dict[str, Source]:
        """The streams that the plan reads, by name."""
        from driftline.plan.nodes.sources import Source

        found: dict[str, Source] = {}
        for node in self.walk():
            if isinstance(node, Source) and found.setdefault(node.name, node) != node:
                raise PlanError(f"the stream {node.name} is used with two definitions")
        return found

    def inside(self) -> list[str]:
        """What is drawn of it besides its inputs: of a loop its rules."""
        return []

    @room(CALLS)
    def tree(self) -> str:
        """The plan, drawn."""
        drawn: dict[int, list[str]] = {}
        for node in self.from_below():
            drawn[id(node)] = node.drawn([], [drawn[id(each)] for each in node.inputs])
        return "\n".join(drawn[id(self)])

    def drawn(self, remarks: Sequence[str], inputs: Sequence[Sequence[str]]) -> list[str]:
        """The node with remarks over its inputs, of which each is drawn already."""
        bar = "│ " if inputs else "  "
        lines = [self.label(), *(f"{bar}  {line}" for line in (*remarks, *self.inside()))]
        for number, child in enumerate(inputs):
            last = number == len(inputs) - 1
            for place, line in enumerate(child):
                edge = ("└─ " if last else "├─ ") if place == 0 else ("   " if last else "│  ")
                lines.append(edge + line)
        return lines

    def _ask_inputs(self) -> None:
        for name in _KNOWN_AT_ONCE:
            getattr(self, name)

    def __getstate__(self) -> dict[str, object]:
        kept = ("_depth", *(each.name for each in fields(self)))  # the rest is found again
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._ask_inputs()


def columns_of(schema: Schema) -> Keys:
    """Every column of a schema, as a value."""
    return tuple(Column(name, item.type) for name, item in zip(schema.names, schema, strict=True))


def column_at(schema: Schema, place: int) -> Column | None:
    """The column at a place of a schema, as a value; None if it has no such place."""
    if place >= len(schema):
        return None
    return Column(schema.names[place], schema.fields[place].type)


def same_place(node: Node, place: int, side: int = 0) -> Expression | None:
    """The column at the same place of an input, with the type it has in the output."""
    column = column_at(node.inputs[side].schema, place)
    kind = node.schema.fields[place].type
    return column if column is None or column.type == kind else Cast(column, kind)


def all_places(node: Node) -> Places:
    """All columns of a node."""
    return frozenset(range(len(node.schema)))


def places_read(node: Node, values: Sequence[Expression]) -> Places:
    """The columns of a node that expressions read."""
    places = node.schema.places
    return frozenset(places[name] for value in values for name in value.columns())


def unqualified(key: Expression) -> Expression:
    """Without qualifiers, which do not change what a key is."""

    def change(part: Expression) -> Expression:
        return Column(part.name, part.type) if isinstance(part, Column) else part

    return key.transform(change)
