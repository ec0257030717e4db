"""The plan node of MATCH_RECOGNIZE: the matches of a pattern in the rows of each partition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from driftline.model.patterns import PAST_LAST_ROW, Exclude, Pattern, Skip
from driftline.plan.durations import span
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column, Expression
from driftline.plan.nodes.base import SETTLED, Named, Node, OrderItem, Part, Remarks
from driftline.plan.nodes.keyed import Partitioned
from driftline.plan.types import (
    BIGINT,
    DATE,
    Field,
    Schema,
    is_integer,
    is_orderable,
    is_timestamp,
    type_name,
)

if TYPE_CHECKING:
    from driftline.plan.facts import Facts

RowsPerMatch = Literal["one", "all", "omit empty", "with unmatched"]
_WRITTEN: dict[str, str] = {
    "one": "one row",
    "all": "all rows",
    "omit empty": "all rows, no empty matches",
    "with unmatched": "all rows, with unmatched ones",
}


@dataclass(frozen=True)
class Match(Partitioned):
    """For every match one row, with the partition's columns and the measures; or every row of it,
    with the measures at that row.

    The partition is columns. The conditions have the names of variables of the pattern; one that
    has none is true of every row. Conditions and measures look at rows by `Navigation` and
    `MatchAggregate` alone (`driftline.plan.patterns.navigation`). `within` is in units of the first
    item of the order (microseconds, days, or its own). `settled`: the
    output has a column more, `SETTLED`, with the time from which on rows change it no more."""

    order: tuple[OrderItem, ...]
    pattern: Pattern
    conditions: tuple[Named, ...]
    measures: tuple[Named, ...]
    rows: RowsPerMatch = "one"
    skip: Skip = PAST_LAST_ROW
    within: int | None = None
    settled: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.order:
            raise PlanError("a pattern needs an order of its rows: ORDER BY, or by=")
        for value in (*self.partition, *(item.value for item in self.order)):
            if not is_orderable(value.type):
                raise PlanError(f"values of type {type_name(value.type)} have no order: {value}")
        for value in self.partition:
            if not isinstance(value, Column):
                raise PlanError(f"a pattern is partitioned by columns: compute {value} before")
        if not self.places:
            raise PlanError(
                "a match gives no column: it needs a measure or a partition, such as MEASURES "
                "count(*) AS n"
            )
        self._check_names()
        self._check_within()
        excludes = any(isinstance(part, Exclude) for part in self.pattern.walk())
        if excludes and self.rows == "with unmatched":
            raise PlanError("{- -} leaves rows out: WITH UNMATCHED ROWS does not go with it")
        if self.skip.to == "first" and self.pattern.starts() <= self.skip.variables:
            raise PlanError(
                f"AFTER MATCH SKIP {self.skip} is where each match begins, so the search would not "
                "go on: use SKIP TO NEXT ROW"
            )

    def _check_names(self) -> None:
        seen = {each.name.lower() for each in self._columns}
        for measure in self.measures:
            if measure.name.lower() in seen:
                raise PlanError(
                    f"two columns would have the name {measure.name}: give the measure another one"
                )
            seen.add(measure.name.lower())

    def _check_within(self) -> None:
        if self.within is None:
            return
        kind = self.order[0].value.type
        if not (is_timestamp(kind) or is_integer(kind) or kind == DATE):
            raise PlanError(
                "WITHIN goes by the first item of the order, which has to be a time or a whole "
                f"number: {self.order[0].value} is a {type_name(kind)}"
            )
        if self.within <= 0:
            raise PlanError("WITHIN takes a duration that is not 0")

    @cached_property
    def _first(self) -> tuple[int, ...]:
        """The columns that stand before the measures: those of the partition, then (if all rows are
        put out) those of the order."""
        values: list[Expression] = list(self.partition)
        if self.rows != "one":
            values += [item.value for item in self.order]
        places = self.input.schema.places
        found = (places[each.name] for each in values if isinstance(each, Column))
        return tuple(dict.fromkeys(found))

    @cached_property
    def places(self) -> tuple[int | None, ...]:
        """For every column of the output (but `SETTLED`) its place in the input; None for a
        measure."""
        if self.rows == "one":
            return (*self._first, *(None for _ in self.measures))
        rest = (place for place in range(len(self.input.schema)) if place not in self._first)
        return (*self._first, *(None for _ in self.measures), *rest)

    @property
    def _columns(self) -> tuple[Field, ...]:
        """The columns of the input that the output has."""
        fields = self.input.schema.fields
        return tuple(fields[place] for place in self.places if place is not None)

    @cached_property
    def schema(self) -> Schema:
        measures = iter(self.measures)
        fields = []
        for place in self.places:
            if place is None:
                measure = next(measures)
                fields.append(Field(measure.name, measure.value.type))
            else:
                fields.append(self.input.schema.fields[place])
        if self.settled:
            fields.append(Field(SETTLED, BIGINT))
        return Schema(tuple(fields))

    def label(self) -> str:
        per = f" per {', '.join(map(str, self.partition))}" if self.partition else ""
        by = f" by {', '.join(map(str, self.order))}"
        where = f" where {', '.join(f'{each.name}: {each.value}' for each in self.conditions)}"
        gives = f" gives {', '.join(map(str, self.measures))}" if self.measures else ""
        within = f" within {self._span()}" if self.within is not None else ""
        return (
            f"match {self.pattern}{where if self.conditions else ''}{gives}{per}{by}{within}, "
            f"{_WRITTEN[self.rows]}, SKIP {self.skip}"
        )

    def _span(self) -> str:
        assert self.within is not None
        kind = self.order[0].value.type
        return f"{self.within} d" if kind == DATE else span(self.within, is_timestamp(kind))

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        below = self.places[place] if place < len(self.places) else None
        if below is None:
            return None
        field = self.input.schema.fields[below]
        column = Column(self.input.schema.names[below], field.type)
        return column if column in self._partition_columns else None

    def goes_by_time(self, facts: Facts) -> bool:
        """Whether rows are only added, never end, and are in the order of their time: what comes
        after a cti then stands behind all that is there."""
        first = self.order[0]
        if first.descending or not isinstance(first.value, Column):
            return False
        place = self.input.schema.places[first.value.name]
        return (
            facts.only_grows(self.input)
            and facts.never_ends(self.input)
            and facts.after_vs(self.input, place) is not None
        )

    def with_settled(self, facts: Facts) -> Node | None:
        return replace(self, settled=True) if self.goes_by_time(facts) else None

    @property
    def grows(self) -> bool:
        """Whether a match can become longer without bound."""
        return self.pattern.longest() is None and self.within is None

    def remarks(self, emit: str, facts: Facts) -> Remarks:
        found = self._remarks("while a match is one", emit, facts)
        if emit != "perfect" and self.goes_by_time(facts):
            found = replace(
                found,
                state="the rows from the first attempt on that is open as of the cti",
                evicted="the rows before that, and matches that no row to come can change",
            )
        if self.grows and facts.never_ends(self.input):
            return replace(
                found,
                state=f"{found.state}; a match can grow without bound: WITHIN or a window bounds "
                "it",
            )
        return found
