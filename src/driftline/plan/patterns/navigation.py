"""Expressions over the rows of a match.

Conditions (DEFINE) and measures are ordinary expressions. Where they look at rows they do so by a
`Navigation`, which finds one row, or a `MatchAggregate`, which goes over several; no column stands
outside of one. What these compute of a row is an expression over the columns of the input, in which
`Classifier` is the variable of that row.

    price                  Navigation(price)                            the current row
    A.price, LAST(A.price) Navigation(price, {A})                       the last row of A so far
    FIRST(A.price, 1)      Navigation(price, {A}, last=False, offset=1) the second row of A
    PREV(price, 2)         Navigation(price, physical=-2)               two rows before this one
    PREV(FIRST(A.price))   Navigation(price, {A}, last=False, physical=-1)
    FINAL LAST(A.price)    Navigation(price, {A}, running=False)
    sum(A.price * A.qty)   MatchAggregate(sum(price * qty), {A})
    CLASSIFIER()           Navigation(Classifier())
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.types import BIGINT, STRING, DataType

Variables = frozenset[str] | None
"""The rows of some variables; None: all rows of the match."""


@dataclass(frozen=True, eq=False)
class Classifier(Expression):
    """The variable of a row; null for one that is not in the match, or that is not seen yet."""

    @property
    def type(self) -> DataType:
        """A text."""
        return STRING

    def own(self) -> tuple[Any, ...]:
        """Nothing."""
        return ()

    def written(self, texts: list[str]) -> str:
        """As in SQL."""
        return "CLASSIFIER()"


@dataclass(frozen=True, eq=False)
class MatchNumber(Expression):
    """The number of the match in its partition, from 1."""

    @property
    def type(self) -> DataType:
        """A whole number."""
        return BIGINT

    def own(self) -> tuple[Any, ...]:
        """Nothing."""
        return ()

    def written(self, texts: list[str]) -> str:
        """As in SQL."""
        return "MATCH_NUMBER()"


@dataclass(frozen=True, eq=False)
class Navigation(Expression):
    """A value of one row: of the rows of the match that are of the variables, up to the current one
    (`running`) or all, the last or the first, `offset` of them farther inside; and from there
    `physical` rows on in the partition (negative: back). Null if there is no such row."""

    value: Expression
    variables: Variables = None
    last: bool = True
    offset: int = 0
    physical: int = 0
    running: bool = True

    @property
    def is_local(self) -> bool:
        """Whether it looks only at the current row and its neighbours, so that its value does not
        depend on the match."""
        place = (self.variables, self.last, self.offset, self.running) == (None, True, 0, True)
        return place and not any(
            isinstance(part, (Classifier, MatchNumber)) for part in self.value.walk()
        )

    @property
    def type(self) -> DataType:
        """The type of the value."""
        return self.value.type

    @property
    def children(self) -> tuple[Expression, ...]:
        """The value."""
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same row, and another value of it."""
        return replace(self, value=children[0])

    def own(self) -> tuple[Any, ...]:
        """Which row."""
        return self.variables, self.last, self.offset, self.physical, self.running

    def written(self, texts: list[str]) -> str:
        """As in SQL, where that is not the current row; the variables are named after it."""
        text = texts[0]
        if self.variables is not None:
            if isinstance(self.value, Column) and len(self.variables) == 1:
                text = f"{next(iter(self.variables))}.{text}"
            else:
                text += f" OF {_listed(self.variables)}"
        if not self.last or self.offset or not self.running:
            offset = f", {self.offset}" if self.offset else ""
            final = "" if self.running else "FINAL "
            text = f"{final}{'LAST' if self.last else 'FIRST'}({text}{offset})"
        if self.physical:
            distance = f", {abs(self.physical)}" if abs(self.physical) > 1 else ""
            text = f"{'PREV' if self.physical < 0 else 'NEXT'}({text}{distance})"
        return text


@dataclass(frozen=True, eq=False)
class MatchAggregate(Expression):
    """An aggregate over the rows of the match that are of the variables, up to the current one
    (`running`) or all."""

    call: AggregateCall
    variables: Variables = None
    running: bool = True

    @property
    def type(self) -> DataType:
        """The type of the aggregate."""
        return self.call.type

    @property
    def children(self) -> tuple[Expression, ...]:
        """What it computes of each row: its arguments and its filter."""
        return self.call.children

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same aggregate of other arguments."""
        call = self.call.with_children(children)
        assert isinstance(call, AggregateCall)
        return replace(self, call=call)

    def own(self) -> tuple[Any, ...]:
        """The aggregate, and of which rows."""
        return (*self.call.own(), self.variables, self.running)

    def written(self, texts: list[str]) -> str:
        """The aggregate, with the variables after it."""
        final = "" if self.running else "FINAL "
        of = "" if self.variables is None else f" OF {_listed(self.variables)}"
        return f"{final}{self.call.written(texts)}{of}"


def _listed(variables: frozenset[str]) -> str:
    return " or ".join(sorted(variables))
