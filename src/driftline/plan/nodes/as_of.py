"""The plan node of as-of joins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.plan.conditions import conjuncts, together
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Call, Column, Expression
from driftline.plan.nodes.answers import KeepsRows, OfSnapshots, WithoutTimes
from driftline.plan.nodes.base import Keys, Places, Remarks
from driftline.plan.nodes.join import Join
from driftline.plan.nodes.keyed import Latest
from driftline.plan.nodes.rowwise import Alias, Project, Rowwise
from driftline.plan.nodes.two_inputs import TwoInputs
from driftline.plan.types import BIGINT, is_integer, is_timestamp

if TYPE_CHECKING:
    from driftline.plan.facts import Facts
    from driftline.plan.nodes.base import Node
    from driftline.plan.types import Schema

_TURNED = {"greater_equal": "less_equal", "greater": "less"}
_AFTER = {**{one: one for one in _TURNED}, **{other: one for one, other in _TURNED.items()}}


@dataclass(frozen=True)
class AsOf(KeepsRows, OfSnapshots, WithoutTimes, TwoInputs):
    """For each row of the left the latest row of the right with equal keys (`condition`); see the
    reference's `as_of_join`. `match` is an inequality of their times."""

    how: Literal["inner", "left"]
    condition: Expression | None
    match: Expression

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairs.parts[1]:
            raise PlanError(
                "an as-of join compares its keys with =, and one time of each side with >= or >"
            )
        for time in self.times_of[:2]:
            if not is_integer(time.type) and not is_timestamp(time.type):
                raise PlanError(f"{time} is not a time: an as-of join needs TIMESTAMPs or integers")

    @cached_property
    def pairs(self) -> Join:
        """The join by the keys alone. A row of the left is in the shard of its key."""
        return Join(self.left, self.right, "left", self.condition)

    @cached_property
    def times_of(self) -> tuple[Expression, Expression, bool]:
        """The times of the left and of the right, and whether that of the right has to be less."""
        names, width = self.pairs.both.names, len(self.left.schema)
        own, others = frozenset(names[:width]), frozenset(names[width:])
        if isinstance(self.match, Call) and self.match.function in _AFTER:
            one, other = self.match.args
            function = self.match.function
            if function not in _TURNED:
                one, other, function = other, one, _AFTER[function]
            if frozenset() < one.columns() <= own and frozenset() < other.columns() <= others:
                return one, other, function == "greater"
        raise PlanError(
            f"an as-of join is by a time of the left that is >= or > one of the right, which "
            f"{self.match} is not"
        )

    @property
    def schema(self) -> Schema:
        return self.pairs.both

    def label(self) -> str:
        on = f" on {self.condition}" if self.condition is not None else ""
        return f"{'left ' if self.how == 'left' else ''}as-of join by {self.match}{on}"

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return self.pairs.origin(place, side)

    def reads(self, wanted: Places) -> tuple[Places, ...]:
        columns, width = self.match.columns(), len(self.left.schema)
        places = {
            place
            for place, name in enumerate(self.schema.names)
            if name in columns or place >= width  # of equal times the whole row decides
        }
        return self.pairs.reads(wanted | places)

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return self.pairs.required_keys

    def partitioned_by(self, keys: Keys) -> tuple[Keys, ...] | None:
        return self.pairs.partitioned_by(keys)

    def reaches(self, key: Expression) -> bool:
        return False

    def is_by_time(self, facts: Facts, *, forward: bool = False) -> bool:
        """Whether rows are only added, and never end, and their times are those of the streams, or
        with `forward` these as negative numbers."""
        names, width = self.schema.names, len(self.left.schema)
        own = (names[:width], names[width:])
        for given, value, columns in zip(self.inputs, self.times_of[:2], own, strict=True):
            time = _positive(value) if forward else value
            if not isinstance(time, Column):
                return False
            if facts.after_vs(given, columns.index(time.name)) != 0:
                return False
        return all(facts.only_grows(each) and facts.never_ends(each) for each in self.inputs)

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        pairs = [f"{one} = {other}" for one, other in self.pairs.parts[0]]
        settled = ""
        if self.is_by_time(facts):
            settled = "; of plain records, rows before it but the last of each key on the right"
        elif self.is_by_time(facts, forward=True):
            settled = "; of plain records, rows of the right before it, and those that they match"
        return Remarks(
            "the parts in which a row of the left has its match",
            ", ".join(pairs) or "none: one sequence",
            "the rows of both sides, by key in order of their time",
            f"rows that ended before it{settled}",
        )


def as_of(
    left: Node, right: Node, how: Literal["inner", "left"], condition: Expression | None
) -> AsOf:
    """An as-of join by a condition that holds the inequality, too. A row of the left may have been
    there before the latest row of the right: of a stream with a key all rows take part."""
    right = versions(right)
    below = right
    while isinstance(below, Rowwise):
        below = below.input
    if isinstance(below, Latest):
        raise PlanError(
            "an as-of join finds the row of its time, and these are only the latest rows of each "
            "key: join the stream itself, with the condition in WHERE"
        )
    parts = conjuncts(condition)
    found = [each for each in parts if isinstance(each, Call) and each.function in _AFTER]
    if len(found) != 1:
        raise PlanError(
            "an as-of join needs one inequality of times, as l.ts >= r.ts, besides the equal keys"
        )
    keys = together([each for each in parts if each is not found[0]])
    return AsOf(left, right, how, keys, _backwards(left, right, found[0]))


def versions(plan: Node) -> Node:
    """All rows of a stream with a primary key, and not only the latest; other rows as they are."""
    if isinstance(plan, Latest):
        return plan.input
    if isinstance(plan, (Alias, Project)):
        return plan.with_inputs([versions(plan.input)])
    return plan


def _backwards(left: Node, right: Node, match: Call) -> Call:
    """An inequality that asks for the next row of the right, as l.ts <= r.ts does, as one that asks
    for the latest: time runs backwards in negative numbers."""
    one, _ = match.args
    own = frozenset(Join(left, right, "left", None).both.names[: len(left.schema)])
    if (match.function in _TURNED) == (one.columns() <= own):
        return match
    function = _TURNED.get(match.function) or _AFTER[match.function]
    return Call(function, tuple(_negative(each) for each in match.args), match.type)


def _negative(time: Expression) -> Expression:
    if is_timestamp(time.type):
        time = Call("unix_micros", (time,), BIGINT)
    return Call("negate", (time,), time.type) if is_integer(time.type) else time


def _positive(time: Expression) -> Expression | None:
    """The time that is negative here; None if it is not."""
    if not isinstance(time, Call) or time.function != "negate":
        return None
    (value,) = time.args
    is_micros = isinstance(value, Call) and value.function == "unix_micros"
    return value.args[0] if isinstance(value, Call) and is_micros else value
