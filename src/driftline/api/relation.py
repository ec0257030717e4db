"""What all queries are: a plan, and the ways to build on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Self, get_args

from driftline.api.grouped import Grouped, UserDefined
from driftline.api.ordered import Ordered
from driftline.api.windowed import Windowed
from driftline.arguments import condition_of, flag, is_all, several
from driftline.plan import nodes
from driftline.plan.by_session import distinct
from driftline.plan.combining import need_same_time, with_common_types
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Call, Column
from driftline.plan.resolver import parse_expression
from driftline.plan.types import BOOLEAN
from driftline.plan.until import until
from driftline.spark_columns import Text, is_column, sql_text

if TYPE_CHECKING:
    from driftline.automata import By
    from driftline.model.automaton import Automaton

JOIN_KINDS: dict[str, nodes.JoinKind] = {
    **{kind: kind for kind in get_args(nodes.JoinKind)},
    "cross": "inner",
    "outer": "full", "fullouter": "full", "leftouter": "left", "rightouter": "right",
    "leftsemi": "semi", "leftanti": "anti",
}  # fmt: skip
"""The kinds of joins, also as PySpark calls them."""


@dataclass(frozen=True, repr=False)
class Relation(Windowed, Ordered):
    """A plan, and the ways to build on it."""

    def select(self, *columns: Text, **named: Text) -> Self:
        """These columns: `select("symbol", "price * qty AS value", double="2 * price")`; `"*"` are
        all."""
        chosen: list[nodes.Named] = []
        for each in columns:
            chosen += self._all_columns() if is_all(each) else self._named([each], {})
        return self._of(nodes.Project(self.plan, (*chosen, *self._named((), named))))

    def with_columns(self, *columns: Text, **named: Text) -> Self:
        """All columns and these; one of the same name takes the place of the old one."""
        new = {column.name.lower(): column for column in self._named(columns, named)}
        kept = [new.pop(column.name.lower(), column) for column in self._all_columns()]
        return self._of(nodes.Project(self.plan, (*kept, *new.values())))

    def _all_columns(self) -> list[nodes.Named]:
        return [
            nodes.Named(key, Column(key, item.type, item.qualifier))
            for key, item in zip(self.schema.names, self.schema, strict=True)
        ]

    def where(self, predicate: Text) -> Self:
        """The rows for which a predicate is true."""
        return self._of(nodes.Select(self.plan, condition_of(predicate, self.schema)))

    def alias(self, name: str) -> Self:
        """The same rows under another name, for joins: `t.alias("u")` gives `u.price`."""
        return self._of(nodes.Alias(self.plan, name))

    def stitch(self) -> Self:
        """The lifetimes of equal rows as one, where one ends as the next begins."""
        return self._of(nodes.Stitch(self.plan))

    def until(self, other: Relation, on: Text) -> Self:
        """Every row until a row of the other comes that starts later and matches: `on` is a
        condition over both."""
        self._meets(other, "until")
        condition = condition_of(on, self.schema + other.schema)
        return self._of(until(self.plan, other.plan, condition), other)

    def explode(
        self, value: Text, *names: str, outer: bool = False, position: bool = False
    ) -> Self:
        """Every row once for each item of an ARRAY, or entry of a MAP, with it as further columns,
        called as Spark calls them (col; key, value; before them pos, if `position` is wanted) or
        by the names given; with `outer` a row without items is there once, with nulls.

        >>> import driftline as dl
        >>> posts = dl.stream("posts", {"id": "INT", "tags": "ARRAY<STRING>"})
        >>> print(posts.explode("tags", "tag").explain())
        explode tags AS tag
        └─ source posts (id INT, tags ARRAY<STRING>)
        """
        flag(outer, "outer"), flag(position, "position")
        made = nodes.Explode(
            self.plan, self._expression(value), tuple(several(names, "names")), outer, position
        )
        for each in made.added:
            self._new_name(each.name)
        return self._of(made)

    def group_by(self, *keys: Text, **named: Text) -> Grouped[Self]:
        """Groups, for `agg`: `group_by("symbol", hour="date_trunc('HOUR', ts)")`."""
        return Grouped(self, self._named(keys, named))

    def agg(self, *aggregates: Text, **named: Text | UserDefined) -> Self:
        """Aggregates over all rows."""
        return Grouped(self, ()).agg(*aggregates, **named)

    def distinct(self) -> Self:
        """At every time one copy of each row."""
        return self._of(distinct(self.plan))

    def join(
        self, other: Relation, on: Text | Sequence[str] | None = None, how: str = "inner"
    ) -> Self:
        """Pairs of rows that are alive together. `on` is a condition (`"t.id = u.id AND …"`), or
        the names of columns that both sides have; these come once in the result."""
        kind = JOIN_KINDS.get(str(how).lower().replace("_", ""))
        if kind is None:
            known = ", ".join(get_args(nodes.JoinKind))
            raise PlanError(f"a join is one of {known}, not {how!r}")
        self._meets(other, "join")
        if is_column(on):
            on = sql_text(on)
        if isinstance(on, str) and (not on.isidentifier() or on.lower() in ("true", "false")):
            condition = condition_of(on, self.schema + other.schema)
            return self._of(nodes.Join(self.plan, other.plan, kind, condition), other)
        names = list(several(() if on is None else on, "the columns of a join"))
        if not names:
            return self._of(nodes.Join(self.plan, other.plan, kind, None), other)
        for name in names:
            for side, schema in (("left", self.schema), ("right", other.schema)):
                if not schema.find(name):
                    raise PlanError(
                        f"join: the {side} side has no column {name}; it has "
                        f"{', '.join(schema.names)}"
                    )
        return self._join_using(other, names, kind)

    def as_of(self, other: Relation, on: Text, how: str = "inner") -> Self:
        """Every row with the latest row of the other: `on` compares keys with =, and a time of this
        one that is >= (or >) a time of the other: `trades.as_of(quotes, "trades.symbol =
        quotes.symbol AND trades.ts >= quotes.ts")`. With `how="left"` also rows without one."""
        from driftline.plan.nodes.as_of import as_of

        if how not in ("inner", "left"):
            raise PlanError(f"an as-of join is inner or left, not {how!r}")
        self._meets(other, "as_of")
        condition = condition_of(on, self.schema + other.schema)
        return self._of(as_of(self.plan, other.plan, how, condition), other)  # type: ignore[arg-type]

    def _join_using(self, other: Relation, names: list[str], how: nodes.JoinKind) -> Self:
        left, right = self.alias("left"), other.alias("right")
        both = left.schema + right.schema
        equal = (parse_expression(f"left.`{name}` = right.`{name}`", both) for name in names)
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), equal)
        joined = self._of(nodes.Join(left.plan, right.plan, how, condition), other)
        if how in ("semi", "anti"):
            return joined
        keys = {name.lower() for name in names}
        columns = [
            f"coalesce(left.`{name}`, right.`{name}`) AS `{name}`"
            if how in ("right", "full")
            else f"left.`{name}` AS `{name}`"
            for name in names
        ]
        for side, schema in (("left", left.schema), ("right", right.schema)):
            for item in schema:
                if item.name.lower() not in keys:
                    columns.append(f"{side}.`{item.name}` AS `{item.name}`")
        return joined.select(*columns)

    def union(self, other: Relation, *, distinct: bool = False) -> Self:
        """The rows of both; columns correspond by position."""
        both = self._of(nodes.Union(*self._alike(other, "union")), other)
        return both.distinct() if flag(distinct, "distinct") else both

    def intersect(self, other: Relation, *, all: bool = False) -> Self:
        """The rows that are in both; with `all` as often as in both."""
        plans = self._alike(other, "intersect")
        return self._of(nodes.SetOperation(*plans, "intersect", not flag(all, "all")), other)

    def minus(self, other: Relation, *, all: bool = False) -> Self:
        """The rows that are not in the other; with `all` as often as they are left over."""
        plans = self._alike(other, "minus")
        return self._of(nodes.SetOperation(*plans, "minus", not flag(all, "all")), other)

    def _alike(self, other: Relation, what: str) -> tuple[nodes.Node, nodes.Node]:
        self._meets(other, what)
        return with_common_types(self.plan, other.plan, what)

    def _meets(self, other: Relation, what: str) -> None:
        if not isinstance(other, Relation):
            raise PlanError(f"{what} takes another query, not a {type(other).__name__}")
        need_same_time(self.plan, other.plan)

    def automaton(
        self,
        automaton: Automaton,
        *,
        sequence: str,
        symbol: str | None = None,
        per: Text | Sequence[Text] = (),
        partial: bool = False,
        by: By = "operator",
        transitions: Relation | None = None,
    ) -> Self:
        """The runs of an automaton (`driftline.Automaton`) over rows with consecutive numbers in
        the column `sequence`, of all rows or per partition: where each begins and ends, its state
        and its registers. A run is there while all of its rows are.

        `symbol`: the column of the symbols, if the automaton has no conditions for them; `partial`:
        give all runs, and not only those in final states; `by`: "operator", or "loop", the same as
        a recursive query; `transitions`: a query that gives the transitions, whose rows may come
        and go while the automaton runs, in place of the automaton's own (see
        `Automaton.columns`).

        >>> import driftline as dl
        >>> aba = dl.Automaton("S", ["F"], [
        ...     dl.Transition("S", "B", "A"), dl.Transition("B", "B", "B"),
        ...     dl.Transition("B", "F", "A")])
        >>> tape = dl.stream("tape", {"n": "INT", "letter": "STRING"}, time="n")
        >>> rows = [{"n": n, "letter": letter} for n, letter in enumerate("ABBA", 1)]
        >>> found = tape.automaton(aba, sequence="n", symbol="letter").run(tape=rows)
        >>> found.history().to_pylist()
        [{'vs': 4, 've': None, 'begins': 1, 'ends': 4, 'state': 'F'}]
        """
        from driftline.automata import runs_of

        return runs_of(self, automaton, sequence, symbol, per, partial, by, transitions)
