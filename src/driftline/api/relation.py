"""What all queries are: a plan, and the ways to build on it. Expressions are Spark SQL in strings,
or columns of PySpark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Self, get_args

from driftline.api.grouped import Grouped, UserDefined
from driftline.arguments import (
    condition_of,
    flag,
    is_whole,
    lasting,
    resolved,
    row_value,
    several,
    text_of,
    time_of,
)
from driftline.plan import nodes
from driftline.plan.choices import need_choice
from driftline.plan.combining import need_same_time, with_common_types
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Call, Column, Expression
from driftline.plan.naming import parse_ordered
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.spark_columns import Text, is_column, sql_text
from driftline.plan.types import (
    BOOLEAN,
    Schema,
    is_integer,
    is_orderable,
    is_timestamp,
    type_name,
)
from driftline.plan.until import until

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
class Relation:
    """A plan, and the ways to build on it."""

    plan: nodes.Node

    def __post_init__(self) -> None:
        if not isinstance(self.plan, nodes.Node):
            raise PlanError(f"a query begins with stream(…), not with a {type(self.plan).__name__}")

    def __repr__(self) -> str:
        columns = ", ".join(f"{each.name} {type_name(each.type)}" for each in self.schema)
        return f"<{type(self).__name__}: {columns}>"

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return self.plan.schema

    def explain(self) -> str:
        """The plan, drawn as a tree."""
        return self.plan.tree()

    def _of(self, plan: nodes.Node, *others: Relation) -> Self:
        """A query like this one, and over the inputs of others, too, with another plan."""
        return replace(self, plan=plan)

    def _called(self, name: str) -> Relation:
        """The same under a name that it is given later."""
        return self

    def _expression(self, given: Text) -> Expression:
        text = sql_text(given)
        return row_value(parse_expression(text, self.schema), text)

    def _named(self, texts: Sequence[Text], named: Mapping[str, Text]) -> tuple[nodes.Named, ...]:
        return tuple(
            nodes.Named(name, row_value(value, text))
            for name, value, text in resolved(texts, named, self.schema)
        )

    def select(self, *columns: Text, **named: Text) -> Self:
        """These columns: `select("symbol", "price * qty AS value", double="2 * price")`."""
        return self._of(nodes.Project(self.plan, self._named(columns, named)))

    def with_columns(self, *columns: Text, **named: Text) -> Self:
        """All columns and these; one of the same name takes the place of the old one."""
        new = {column.name.lower(): column for column in self._named(columns, named)}
        old = (
            nodes.Named(key, Column(key, item.type, item.qualifier))
            for key, item in zip(self.schema.names, self.schema, strict=True)
        )
        kept = [new.pop(column.name.lower(), column) for column in old]
        return self._of(nodes.Project(self.plan, (*kept, *new.values())))

    def where(self, predicate: Text) -> Self:
        """The rows for which a predicate is true."""
        return self._of(nodes.Select(self.plan, condition_of(predicate, self.schema)))

    def alias(self, name: str) -> Self:
        """The same rows under another name, for joins: `t.alias("u")` gives `u.price`."""
        return self._of(nodes.Alias(self.plan, name))

    def window(
        self,
        *,
        range: Duration | None = None,
        slide: Duration | None = None,
        start: str | int | None = None,
        duration: Duration | None = None,
    ) -> Self:
        """Other lifetimes: `range` alone slides; with `slide` it hops; `start` and `duration` are
        expressions over vs and ve. `range="inf"` keeps every row for ever, `range=1` for a tick."""
        stamps = self.plan.timestamps
        if start is not None:
            if duration is None or range is not None or slide is not None:
                raise PlanError("window(start=…) goes with duration=… alone")
            begins, lasts = time_of(start), lasting(duration, stamps)
            return self._of(nodes.Window(self.plan, "general", start=begins, duration=lasts))
        if range is None:
            raise PlanError("a window needs range=…, or start=… and duration=…")
        size = ticks(range, stamps)
        if size == 0:
            raise PlanError("a window lasts at least one tick: in one of range=0 no row would live")
        if slide is None:
            return self._of(nodes.Window(self.plan, "sliding", size))
        step = ticks(slide, stamps)
        if step == 0:
            raise PlanError("a hopping window needs a slide of at least one tick")
        return self._of(nodes.Window(self.plan, "hopping", size, step))

    def hop(self, slide: Duration, size: Duration, time: str | None = None) -> Self:
        """The windows of each row as columns window_start and window_end; lifetimes stay."""
        stamps = self.plan.timestamps if time is None else True
        if time is not None:
            found = self.schema.find(text_of(time, "the time of windows"))
            if len(found) != 1:
                raise PlanError(f"there is no column {time} to take windows by")
            stamps = is_timestamp(found[0].type)
            if not stamps and not is_integer(found[0].type):
                raise PlanError(
                    f"windows go by a TIMESTAMP or an integer column, and {time} is a "
                    f"{type_name(found[0].type)}"
                )
            time = self.schema.key(found[0])
        for name in ("window_start", "window_end"):
            self._new_name(name)
        every, whole = ticks(slide, stamps), ticks(size, stamps)
        if every == 0 or whole == 0:
            raise PlanError("a window needs a slide and a size of at least one tick")
        return self._of(nodes.WindowColumns(self.plan, every, whole, time))

    def tumble(self, size: Duration, time: str | None = None) -> Self:
        """The window of each row as columns window_start and window_end; lifetimes stay."""
        return self.hop(size, size, time)

    def session(
        self,
        gap: Duration,
        *,
        per: Text | Sequence[Text] = (),
        at_most: Duration | None = None,
        columns: bool = False,
    ) -> Self:
        """Rows that follow each other within a gap, of all rows or per key, belong to a session:
        every row lives until its session ends, a gap after its last row. `at_most`: how long after
        its first row a session ends at the latest. With `columns` the lifetimes of rows stay, and
        their sessions are the columns window_start and window_end.

        >>> import driftline as dl
        >>> clicks = dl.stream("clicks", {"user": "STRING", "url": "STRING"})
        >>> print(clicks.session(30, per="user").group_by("user").agg("count(*) AS n").explain())
        project user, `$0` AS n
        └─ aggregate count(*) AS $0 by user
           └─ window [SESSION 30 PER user]
              └─ source clicks (user STRING, url STRING)
        """
        flag(columns, "columns")
        stamps = self.plan.timestamps
        every, most = ticks(gap, stamps), None if at_most is None else ticks(at_most, stamps)
        if every == 0 or most == 0:
            raise PlanError("a session needs a gap, and a length, of at least one tick")
        keys = tuple(self._expression(each) for each in several(per, "per"))
        if columns:
            for name in ("window_start", "window_end"):
                self._new_name(name)
            return self._of(nodes.SessionColumns(self.plan, keys, every, most))
        return self._of(nodes.Session(self.plan, keys, every, most))

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
        return self._of(nodes.Distinct(self.plan))

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

    def top(self, k: int, by: Text | Sequence[Text], per: Text | Sequence[Text] = ()) -> Self:
        """The first k rows by an order (`"price DESC"`), of all rows or per partition."""
        if not is_whole(k) or k < 0:
            raise PlanError(f"top needs a number of rows, not {k}")
        keys, order = self._columns(per), self._order(by)
        return self._of(nodes.Rank(self.plan, keys, order, name=None, limit=k))

    def rank(
        self,
        by: Text | Sequence[Text],
        per: Text | Sequence[Text] = (),
        *,
        method: nodes.RankMethod = "row_number",
        name: str = "rank",
    ) -> Self:
        """Every row with its place in an order, of all rows or per partition."""
        need_choice("the method of a rank", method, get_args(nodes.RankMethod))
        self._new_name(name)
        return self._of(nodes.Rank(self.plan, self._columns(per), self._order(by), method, name))

    def over(
        self,
        *functions: Text,
        by: Text | Sequence[Text] = (),
        per: Text | Sequence[Text] = (),
        frame: str = "",
        **named: Text,
    ) -> Self:
        """Every row with window functions, of all rows or per partition, in an order:
        `over("avg(price) AS mean", per="symbol", by="ts", frame="ROWS 2 PRECEDING")`. A frame is
        written as in SQL; without one it goes from the first row to this one and its peers, or,
        without an order, over the whole partition. LAG and LEAD have none."""
        from driftline.sql.overs import window_function, with_functions

        partition, order = self._columns(per), self._order(by)
        texts = [sql_text(each) for each in functions]
        texts += [f"{sql_text(text)} AS `{name}`" for name, text in named.items()]
        columns = [window_function(text, frame, order, self.schema) for text in texts]
        for column in columns:
            self._new_name(column.name)
        if not columns:
            raise PlanError("over needs window functions, such as sum(price) AS total")
        return self._of(with_functions(self.plan, partition, order, *columns))

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

    def match(
        self,
        pattern: str,
        define: Mapping[str, str] | None = None,
        measures: Mapping[str, str] | Sequence[str] | str = (),
        *,
        by: Text | Sequence[Text],
        per: Text | Sequence[Text] = (),
        rows: nodes.RowsPerMatch = "one",
        skip: str = "past last row",
        within: Duration | None = None,
        subsets: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """The matches of a pattern of rows, as MATCH_RECOGNIZE finds them:
        `match("DOWN+ UP", {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
        {"bottom": "LAST(DOWN.price)"}, per="symbol", by="ts")`. A row for each match (`one`), or
        the rows of each (`all`, `omit empty`, `with unmatched`); then the search goes on
        `past last row`, `to next row`, `to first A` or `to last A`. See docs/patterns.md."""
        from driftline.plan.patterns.building import matched
        from driftline.plan.patterns.texts import clauses

        order = self._order(by)
        written = clauses(
            pattern,
            define,
            measures,
            order,
            rows=rows,
            skip=skip,
            within=within,
            subsets=subsets,
        )
        return self._of(matched(self.plan, self._columns(per), order, written))

    def _new_name(self, name: str) -> None:
        if self.schema.find(text_of(name, "the name of a column")):
            raise PlanError(f"there is a column {name} already: give the new one another name")

    def _columns(self, texts: Text | Sequence[Text]) -> tuple[Expression, ...]:
        return tuple(self._expression(text) for text in several(texts))

    def _order(self, texts: Text | Sequence[Text]) -> tuple[nodes.OrderItem, ...]:
        return tuple(self._order_item(text) for text in several(texts))

    def _order_item(self, given: Text) -> nodes.OrderItem:
        text = sql_text(given)
        node, descending, nulls_first = parse_ordered(text)
        value = row_value(resolve(node, self.schema), text)
        if not is_orderable(value.type):
            raise PlanError(f"{text}: one cannot order by a {type_name(value.type)}")
        return nodes.OrderItem(value, descending, nulls_first)
