"""DEFINE and MEASURES: from SQL to expressions over the rows of a match.

>>> from driftline.plan.dialect import parse_sql
>>> trades = Schema.of({"price": "DOUBLE", "qty": "INT"})
>>> names = PatternNames(trades, ("A", "DOWN"))
>>> names.define_subset("U", ("A", "DOWN"))
>>> print(names.condition(parse_sql("price < PREV(price) AND DOWN.qty > A.qty"), "DOWN"))
((price < PREV(price)) AND (qty > A.qty))
>>> print(names.measure(parse_sql("FIRST(u.price, 1) - FINAL LAST(price)"), running=True))
(FIRST(price OF A or DOWN, 1) - FINAL LAST(price))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from driftline.plan.dialect import OfMatch
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import AggregateCall, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions import AGGREGATES
from driftline.plan.functions.base import cast_to
from driftline.plan.functions.collections import field
from driftline.plan.names import find_column
from driftline.plan.patterns.navigation import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    Navigation,
    Variables,
)
from driftline.plan.resolver import Resolver, resolve_by
from driftline.plan.types import BIGINT, BOOLEAN, VOID, Schema, is_integer
from driftline.plan.used import uses

_BY_PLACE = ("first", "last")
_BY_DISTANCE = ("prev", "next")
_WITH_OFFSET = 2


class PatternNames:
    """What names mean in DEFINE and MEASURES: the columns of the input, the variables of the
    pattern, and subsets, which are several variables under one name."""

    def __init__(self, schema: Schema, variables: Sequence[str]) -> None:
        self.schema = schema
        self.spelled = {name.lower(): name for name in variables}
        self.variables = {lower: frozenset([name]) for lower, name in self.spelled.items()}

    def define_subset(self, name: str, members: Sequence[str]) -> None:
        """SUBSET name = (members)."""
        if name.lower() in self.variables:
            raise ExpressionError(f"SUBSET: there is a variable or subset {name} already")
        self.variables[name.lower()] = frozenset(
            self.variable(member, f"SUBSET {name}") for member in members
        )

    def variable(self, name: str, where: str) -> str:
        """A variable of the pattern as it is spelled there."""
        if name.lower() not in self.spelled:
            raise ExpressionError(
                f"{where}: {name} is not a variable of the pattern{self._near(name)}"
            )
        return self.spelled[name.lower()]

    def of(self, name: str, where: str) -> frozenset[str]:
        """The variables that a name means."""
        if name.lower() not in self.variables:
            raise ExpressionError(
                f"{where}: {name} is not a variable of the pattern or a SUBSET{self._near(name)}"
            )
        return self.variables[name.lower()]

    def condition(self, node: exp.Expr, variable: str) -> Expression:
        """The condition of a variable."""
        value = resolve_by(_OfMatch(self, running=True, condition=True), node)
        if value.type not in (BOOLEAN, VOID):
            raise ExpressionError(
                f"DEFINE needs a condition, and {node.sql('spark')} of {variable} is none"
            )

        def at_current_row(part: Expression) -> Expression:
            """While a condition is asked about a row, that row counts as the last of the variable
            that it would be matched to: `LAST(v.x)` in the condition of v is x of this row."""
            here = isinstance(part, Navigation) and variable in (part.variables or ())
            if here and isinstance(part, Navigation) and part.last and part.offset == 0:
                return replace(part, variables=None)
            return part

        return cast_to(value, BOOLEAN).transform(at_current_row)

    def measure(self, node: exp.Expr, *, running: bool) -> Expression:
        """A measure, at the current row of a match or (ONE ROW PER MATCH) of all of it."""
        return resolve_by(_OfMatch(self, running=running, condition=False), node)

    def _near(self, name: str) -> str:
        near = get_close_matches(name.lower(), self.variables, n=1, cutoff=0.6)
        names = list(self.spelled.values())
        return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"


class _OfMatch(Resolver):
    """Columns are those of the current row, or of the last row of the variable before them."""

    def __init__(self, names: PatternNames, *, running: bool, condition: bool) -> None:
        super().__init__(names.schema)
        self.names = names
        self.running = running
        self.one_row = not running
        self.condition = condition
        self.row: list[Variables] | None = None
        """Inside a navigation or an aggregate: of which variables its columns are."""
        self.inside = ""

    # Columns

    def column(self, node: exp.Column) -> Expression:
        """`name`, `variable.name`, and fields of structs after either."""
        if isinstance(node.this, exp.Star):
            return self.star(node.this)
        written = [part.name for part in node.parts]
        variables: Variables = None
        if len(written) > 1 and written[0].lower() in self.names.variables:
            variables = self.names.variables[written.pop(0).lower()]
        value: Expression
        value, fields = find_column(self.schema, written)
        for name in fields:
            value = field(value, name)
        return self.found(value, variables)

    def found(self, value: Expression, variables: Variables) -> Expression:
        """A value of a row of some variables."""
        if self.row is None:
            return Navigation(value, variables, running=self.running)
        self.row.append(variables)
        return value

    @contextmanager
    def one_variable(self, name: str) -> Iterator[list[Variables]]:
        """What is resolved inside is a value of one row; it gives of which variables that is."""
        if self.row is not None:
            raise ExpressionError(
                f"{name} cannot be inside {self.inside}: only FIRST and LAST can be, in PREV and "
                "NEXT"
            )
        self.row, self.inside = [], name
        try:
            yield self.row
            if len(set(self.row)) > 1:
                raise ExpressionError(
                    f"the columns inside {name} have to be of one variable, or all of none: write "
                    f"{name}(A.x) + {name}(B.x)"
                )
        finally:
            self.row = None

    # Functions

    def function(self, node: exp.Anonymous) -> Expression:
        """The functions of matches, aggregates over their rows, and all others."""
        name = str(node.this).lower()
        if name == "match_number":
            self.takes(node, 0)
            return MatchNumber()
        if name == "classifier":
            return self.classifier(node)
        if name in _BY_PLACE:
            return self.by_place(node)
        if name in _BY_DISTANCE:
            return self.by_distance(node)
        if name == "count" and len(node.expressions) == 1:
            variables = self.star_of(node.expressions[0])
            if variables is not None:
                with self.one_variable("count"):
                    call = AggregateCall("count", (), BIGINT)
                return MatchAggregate(call, variables, self.running)
        return super().function(node)

    def takes(self, node: exp.Anonymous, most: int) -> None:
        """Refuse too many arguments."""
        if len(node.expressions) > most:
            raise ExpressionError(f"{str(node.this).upper()} takes at most {most} arguments")

    def classifier(self, node: exp.Anonymous) -> Expression:
        """`CLASSIFIER()`, `CLASSIFIER(variable)`."""
        self.takes(node, 1)
        variables: Variables = None
        for each in node.expressions:
            if not isinstance(each, exp.Column) or each.table:
                raise ExpressionError("CLASSIFIER takes a variable or a SUBSET, or nothing")
            uses(each, "this")
            variables = self.names.of(each.name, "CLASSIFIER")
        return self.found(Classifier(), variables)

    def star_of(self, node: exp.Expr) -> Variables:
        """The variables of `A.*`; None if it is not that."""
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Star):
            return None
        uses(node, "this", "table")
        uses(node.this)
        return self.names.of(node.table, "count")

    def by_place(self, node: exp.Anonymous) -> Navigation:
        """`FIRST(value, offset)` and `LAST(value, offset)`."""
        name = str(node.this).upper()
        self.takes(node, _WITH_OFFSET)
        if not node.expressions:
            raise ExpressionError(f"{name} takes a value, and perhaps a number of rows")
        with self.one_variable(name) as variables:
            value = self.resolve(node.expressions[0])
        if not variables:
            raise ExpressionError(f"{name} needs a column, of which it takes the row")
        offset = self.offset(node, 0)
        return Navigation(value, variables[0], name == "LAST", offset, 0, self.running)

    def by_distance(self, node: exp.Anonymous) -> Navigation:
        """`PREV(value, distance)` and `NEXT(value, distance)`, of FIRST or LAST, too."""
        name = str(node.this).upper()
        self.takes(node, _WITH_OFFSET)
        if not node.expressions:
            raise ExpressionError(f"{name} takes a value, and perhaps a number of rows")
        inner: Any = node.expressions[0]
        called = inner.this if isinstance(inner, OfMatch) else inner
        if isinstance(called, exp.Anonymous) and str(called.this).lower() in _BY_PLACE:
            if self.row is not None:
                raise ExpressionError(f"{name} cannot be inside {self.inside}")
            found = self.resolve(inner)
        else:
            with self.one_variable(name) as variables:
                value = self.resolve(inner)
            if not variables:
                raise ExpressionError(f"{name} needs a column, of which it takes the row")
            found = Navigation(value, variables[0], running=self.running)
        assert isinstance(found, Navigation)
        distance = self.offset(node, 1)
        return replace(found, physical=-distance if name == "PREV" else distance)

    def offset(self, node: exp.Anonymous, default: int) -> int:
        """The number of rows that a navigation goes."""
        if len(node.expressions) < _WITH_OFFSET:
            return default
        with self.one_variable(str(node.this).upper()):
            value = folded(self.resolve(node.expressions[1]))
        if isinstance(value, Literal) and is_integer(value.type) and value.value is not None:
            number = int(value.value)
            if number >= 0:
                return number
        raise ExpressionError(f"{str(node.this).upper()} goes a whole number of rows, 0 or more")

    def aggregate(
        self, node: exp.Expr, filtered: exp.Expr | None = None, ignore_nulls: bool = False
    ) -> Expression:
        """An aggregate over rows of the match."""
        if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)):
            return super().aggregate(node, filtered, ignore_nulls)
        name = str(node.this).upper() if isinstance(node, exp.Anonymous) else node.key.upper()
        if name.lower() in _BY_PLACE:
            raise ExpressionError(f"{name} of a match takes no IGNORE NULLS and no FILTER")
        with self.one_variable(name) as found:
            value = super().aggregate(node, filtered, ignore_nulls)
        variables = found[0] if found else None

        def of_match(part: Expression) -> Expression:
            if isinstance(part, AggregateCall):
                return MatchAggregate(part, variables, self.running)
            return part

        return value.transform(of_match)

    def of_match(self, node: OfMatch) -> Expression:
        """`RUNNING f(…)`, `FINAL f(…)`."""
        word = "FINAL" if node.args.get("final") else "RUNNING"
        call = node.this.this if isinstance(node.this, exp.Filter) else node.this
        name = str(call.this).lower() if isinstance(call, exp.Anonymous) else ""
        if name not in (*_BY_PLACE, "classifier") and name not in AGGREGATES:
            raise ExpressionError(f"{word} comes before FIRST, LAST, CLASSIFIER or an aggregate")
        if self.condition and word == "FINAL":
            raise ExpressionError("DEFINE cannot look at the FINAL match, which it decides on")
        if self.row is not None:
            raise ExpressionError(f"{word} cannot be inside {self.inside}")
        outer, self.running = self.running, word == "RUNNING" and not self.one_row
        try:
            return self.resolve(node.this)
        finally:
            self.running = outer
