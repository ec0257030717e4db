"""The Python interface: queries over streams, in the words of Polars and Ibis.

Expressions are Spark SQL in strings. A query is a value; nothing runs until `run` or `changes`.

>>> import driftline as dl
>>> trades = dl.stream("trades", {"symbol": "STRING", "price": "DOUBLE", "qty": "INT"})
>>> vwap = (
...     trades.where("qty > 0")
...     .window(range=10)
...     .group_by("symbol")
...     .agg("sum(price * qty) / sum(qty) AS vwap")
... )
>>> events = [dl.Insert(1, dl.INFINITY, dl.Row(symbol="A", price=10.0, qty=2)),
...           dl.Insert(4, dl.INFINITY, dl.Row(symbol="A", price=13.0, qty=1))]
>>> for row in vwap.run(trades=events).history().to_pylist():
...     print(row)
{'vs': 1, 've': 4, 'symbol': 'A', 'vwap': 10.0}
{'vs': 4, 've': 11, 'symbol': 'A', 'vwap': 11.0}
{'vs': 11, 've': 14, 'symbol': 'A', 'vwap': 13.0}
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, get_args

from driftline.arguments import (
    condition_of,
    declared,
    flag,
    is_whole,
    lasting,
    options_of,
    resolved,
    row_value,
    several,
    text_of,
    time_of,
)
from driftline.plan import nodes
from driftline.plan.choices import (
    ADAPTIVE,
    Clock,
    Emit,
    Expiry,
    Heeding,
    Loops,
    Outputs,
    Scheduler,
    Tokens,
    need_choice,
    need_clock,
    need_now,
    need_together,
    tokens_of,
)
from driftline.plan.combining import need_same_time, with_common_types
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Call, Column, Expression
from driftline.plan.lifetimes import is_loose
from driftline.plan.naming import parse_ordered
from driftline.plan.recursion import LIMIT, fixed_point
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.sizes import DEFAULT_EXPANSION, DEFAULT_STEPS
from driftline.plan.timing import timing
from driftline.plan.types import (
    BOOLEAN,
    Schema,
    canonical,
    is_integer,
    is_orderable,
    is_timestamp,
    parse_type,
    type_name,
)
from driftline.results import Now, Result, Update

if TYPE_CHECKING:
    from driftline.automata import By
    from driftline.model.automaton import Automaton

USER_DEFINED = "user-defined "

JOIN_KINDS: dict[str, nodes.JoinKind] = {
    **{kind: kind for kind in get_args(nodes.JoinKind)},
    "cross": "inner",
    "outer": "full", "fullouter": "full", "leftouter": "left", "rightouter": "right",
    "leftsemi": "semi", "leftanti": "anti",
}  # fmt: skip
"""The kinds of joins, also as PySpark calls them."""


def stream(
    name: str,
    columns: Mapping[str, Any],
    *,
    time: str | None = None,
    timestamps: bool | None = None,
    disorder: Duration | None = None,
    source: str | None = None,
    sources: int | None = None,
    skew: Duration | None = None,
    latency: Duration | None = None,
    timeout: Duration | None = None,
    arrival: str | None = None,
    heartbeats: Literal["estimate", "none"] | None = None,
    late: float | str | None = None,
    time_unit: Literal["s", "ms", "us"] | None = None,
) -> Query:
    """A stream by its name and its columns (names to SQL or Arrow types).

    `time` names the column from which plain records get their time; event logs carry their own.
    `timestamps`: whether time is in microseconds since 1970; by default it is when `time` is a
    TIMESTAMP. `disorder` promises that plain records are at most so late, which lets answers become
    final while the stream goes on; what breaks the promise becomes a dead letter. `time_unit`: what
    numbers that are to be times count, which is seconds, milliseconds or microseconds since 1970;
    an integer column `time` is then such a number.

    The other bounds are for a stream of several sources, distinguished by the column `source`
    (there are `sources` of them, if that is known): `disorder` is then that of each, `skew` how far
    their clocks are apart. `latency`: how long a record is on its way at most; `timeout`: a source
    that is silent for so long holds nothing back; both by the arrival clock, which the column
    `arrival` has, or the time when Spark reads. Without any bound heartbeats are guessed from what
    has come (`heartbeats="estimate"`), such that a share of at most `late` comes after its guess,
    which ends the waiting of a query with a `block`.
    """
    schema = declared(name, columns)
    if timestamps is not None:
        flag(timestamps, "timestamps")
    if time is not None:
        found = schema.find(text_of(time, "the time column"))
        if not found:
            raise PlanError(f"the time of {name} is to be {time}, but it has no such column")
        time = found[0].name
        if timestamps is None:
            timestamps = is_timestamp(found[0].type) or time_unit is not None
    elif timestamps is None:
        timestamps = time_unit is not None
    known = timing(
        schema,
        bool(timestamps),
        disorder=disorder,
        source=source,
        sources=sources,
        skew=skew,
        latency=latency,
        timeout=timeout,
        arrival=arrival,
        heartbeats=heartbeats,
        late=late,
        time_unit=time_unit,
    )
    return Query(nodes.Source(name, schema, time, bool(timestamps), known))


def recursive(
    name: str,
    columns: Mapping[str, Any],
    base: Query,
    step: Callable[[Query], Query],
    *,
    all: bool = False,
    limit: int = LIMIT,
) -> Query:
    """The rows of `base`, and all that follows from them: `step` takes the rows so far, a query
    with the given columns, and returns what follows in one step. At every moment it is the least
    set with that property; with `all` a bag, with every derivation of a row.

    >>> import driftline as dl
    >>> links = dl.stream("links", {"a": "INT", "b": "INT"})
    >>> reach = dl.recursive(
    ...     "reach", {"n": "INT"}, links.where("a = 1").select("a AS n"),
    ...     lambda reach: reach.join(links, "reach.n = links.a").select("b AS n"))
    >>> events = [dl.Insert(1, 9, dl.Row(a=1, b=2)), dl.Insert(3, 7, dl.Row(a=2, b=1))]
    >>> for row in reach.run(links=events).history().to_pylist():
    ...     print(row)
    {'vs': 1, 've': 9, 'n': 1}
    {'vs': 1, 've': 9, 'n': 2}

    `limit`: the deepest level at which a row may be derived; a deeper one stops the query."""
    if not isinstance(base, Query):
        raise PlanError(f"the base of {name} is a query, not a {type(base).__name__}")
    found = recursive_together(
        {name: (columns, lambda names: base.union(step(names[name])))}, all=all, limit=limit
    )
    return found[name]


Bodies = Mapping[str, tuple[Mapping[str, Any], Callable[[Mapping[str, "Query"]], "Query"]]]
"""By name, the columns and the body."""


def recursive_together(
    bodies: Bodies, *, all: bool = False, limit: int = LIMIT
) -> dict[str, Query]:
    """Several recursive queries that use each other: by name, the columns and a function from the
    rows so far of all of them, by name, to the rows of this one."""
    if not is_whole(limit) or limit < 1:
        raise PlanError(f"the limit of a recursion is a number of levels, not {limit!r}")
    bag, stamps = flag(all, "all"), False
    schemas = {name: declared(name, columns) for name, (columns, _) in bodies.items()}
    for _ in range(2):  # whether time is in microseconds is known when the bodies are
        names = {n: Query(nodes.Back(n, each, stamps)) for n, each in schemas.items()}
        made = {name: body(names) for name, (_, body) in bodies.items()}
        stamps = any(
            node.timestamps for each in made.values() for node in each.plan.sources().values()
        )
    rules = []
    for name, query in made.items():
        have, wanted = query.schema, schemas[name]
        if [each.type for each in have] != [each.type for each in wanted]:
            listed = ", ".join(type_name(each.type) for each in have)
            raise PlanError(f"the rows of {name} are of the types {listed}: CAST them as declared")
        rules.append(nodes.Rule(name, wanted, query.plan, not bag))
    return {name: Query(plan) for name, plan in fixed_point(rules, limit).items()}


@dataclass(frozen=True)
class UserDefined:
    """A user's aggregate for `agg`: an object with `initial`, `add` and `result`, the value it
    takes (SQL), and the type of its result. With a `remove` that undoes `add`, a row that leaves a
    long window costs one call, instead of all others being added up again."""

    definition: object
    argument: str
    type: Any


@dataclass(frozen=True)
class Query:
    """A query: a plan, and the ways to build on it and to run it."""

    plan: nodes.Node

    def __post_init__(self) -> None:
        if not isinstance(self.plan, nodes.Node):
            raise PlanError(f"a query begins with stream(…), not with a {type(self.plan).__name__}")

    @property
    def schema(self) -> Schema:
        """The columns of the result."""
        return self.plan.schema

    def explain(self) -> str:
        """The plan, drawn as a tree."""
        return self.plan.tree()

    def _expression(self, text: str) -> Expression:
        return row_value(parse_expression(text, self.schema), text)

    def _named(self, texts: Sequence[str], named: Mapping[str, str]) -> tuple[nodes.Named, ...]:
        return tuple(
            nodes.Named(name, row_value(value, text))
            for name, value, text in resolved(texts, named, self.schema)
        )

    def select(self, *columns: str, **named: str) -> Query:
        """These columns: `select("symbol", "price * qty AS value", double="2 * price")`."""
        return Query(nodes.Project(self.plan, self._named(columns, named)))

    def with_columns(self, *columns: str, **named: str) -> Query:
        """All columns and these; one of the same name takes the place of the old one."""
        new = {column.name.lower(): column for column in self._named(columns, named)}
        old = (
            nodes.Named(key, Column(key, item.type, item.qualifier))
            for key, item in zip(self.schema.names, self.schema, strict=True)
        )
        kept = [new.pop(column.name.lower(), column) for column in old]
        return Query(nodes.Project(self.plan, (*kept, *new.values())))

    def where(self, predicate: str) -> Query:
        """The rows for which a predicate is true."""
        return Query(nodes.Select(self.plan, condition_of(predicate, self.schema)))

    def alias(self, name: str) -> Query:
        """The same rows under another name, for joins: `t.alias("u")` gives `u.price`."""
        return Query(nodes.Alias(self.plan, name))

    def window(
        self,
        *,
        range: Duration | None = None,
        slide: Duration | None = None,
        start: str | int | None = None,
        duration: Duration | None = None,
    ) -> Query:
        """Other lifetimes: `range` alone slides; with `slide` it hops; `start` and `duration` are
        expressions over vs and ve. `range="inf"` keeps every row for ever, `range=1` for a tick."""
        stamps = self.plan.timestamps
        if start is not None:
            if duration is None or range is not None or slide is not None:
                raise PlanError("window(start=…) goes with duration=… alone")
            begins, lasts = time_of(start), lasting(duration, stamps)
            return Query(nodes.Window(self.plan, "general", start=begins, duration=lasts))
        if range is None:
            raise PlanError("a window needs range=…, or start=… and duration=…")
        size = ticks(range, stamps)
        if size == 0:
            raise PlanError("a window lasts at least one tick: in one of range=0 no row would live")
        if slide is None:
            return Query(nodes.Window(self.plan, "sliding", size))
        step = ticks(slide, stamps)
        if step == 0:
            raise PlanError("a hopping window needs a slide of at least one tick")
        return Query(nodes.Window(self.plan, "hopping", size, step))

    def hop(self, slide: Duration, size: Duration, time: str | None = None) -> Query:
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
        return Query(nodes.WindowColumns(self.plan, every, whole, time))

    def tumble(self, size: Duration, time: str | None = None) -> Query:
        """The window of each row as columns window_start and window_end; lifetimes stay."""
        return self.hop(size, size, time)

    def session(
        self,
        gap: Duration,
        *,
        per: str | Sequence[str] = (),
        at_most: Duration | None = None,
        columns: bool = False,
    ) -> Query:
        """Rows that follow each other within a gap, of all rows or per key, belong to a session:
        every row lives until its session ends, a gap after its last row. `at_most`: how long after
        its first row a session ends at the latest. With `columns` the lifetimes of rows stay, and
        their sessions are the columns window_start and window_end.

        >>> clicks = stream("clicks", {"user": "STRING", "url": "STRING"})
        >>> print(clicks.session(30, per="user").group_by("user").agg("count(*) AS n").explain())
        group by user: count(*) AS n
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
            return Query(nodes.SessionColumns(self.plan, keys, every, most))
        return Query(nodes.Session(self.plan, keys, every, most))

    def explode(
        self, value: str, *names: str, outer: bool = False, position: bool = False
    ) -> Query:
        """Every row once for each item of an ARRAY, or entry of a MAP, with it as further columns,
        called as Spark calls them (col; key, value; before them pos, if `position` is wanted) or
        by the names given; with `outer` a row without items is there once, with nulls.

        >>> posts = stream("posts", {"id": "INT", "tags": "ARRAY<STRING>"})
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
        return Query(made)

    def group_by(self, *keys: str, **named: str) -> Grouped:
        """Groups, for `agg`: `group_by("symbol", hour="date_trunc('HOUR', ts)")`."""
        return Grouped(self, self._named(keys, named))

    def agg(self, *aggregates: str, **named: str | UserDefined) -> Query:
        """Aggregates over all rows."""
        return Grouped(self, ()).agg(*aggregates, **named)

    def distinct(self) -> Query:
        """At every time one copy of each row."""
        return Query(nodes.Distinct(self.plan))

    def join(
        self, other: Query, on: str | Sequence[str] | None = None, how: str = "inner"
    ) -> Query:
        """Pairs of rows that are alive together. `on` is a condition (`"t.id = u.id AND …"`), or
        the names of columns that both sides have; these come once in the result."""
        kind = JOIN_KINDS.get(str(how).lower().replace("_", ""))
        if kind is None:
            known = ", ".join(get_args(nodes.JoinKind))
            raise PlanError(f"a join is one of {known}, not {how!r}")
        self._meets(other, "join")
        if isinstance(on, str) and (not on.isidentifier() or on.lower() in ("true", "false")):
            condition = condition_of(on, self.schema + other.schema)
            return Query(nodes.Join(self.plan, other.plan, kind, condition))
        names = list(several(() if on is None else on, "the columns of a join"))
        if not names:
            return Query(nodes.Join(self.plan, other.plan, kind, None))
        for name in names:
            for side, schema in (("left", self.schema), ("right", other.schema)):
                if not schema.find(name):
                    raise PlanError(
                        f"join: the {side} side has no column {name}; it has "
                        f"{', '.join(schema.names)}"
                    )
        return self._join_using(other, names, kind)

    def as_of(self, other: Query, on: str, how: str = "inner") -> Query:
        """Every row with the latest row of the other: `on` compares keys with =, and a time of this
        one that is >= (or >) a time of the other: `trades.as_of(quotes, "trades.symbol =
        quotes.symbol AND trades.ts >= quotes.ts")`. With `how="left"` also rows without one."""
        from driftline.plan.nodes.as_of import as_of

        if how not in ("inner", "left"):
            raise PlanError(f"an as-of join is inner or left, not {how!r}")
        self._meets(other, "as_of")
        condition = condition_of(on, self.schema + other.schema)
        return Query(as_of(self.plan, other.plan, how, condition))  # type: ignore[arg-type]

    def _join_using(self, other: Query, names: list[str], how: nodes.JoinKind) -> Query:
        left, right = self.alias("left"), other.alias("right")
        both = left.schema + right.schema
        equal = (parse_expression(f"left.`{name}` = right.`{name}`", both) for name in names)
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), equal)
        joined = Query(nodes.Join(left.plan, right.plan, how, condition))
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

    def union(self, other: Query, *, distinct: bool = False) -> Query:
        """The rows of both; columns correspond by position."""
        both = Query(nodes.Union(*self._alike(other, "union")))
        return both.distinct() if flag(distinct, "distinct") else both

    def intersect(self, other: Query, *, all: bool = False) -> Query:
        """The rows that are in both; with `all` as often as in both."""
        return Query(
            nodes.SetOperation(*self._alike(other, "intersect"), "intersect", not flag(all, "all"))
        )

    def minus(self, other: Query, *, all: bool = False) -> Query:
        """The rows that are not in the other; with `all` as often as they are left over."""
        return Query(
            nodes.SetOperation(*self._alike(other, "minus"), "minus", not flag(all, "all"))
        )

    def _alike(self, other: Query, what: str) -> tuple[nodes.Node, nodes.Node]:
        self._meets(other, what)
        return with_common_types(self.plan, other.plan, what)

    def _meets(self, other: Query, what: str) -> None:
        if not isinstance(other, Query):
            raise PlanError(f"{what} takes another query, not a {type(other).__name__}")
        need_same_time(self.plan, other.plan)

    def top(self, k: int, by: str | Sequence[str], per: str | Sequence[str] = ()) -> Query:
        """The first k rows by an order (`"price DESC"`), of all rows or per partition."""
        if not is_whole(k) or k < 0:
            raise PlanError(f"top needs a number of rows, not {k}")
        return Query(nodes.Rank(self.plan, self._columns(per), self._order(by), name=None, limit=k))

    def rank(
        self,
        by: str | Sequence[str],
        per: str | Sequence[str] = (),
        *,
        method: nodes.RankMethod = "row_number",
        name: str = "rank",
    ) -> Query:
        """Every row with its place in an order, of all rows or per partition."""
        need_choice("the method of a rank", method, get_args(nodes.RankMethod))
        self._new_name(name)
        return Query(nodes.Rank(self.plan, self._columns(per), self._order(by), method, name))

    def over(
        self,
        *functions: str,
        by: str | Sequence[str] = (),
        per: str | Sequence[str] = (),
        frame: str = "",
        **named: str,
    ) -> Query:
        """Every row with window functions, of all rows or per partition, in an order:
        `over("avg(price) AS mean", per="symbol", by="ts", frame="ROWS 2 PRECEDING")`. A frame is
        written as in SQL; without one it goes from the first row to this one and its peers, or,
        without an order, over the whole partition. LAG and LEAD have none."""
        from driftline.sql.overs import window_function, with_functions

        partition, order = self._columns(per), self._order(by)
        texts = [*functions, *(f"{text} AS `{name}`" for name, text in named.items())]
        columns = [window_function(text, frame, order, self.schema) for text in texts]
        for column in columns:
            self._new_name(column.name)
        if not columns:
            raise PlanError("over needs window functions, such as sum(price) AS total")
        return Query(with_functions(self.plan, partition, order, *columns))

    def automaton(
        self,
        automaton: Automaton,
        *,
        sequence: str,
        symbol: str | None = None,
        per: str | Sequence[str] = (),
        partial: bool = False,
        by: By = "operator",
        transitions: Query | None = None,
    ) -> Query:
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
        by: str | Sequence[str],
        per: str | Sequence[str] = (),
        rows: nodes.RowsPerMatch = "one",
        skip: str = "past last row",
        within: Duration | None = None,
        subsets: Mapping[str, Sequence[str]] | None = None,
    ) -> Query:
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
        return Query(matched(self.plan, self._columns(per), order, written))

    def _new_name(self, name: str) -> None:
        if self.schema.find(text_of(name, "the name of a column")):
            raise PlanError(f"there is a column {name} already: give the new one another name")

    def _columns(self, texts: str | Sequence[str]) -> tuple[Expression, ...]:
        return tuple(self._expression(text) for text in several(texts))

    def _order(self, texts: str | Sequence[str]) -> tuple[nodes.OrderItem, ...]:
        return tuple(self._order_item(text) for text in several(texts))

    def _order_item(self, text: str) -> nodes.OrderItem:
        node, descending, nulls_first = parse_ordered(text)
        value = row_value(resolve(node, self.schema), text)
        if not is_orderable(value.type):
            raise PlanError(f"{text}: one cannot order by a {type_name(value.type)}")
        return nodes.OrderItem(value, descending, nulls_first)

    def changes(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        batch: int | None = None,
        emit: Emit = "ordered",
        block: Duration = 0,
        remember: Duration = "inf",
        scheduler: Scheduler = "drain",
        keep_open: bool = False,
        heartbeat: Literal["source", "operator", "memory", "query"] = "source",
        strict: bool = False,
        max_expansion: int | str = DEFAULT_EXPANSION,
        max_steps: int | str = DEFAULT_STEPS,
        outputs: Outputs = "free",
        tokens: Tokens = ADAPTIVE,
        heeding: Heeding | None = None,
        clock: Clock | None = None,
        expiry: Expiry = "piggyback",
        loop: Loops = "hybrid",
        **more: Any,
    ) -> Iterator[Update]:
        """Run the query in this process, and yield an update after every batch of input."""
        from driftline.engine import local
        from driftline.engine.options import DEFAULT_BATCH, Heartbeat
        from driftline.model.compiled import announce_compilation

        announce_compilation(sys.stderr)
        if batch is not None and (not is_whole(batch) or batch < 1):
            raise PlanError(f"batch is how many events are taken in at once, not {batch!r}")
        need_together(scheduler, outputs, heeding)
        need_choice("expiry", expiry)
        need_choice("loop", loop)
        if clock is not None:
            need_clock(clock, timestamps=self.plan.timestamps)
        flag(keep_open, "keep_open")
        if inputs is not None and not isinstance(inputs, Mapping):
            name = next(iter(self.plan.sources()), "trades")
            raise PlanError(
                f"inputs are given by the names of the streams, run({name}=…), not as a "
                f"{type(inputs).__name__}"
            )
        options = options_of(
            timestamps=self.plan.timestamps,
            emit=emit,
            block=block,
            remember=remember,
            heartbeat=heartbeat,
            heartbeats=get_args(Heartbeat),
            max_expansion=max_expansion,
            max_steps=max_steps,
            batch=batch or DEFAULT_BATCH,
            scheduler=scheduler,
            keep_open=keep_open,
            strict=strict,
            outputs=outputs,
            tokens=tokens_of(tokens),
            heeding=heeding,
            clock=clock,
            expiry=expiry,
            loop=loop,
        )
        counted, counters = None, {}
        for step in local.run(self.plan, {**(inputs or {}), **more}, options):
            if step.counters is not counted:  # several updates may come of one batch
                counted = step.counters
                counters = {str(key): each for key, each in counted.items()}
            yield Update(step.batch, step.dead, counters, step.prefix, step.now)

    def run(self, inputs: Mapping[str, Any] | None = None, **options: Any) -> Result:
        """Run the query in this process to the end of its inputs.

        Inputs are given by the names of the streams: paths (event logs, JSON Lines, CSV, Parquet),
        tables (Arrow, pandas, Polars), rows as dicts, or events. Options: `batch` (how many events
        at once), `emit` ("perfect", "ordered" or "eager"), `block` and `remember` (durations),
        `keep_open` (do not close the streams at their end), `heartbeat` (whose heartbeats a row
        waits for while it waits: those of its own source, of all that meet in the first operator,
        that with an eye on memory, or of all sources of the query), `strict` (the first dead
        letter raises `BadInput`, instead of being counted in `Result.dead_letters`),
        `max_expansion` (how many bytes a batch may become where rows are made of rows: "8GB"),
        `max_steps` (how many steps an attempt to match a pattern may take, or "inf"),
        `scheduler` ("drain" works every batch off before the next is read; "round-robin" and
        "threads" read on meanwhile), `outputs` ("marked": updates come with the prefix of the
        inputs whose exact answer they complete; "held": and only then), `tokens` (with the last
        two schedulers, how many events there are from one such mark to the next), `heeding`
        ("multiset" or "naive": find such states by labels instead, without asking for them),
        `loop` ("hybrid", "probing" or "hwm": with the last two schedulers, how a recursive query
        finds how far its answer is final while it runs).
        """
        result = Result(self.schema, is_loose(self.plan))
        for update in self.changes(inputs, **options):
            result.add(update)
        return result

    def now(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        clock: Clock = "latest",
        expiry: Expiry = "piggyback",
        **options: Any,
    ) -> Now:
        """Run the query in this process, and give its answer as it is now, as changes: + a row that
        has come, - one that has left, each with the time from which on it holds (`at`).

        `clock`: which time is now: "latest", the greatest that any source has shown; "final", how
        far the answer cannot change any more; "wall", the time of day. `expiry`: how operators hear
        that time has passed: "ita", by the rows that reach them alone; "nta", by retractions;
        "time-message" and "piggyback", by marks. Inputs and options are those of `run`.

        >>> import driftline as dl
        >>> trades = dl.stream("trades", {"symbol": "STRING"})
        >>> counts = trades.window(range=10).group_by("symbol").agg("count(*) AS n")
        >>> rows = [dl.Insert(1, dl.INFINITY, dl.Row(symbol="A")), dl.Cti(20)]
        >>> for change in counts.now(trades=rows):
        ...     print(change.op, change.at, change.row)
        + 1 {'symbol': 'A', 'n': 1}
        - 11 {'symbol': 'A', 'n': 1}
        """
        need_now(clock, options.get("emit"), timestamps=self.plan.timestamps)
        updates = self.changes(inputs, clock=clock, expiry=expiry, **options)
        return Now(self.schema, clock, updates)


@dataclass(frozen=True)
class Grouped:
    """Groups of a query's rows, waiting for their aggregates."""

    query: Query
    keys: tuple[nodes.Named, ...]

    def agg(self, *aggregates: str, **named: str | UserDefined) -> Query:
        """One row for every group: its keys, and these: `agg("count(*) AS n", top="max(price)")`.

        An item may compute with aggregates and keys: `"sum(a) / sum(b) AS share"`.
        """
        own = {name: item for name, item in named.items() if isinstance(item, UserDefined)}
        texts = {name: item for name, item in named.items() if not isinstance(item, UserDefined)}
        schema = self.query.schema
        calls: dict[AggregateCall, str] = {}
        wanted: list[tuple[str, Expression]] = []
        for name, value, text in resolved(aggregates, texts, schema):
            if not value.aggregates():
                raise PlanError(f"{text} has no aggregate in it")
            for call in value.aggregates():
                calls.setdefault(call, f"${len(calls)}")
            wanted.append((name, value))
        definitions = []
        for name, item in own.items():
            if isinstance(item.definition, type):
                raise PlanError(
                    f"{name}: give an object, {item.definition.__name__}(), not its class"
                )
            if not all(hasattr(item.definition, each) for each in ("initial", "add", "result")):
                raise PlanError(f"{name}: its definition needs the methods initial, add and result")
            argument = parse_expression(item.argument, schema)
            kind = parse_type(item.type) if isinstance(item.type, str) else canonical(item.type)
            call = AggregateCall(f"{USER_DEFINED}{name}", (argument,), kind)
            definitions.append((call.function, item.definition))
            calls[call] = f"${len(calls)}"
            wanted.append((name, call))
        grouped = nodes.Aggregate(
            self.query.plan,
            self.keys,
            tuple(nodes.Named(name, call) for call, name in calls.items()),
            tuple(definitions),
        )
        keys = {key.value: key for key in self.keys}

        def over_groups(part: Expression) -> Expression:
            # From the top: what an aggregate takes are columns of the input, keys or not.
            if part in keys:
                return Column(keys[part].name, part.type)
            if isinstance(part, AggregateCall):
                return Column(calls[part], part.type)
            return part.with_children(tuple(map(over_groups, part.children)))

        columns = [nodes.Named(key.name, Column(key.name, key.value.type)) for key in self.keys]
        columns += [nodes.Named(name, over_groups(value)) for name, value in wanted]
        known = set(grouped.schema.names)
        for column in columns:
            stray = column.value.columns() - known
            if stray:
                raise PlanError(
                    f"{column}: {min(stray)} is neither a key of the groups nor in an aggregate"
                )
        return Query(nodes.Project(grouped, tuple(columns)))
