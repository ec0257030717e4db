"""Logical plans: what a query means, as a graph of operators over streams.

A node says what its rows are (`schema`) and what it is made from (`inputs`); it knows nothing of
batches or state. The meaning of every node is that of its reference operator. Plans are values:
two that are equal mean the same.

>>> trades = Source("trades", Schema.of({"symbol": "STRING", "qty": "INT"}))
>>> big = Select(trades, parse_expression("qty > 100", trades.schema))
>>> print(big.tree())
select (qty > 100)
└─ source trades (symbol STRING, qty INT)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from driftline.plan.depth import make_room
from driftline.plan.durations import span
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Expression
from driftline.plan.resolver import parse_expression
from driftline.plan.timing import NOTHING_KNOWN, Timing
from driftline.plan.types import BIGINT, INT, TIMESTAMP, Field, Schema, is_timestamp, type_name

__all__ = [
    "Aggregate",
    "Alias",
    "Coalesce",
    "Constant",
    "Distinct",
    "Final",
    "Join",
    "Leaf",
    "Named",
    "Node",
    "OrderItem",
    "Project",
    "Rank",
    "Select",
    "SetOperation",
    "Source",
    "Union",
    "Window",
    "WindowColumns",
    "constant",
    "parse_expression",
]

DEEPEST = 1000
"""How many operators may stand one on another."""
_CALLS_A_LEVEL = 8
"""Python's calls, at most, for each of them."""

ROW = "$scalar row"
"""The column of a Constant that numbers its rows."""
FIRST_TICK = -(10**18)
FIRST_TIMESTAMP = -62_135_596_800_000_000
"""The year 1."""

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]
RankMethod = Literal["row_number", "rank", "dense_rank"]
WindowForm = Literal["sliding", "hopping", "now", "unbounded", "general"]


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
class Node:
    """The base of all plan nodes."""

    def __post_init__(self) -> None:
        depth = 1 + max((each.__dict__["_depth"] for each in self.inputs), default=0)
        if depth > DEEPEST:
            raise PlanError(
                f"the query is more than {DEEPEST} operators deep: write part of its results to "
                "an output, and read that in another query"
            )
        make_room(depth * _CALLS_A_LEVEL)
        self.__dict__["_depth"] = depth

    @cached_property
    def schema(self) -> Schema:
        """The columns of the rows."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one is made from."""
        return ()

    @cached_property
    def timestamps(self) -> bool:
        """Whether time ticks in microseconds since 1970, rather than in units of its own."""
        return self.inputs[0].timestamps

    def __getstate__(self) -> dict[str, object]:
        found_again = ("schema", "timestamps")
        return {name: kept for name, kept in self.__dict__.items() if name not in found_again}

    def label(self) -> str:
        """The node in one line."""
        raise NotImplementedError

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

    def sources(self) -> dict[str, Source]:
        """The streams that the plan reads, by name."""
        found: dict[str, Source] = {}
        for node in self.walk():
            if isinstance(node, Source) and found.setdefault(node.name, node) != node:
                raise PlanError(f"the stream {node.name} is used with two definitions")
        return found

    def tree(self) -> str:
        """The plan, drawn."""
        lines = [self.label()]
        for number, child in enumerate(self.inputs):
            last = number == len(self.inputs) - 1
            for place, line in enumerate(child.tree().split("\n")):
                edge = ("└─ " if last else "├─ ") if place == 0 else ("   " if last else "│  ")
                lines.append(edge + line)
        return "\n".join(lines)


@dataclass(frozen=True)
class Source(Node):
    """A stream. Plain records become inserts [time, ∞) by their column `time`."""

    name: str
    columns: Schema
    time: str | None = None
    ticks_are_timestamps: bool = False
    timing: Timing = NOTHING_KNOWN

    @cached_property
    def schema(self) -> Schema:
        return self.columns.qualified(self.name)

    @property
    def disorder(self) -> int | None:
        """How many ticks plain records are late at most, if that is declared."""
        return self.timing.disorder

    @cached_property
    def timestamps(self) -> bool:
        return self.ticks_are_timestamps

    def label(self) -> str:
        fields = ", ".join(f"{each.name} {type_name(each.type)}" for each in self.columns)
        time = f" by {self.time}" if self.time else ""
        return f"source {self.name}{time} ({fields})"


@dataclass(frozen=True)
class Constant(Source):
    """Rows numbered from 0 that are there for ever, and come from no stream: what VALUES and SELECT
    without FROM are computed from. Make it with `constant`."""

    count: int = 1

    @property
    def schema(self) -> Schema:
        return self.columns

    @property
    def start(self) -> int:
        """When the rows come to life: before all else."""
        return FIRST_TIMESTAMP if self.timestamps else FIRST_TICK

    def label(self) -> str:
        return "one row" if self.count == 1 else f"{self.count} rows"


def constant(count: int, timestamps: bool) -> Constant:
    """So many rows that are there for ever."""
    kind = "of timestamps" if timestamps else "of ticks"
    columns = Schema((Field(ROW, INT),))
    return Constant(f"$rows {count} {kind}", columns, None, timestamps, count=count)


@dataclass(frozen=True)
class Leaf(Node):
    """What comes into a part of a plan from outside it; see `driftline.plan.fragments`."""

    name: str
    columns: Schema
    ticks_are_timestamps: bool = False
    time: str | None = None  # the column that gives plain records their time, if it is there

    @cached_property
    def schema(self) -> Schema:
        return self.columns

    @cached_property
    def timestamps(self) -> bool:
        return self.ticks_are_timestamps

    def label(self) -> str:
        return f"from {self.name}"


@dataclass(frozen=True)
class _OneInput(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class Alias(_OneInput):
    """The input under another name."""

    name: str

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema.qualified(self.name)

    def label(self) -> str:
        return f"as {self.name}"


@dataclass(frozen=True)
class Select(_OneInput):
    """The rows for which a predicate is true."""

    predicate: Expression

    def label(self) -> str:
        return f"select {self.predicate}"


@dataclass(frozen=True)
class Project(_OneInput):
    """Other columns, computed from the input's."""

    columns: tuple[Named, ...]

    @cached_property
    def schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.value.type) for column in self.columns))

    def label(self) -> str:
        return f"project {', '.join(map(str, self.columns))}"


@dataclass(frozen=True)
class Window(_OneInput):
    """Other lifetimes; see the reference's `alter_lifetime`. Durations are in ticks."""

    form: WindowForm
    size: int = 0
    slide: int = 0
    start: Expression | None = None
    duration: Expression | None = None

    def label(self) -> str:
        size, slide = (span(each, self.timestamps) for each in (self.size, self.slide))
        match self.form:
            case "sliding":
                return f"window [RANGE {size}]"
            case "hopping":
                return f"window [RANGE {size} SLIDE {slide}]"
            case "general":
                return f"window [FROM {self.start} FOR {self.duration}]"
        return f"window [{self.form.upper()}]"


@dataclass(frozen=True)
class Coalesce(_OneInput):
    """The longest stretches of each row, or their starts or ends alone; see the reference's
    `coalesce`. `driftline.plan.lifetimes` puts it where it is needed."""

    part: Literal["stretches", "starts", "ends"] = "stretches"

    def label(self) -> str:
        return "coalesce" if self.part == "stretches" else self.part


@dataclass(frozen=True)
class WindowColumns(_OneInput):
    """TUMBLE and HOP: the windows of a row as columns; lifetimes stay."""

    slide: int
    size: int
    time: str | None = None  # a column of the input; None: vs

    @cached_property
    def schema(self) -> Schema:
        kind = TIMESTAMP if self.timestamps else BIGINT
        if self.time is not None:
            own = self.input.schema.find(self.time)[0].type
            kind = own if is_timestamp(own) else BIGINT
        return self.input.schema + Schema((Field("window_start", kind), Field("window_end", kind)))

    def label(self) -> str:
        by = f" by {self.time}" if self.time else ""
        stamps = is_timestamp(self.schema.fields[-1].type)
        return f"windows of {span(self.size, stamps)} every {span(self.slide, stamps)}{by}"


@dataclass(frozen=True)
class _TwoInputs(Node):
    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Join(_TwoInputs):
    """Pairs of rows that are alive together and fulfil a condition (None: all pairs)."""

    how: JoinKind
    condition: Expression | None

    @cached_property
    def schema(self) -> Schema:
        if self.how in ("semi", "anti"):
            return self.left.schema
        return self.left.schema + self.right.schema

    def label(self) -> str:
        on = f" on {self.condition}" if self.condition is not None else ""
        return f"{self.how} join{on}"


@dataclass(frozen=True)
class Union(_TwoInputs):
    """All lifetimes of both inputs; columns correspond by position."""

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    def label(self) -> str:
        return "union all"


@dataclass(frozen=True)
class SetOperation(_TwoInputs):
    """Intersect or minus; columns correspond by position."""

    kind: Literal["intersect", "minus"]
    distinct: bool

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema

    def label(self) -> str:
        return f"{self.kind}{'' if self.distinct else ' all'}"


@dataclass(frozen=True)
class Distinct(_OneInput):
    """At every time one copy of each row."""

    def label(self) -> str:
        return "distinct"


@dataclass(frozen=True)
class Aggregate(_OneInput):
    """One row for every group that is not empty: its keys, then its aggregates."""

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]  # each value is an AggregateCall
    definitions: tuple[tuple[str, object], ...] = field(default=(), compare=False)
    # user-defined aggregates: the object behind the name of the function

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.aggregates:
            if not isinstance(each.value, AggregateCall):
                raise PlanError(f"{each.value} is not an aggregate")

    @cached_property
    def schema(self) -> Schema:
        columns = (*self.keys, *self.aggregates)
        return Schema(tuple(Field(column.name, column.value.type) for column in columns))

    def label(self) -> str:
        by = f" by {', '.join(map(str, self.keys))}" if self.keys else ""
        return f"aggregate {', '.join(map(str, self.aggregates))}{by}"


@dataclass(frozen=True)
class Rank(_OneInput):
    """The rows of each partition with their place in an order; with a limit only the first."""

    partition: tuple[Expression, ...]
    order: tuple[OrderItem, ...]
    method: RankMethod = "row_number"
    name: str | None = "rank"  # None: the place is not a column
    limit: int | None = None

    @cached_property
    def schema(self) -> Schema:
        if self.name is None:
            return self.input.schema
        return self.input.schema + Schema((Field(self.name, INT),))

    def label(self) -> str:
        what = f"top {self.limit}" if self.limit is not None else self.method
        per = f" per {', '.join(map(str, self.partition))}" if self.partition else ""
        return f"{what}{per} by {', '.join(map(str, self.order))}"


@dataclass(frozen=True)
class Final(_OneInput):
    """What can not change any more, each row once; see the reference's `finals`. `windows`: the
    columns by which rows are answers about windows, and how long after the time in each these are
    over. `driftline.plan.finals` makes it."""

    windows: tuple[tuple[str, int], ...] = ()

    def label(self) -> str:
        if not self.windows:
            return "final"
        parts = [
            f"{name} {'+-'[delay < 0]} {span(abs(delay), self.timestamps)}" if delay else name
            for name, delay in self.windows
        ]
        return f"final by {', '.join(parts)}"
