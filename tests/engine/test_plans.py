"""Random plans of several operators against the reference.

At the level `eager` the answer after every batch is the reference's for the input so far; at every
level it is, once the streams are closed. Snapshot and restore in the middle change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.plain import batch_of, events_of
from driftline.model import reference as ref
from driftline.model.event import CLOSE, Cti, Event
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.reference import Level, Order, aggregates
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan import nodes
from driftline.plan.expressions import Column
from driftline.plan.lifetimes import is_loose
from driftline.plan.nodes.sources import FIRST_TICK
from driftline.plan.types import BIGINT
from driftline.testing import interleaved, streams
from driftline.testing.driving import as_batched
from tests.matches import match_node, meaning

COLUMNS = {"k": st.sampled_from(["a", "b", None]), "x": st.one_of(st.none(), st.integers(-2, 3))}
KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
ARRIVALS = interleaved(streams(COLUMNS, max_size=4), streams(COLUMNS, max_size=3))
S = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
T = dl.stream("t", {"k": "STRING", "x": "BIGINT"})


@dataclass(frozen=True)
class Both:
    """A query with the columns k and x, and what it means."""

    query: dl.Query
    meaning: Callable[[History, History], History]


def k(row: Row) -> object:
    return row["k"]


def x(row: Row) -> object:
    return row["x"]


def of(key: str) -> Callable[[Row], object]:
    """x of the rows with a key."""
    return lambda row: row["x"] if row["k"] == key else None


def same_key(one: Row, other: Row) -> bool | None:
    if one["k"] is None or other["k2"] is None:
        return None
    return bool(one["k"] == other["k2"])


def renamed(history: History) -> History:
    return ref.project(history, lambda row: {"k2": row["k"], "x2": row["x"]})


def kx(history: History) -> History:
    return ref.project(history, lambda row: {"k": row["k"], "x": row["x"]})


def windowed(
    window: Callable[[dl.Query], dl.Query], meaning: Callable[[History], History]
) -> Callable[[Both], Both]:
    """A window goes by lifetimes: those of an input that has only snapshots are its stretches."""

    def over(p: Both) -> Both:
        exact = ref.coalesce if is_loose(p.query.plan) else lambda history: history
        return Both(window(p.query), lambda s, t: meaning(exact(p.meaning(s, t))))

    return over


RISES = match_node(
    {"k": "STRING", "x": "BIGINT"},
    "A+ B",
    {"B": "x > PREV(x)"},
    {"x": "sum(x)"},
    per=["k"],
    by=["x"],
)


ONE: dict[str, Callable[[Both], Both]] = {
    "sliding": windowed(lambda q: q.window(range=3), lambda h: ref.sliding(h, 3)),
    "hopping": windowed(lambda q: q.window(range=4, slide=2), lambda h: ref.hopping(h, 4, 2)),
    "point at the end": windowed(
        lambda q: q.window(start="ve", duration=2),
        lambda h: ref.alter_lifetime(h, lambda vs, ve: ve, lambda vs, ve: 2),
    ),
    "a tick longer": windowed(
        lambda q: q.window(start="vs", duration="ve - vs + 1"),
        lambda h: ref.alter_lifetime(
            h, lambda vs, ve: vs, lambda vs, ve: INFINITY if ve == INFINITY else ve - vs + 1
        ),
    ),
    "clip": lambda p: Both(
        type(p.query)(nodes.Clip(p.query.plan, Column("x", BIGINT), 1, "since")),
        lambda s, t: ref.clip_since(
            p.meaning(s, t), lambda row: None if row["x"] is None else row["x"] + 1
        ),
    ),
    "tumble": windowed(
        lambda q: q.tumble(5).select("k", "x + window_start AS x"),
        lambda h: ref.project(
            ref.tumble(h, 5),
            lambda row: {
                "k": row["k"],
                "x": None if row["x"] is None else row["x"] + row["window_start"],
            },
        ),
    ),
    "session": windowed(
        lambda q: q.session(3, per="k", at_most=7), lambda h: ref.session(h, 3, k, 7)
    ),
    "session columns": windowed(
        lambda q: q.session(3, per="k", columns=True).select("k", "window_end - window_start AS x"),
        lambda h: ref.project(
            ref.session_columns(h, 3, k),
            lambda row: {"k": row["k"], "x": row["window_end"] - row["window_start"]},
        ),
    ),
    "by session": windowed(
        lambda q: (
            q.session(3, per="k", at_most=7, columns=True)
            .where("x > 0 OR x IS NULL")
            .group_by("window_end", "k", "window_start")
            .agg("sum(x) AS s")
            .select("k", "coalesce(s, 0) + window_end - window_start AS x")
        ),
        lambda h: ref.project(
            ref.group_by(
                ref.select(
                    ref.session_columns(h, 3, k, 7), lambda row: row["x"] is None or row["x"] > 0
                ),
                {"k": k, "a": lambda row: row["window_start"], "b": lambda row: row["window_end"]},
                {"s": aggregates.sum_(x)},
            ),
            lambda row: {"k": row["k"], "x": (row["s"] or 0) + row["b"] - row["a"]},
        ),
    ),
    "by part of a session": windowed(
        lambda q: (
            q.session(3, per="k", columns=True)
            .group_by("k", "window_start", "x")
            .agg("max(window_end) AS b", "count(*) AS n")
            .select("k", "x + b - window_start + n AS x")
        ),
        lambda h: ref.project(
            ref.group_by(
                ref.session_columns(h, 3, k),
                {"k": k, "a": lambda row: row["window_start"], "x": x},
                {"b": aggregates.max_(lambda row: row["window_end"]), "n": aggregates.count_all()},
            ),
            lambda row: {
                "k": row["k"],
                "x": None if row["x"] is None else row["x"] + row["b"] - row["a"] + row["n"],
            },
        ),
    ),
    "stitch": lambda p: Both(p.query.stitch(), lambda s, t: ref.coalesce(p.meaning(s, t))),
    "cumulate": windowed(
        lambda q: dl.sql("SELECT k, x + window_end AS x FROM CUMULATE(q, 2, 4)", q=q),
        lambda h: ref.project(
            ref.cumulate(h, 2, 4),
            lambda row: {
                "k": row["k"],
                "x": None if row["x"] is None else row["x"] + row["window_end"],
            },
        ),
    ),
    "pivot": lambda p: Both(
        dl.sql("SELECT 'a' AS k, a - b AS x FROM q PIVOT (sum(x) FOR k IN ('a', 'b'))", q=p.query),
        lambda s, t: ref.project(
            ref.group_by(p.meaning(s, t), {}, {key: aggregates.sum_(of(key)) for key in "ab"}),
            lambda row: {
                "k": "a",
                "x": None if None in (row["a"], row["b"]) else row["a"] - row["b"],
            },
        ),
    ),
    "unpivot": lambda p: Both(
        dl.sql(
            "SELECT name AS k, v AS x FROM (SELECT x AS a, x - 1 AS b FROM q) "
            "UNPIVOT (v FOR name IN (a, b))",
            q=p.query,
        ),
        lambda s, t: ref.project(
            ref.explode(
                p.meaning(s, t),
                lambda row: (
                    []
                    if row["x"] is None
                    else [{"name": "a", "v": row["x"]}, {"name": "b", "v": row["x"] - 1}]
                ),
            ),
            lambda row: {"k": row["name"], "x": row["v"]},
        ),
    ),
    "first": windowed(
        lambda q: q.group_by("k").agg("first(x) AS x"),
        lambda h: ref.group_by(h, {"k": k}, {"x": aggregates.first(x)}),
    ),
    "last of all": windowed(
        lambda q: q.agg("last(x) AS x").select("'a' AS k", "x"),
        lambda h: ref.project(
            ref.group_by(h, {}, {"x": aggregates.last(x)}), lambda row: {"k": "a", "x": row["x"]}
        ),
    ),
    "where": lambda p: Both(
        p.query.where("x > 0"),
        lambda s, t: ref.select(
            p.meaning(s, t), lambda row: None if row["x"] is None else row["x"] > 0
        ),
    ),
    "project": lambda p: Both(
        p.query.select("k", "coalesce(x, 1) + 1 AS x"),
        lambda s, t: ref.project(
            p.meaning(s, t),
            lambda row: {"k": row["k"], "x": (1 if row["x"] is None else row["x"]) + 1},
        ),
    ),
    "explode": lambda p: Both(
        p.query.explode("array(x, 1)", "y").select("k", "y AS x"),
        lambda s, t: ref.project(
            ref.explode(p.meaning(s, t), lambda row: [{"y": row["x"]}, {"y": 1}]),
            lambda row: {"k": row["k"], "x": row["y"]},
        ),
    ),
    "match": lambda p: Both(
        p.query.match("A+ B", {"B": "x > PREV(x)"}, "sum(x) AS x", per="k", by="x").select(
            "k", "x"
        ),
        lambda s, t: meaning(RISES)(p.meaning(s, t)),
    ),
    "mode": lambda p: Both(
        p.query.group_by("k").agg("mode(x) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.mode(x)}),
    ),
    "min by": lambda p: Both(
        p.query.group_by("k").agg("max_by(x, -x) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.min_(x)}),
    ),
    "distinct": lambda p: Both(p.query.distinct(), lambda s, t: ref.distinct(p.meaning(s, t))),
    "sum": lambda p: Both(
        p.query.group_by("k").agg("sum(x) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.sum_(x)}),
    ),
    "count": lambda p: Both(
        p.query.group_by("k").agg("count(*) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.count_all()}),
    ),
    "max": lambda p: Both(
        p.query.group_by("k").agg("max(x) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.max_(x)}),
    ),
    "distinct count": lambda p: Both(
        p.query.group_by("k").agg("count(DISTINCT x) AS x"),
        lambda s, t: ref.group_by(p.meaning(s, t), {"k": k}, {"x": aggregates.count_distinct(x)}),
    ),
    "top": lambda p: Both(
        p.query.top(1, by="x DESC", per="k"),
        lambda s, t: ref.top_k(p.meaning(s, t), 1, [Order(x, descending=True)], [k]),
    ),
    "over": lambda p: Both(
        p.query.over("sum(x) AS s", per="k", by="x", frame="ROWS 1 PRECEDING").select(
            "k", "s AS x"
        ),
        lambda s, t: ref.project(
            ref.over(
                p.meaning(s, t),
                {"s": (ref.Frame("rows", -1, 0), ref.of_frame(aggregates.sum_(x)))},
                [Order(x)],
                [k],
            ),
            lambda row: {"k": row["k"], "x": row["s"]},
        ),
    ),
    "nearest": lambda p: Both(
        p.query.top(1, by=["abs(x - 1) NULLS LAST", "x"], per="coalesce(k, 'a')"),
        lambda s, t: ref.top_k(
            p.meaning(s, t),
            1,
            [
                Order(lambda row: None if row["x"] is None else abs(row["x"] - 1), False, False),
                Order(x),
            ],
            [lambda row: "a" if row["k"] is None else row["k"]],
        ),
    ),
}
TWO: dict[str, Callable[[Both, Both], Both]] = {
    "union": lambda p, q: Both(
        p.query.union(q.query), lambda s, t: ref.union_all(p.meaning(s, t), q.meaning(s, t))
    ),
    "intersect all": lambda p, q: Both(
        p.query.intersect(q.query, all=True),
        lambda s, t: ref.intersect_all(p.meaning(s, t), q.meaning(s, t)),
    ),
    "minus": lambda p, q: Both(
        p.query.minus(q.query), lambda s, t: ref.minus(p.meaning(s, t), q.meaning(s, t))
    ),
    "join": lambda p, q: Both(
        p.query.alias("l").join(q.query.alias("r"), "l.k = r.k").select("l.k", "r.x"),
        lambda s, t: ref.project(
            ref.inner_join(p.meaning(s, t), renamed(q.meaning(s, t)), same_key),
            lambda row: {"k": row["k"], "x": row["x2"]},
        ),
    ),
    "as-of join": lambda p, q: Both(
        p.query.alias("l")
        .as_of(q.query.distinct().alias("r"), "l.k = r.k AND l.x >= r.x", "left")
        .select("l.k", "r.x"),
        lambda s, t: ref.project(
            ref.as_of_join(
                p.meaning(s, t),
                renamed(ref.distinct(q.meaning(s, t))),
                same_key,
                lambda row: row["x"],
                lambda row: row["x2"],
                lambda row: 0,
                ["k2", "x2"],
            ),
            lambda row: {"k": row["k"], "x": row["x2"]},
        ),
    ),
    "until": lambda p, q: Both(
        p.query.alias("l").until(q.query.alias("r"), "l.k = r.k"),
        lambda s, t: ref.until(
            ref.coalesce(p.meaning(s, t)) if is_loose(p.query.plan) else p.meaning(s, t),
            renamed(ref.starts(q.meaning(s, t)) if is_loose(q.query.plan) else q.meaning(s, t)),
            same_key,
        ),
    ),
    "left join": lambda p, q: Both(
        p.query.alias("l").join(q.query.alias("r"), "l.k = r.k", "left").select("l.k", "r.x"),
        lambda s, t: ref.project(
            ref.left_join(p.meaning(s, t), renamed(q.meaning(s, t)), same_key, ["k2", "x2"]),
            lambda row: {"k": row["k"], "x": row["x2"]},
        ),
    ),
    "anti join": lambda p, q: Both(
        p.query.join(q.query, on="k", how="anti"),
        lambda s, t: ref.anti_join(p.meaning(s, t), renamed(q.meaning(s, t)), same_key),
    ),
    "semi join": lambda p, q: Both(
        p.query.join(q.query, on="k", how="semi"),
        lambda s, t: ref.semi_join(p.meaning(s, t), renamed(q.meaning(s, t)), same_key),
    ),
}
LEAVES = st.sampled_from(
    [
        Both(S, lambda s, t: s),
        Both(T, lambda s, t: t),
        Both(S.window(range=3), lambda s, t: ref.sliding(s, 3)),
        Both(T.window(range=4, slide=2), lambda s, t: ref.hopping(t, 4, 2)),
    ]
)


def plans_of(
    leaves: st.SearchStrategy[Both], operators: Collection[str]
) -> st.SearchStrategy[Both]:
    def extended(plans: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
        one = st.tuples(st.sampled_from(sorted(operators)), plans).map(
            lambda made: ONE[made[0]](made[1])
        )
        two = st.tuples(st.sampled_from(sorted(TWO)), plans, plans).map(
            lambda made: TWO[made[0]](made[1], made[2])
        )
        return st.one_of(one, two)

    return extended(st.recursive(leaves, extended, max_leaves=4))


PLANS = plans_of(LEAVES, ONE)

# Rows of a query itself, more than a batch may have: they are there before the first event.
VALUES = [Row(k="a", x=1), Row(k="b", x=2), Row(k=None, x=0), Row(k="a", x=1), Row(k="c", x=None)]
CONSTANT = Both(
    dl.sql(
        "SELECT * FROM VALUES ('a', 1L), ('b', 2L), (NULL, 0L), ('a', 1L), ('c', NULL) v (k, x)"
    ),
    lambda s, t: History(Lifetime(FIRST_TICK, INFINITY, row) for row in VALUES),
)
PLANS_WITH_CONSTANTS = plans_of(LEAVES | st.just(CONSTANT), ONE)


def run(
    plan: Both, arrivals: list[tuple[int, Event]], level: Level, size: int, move_at: int = -1
) -> None:
    emitted: list[Event] = []
    came: list[tuple[int, Event]] = []
    out: list[Batch] = []
    graph = compile_plan(plan.query.plan, out.append, level)
    used = plan.query.plan.sources()
    for start in range(0, len(arrivals), size):
        if start // size == move_at:
            states = graph.snapshot()
            graph = compile_plan(plan.query.plan, out.append, level)
            graph.restore(states)
        for port, name in enumerate("st"):
            events = [event for which, event in arrivals[start : start + size] if which == port]
            if not events or name not in used:
                continue
            came += [(port, event) for event in as_batched(events)]
            out.clear()
            graph.push(name, batch_of(events, KX))
            emitted += [event for batch in out for event in events_of(batch)]
            if level is Level.EAGER:
                compare(plan, came, emitted)
    compare(plan, came, emitted)
    assert not breaches(emitted)


def promised(events: Iterable[Event]) -> int:
    return max((event.t for event in events if isinstance(event, Cti)), default=BEGINNING)


def compare(plan: Both, came: list[tuple[int, Event]], emitted: list[Event]) -> None:
    s, t = (canonical_history(e for which, e in came if which == port) for port in (0, 1))
    assert canonical_history(emitted).same_snapshots(plan.meaning(s, t))


@settings(max_examples=150)
@given(PLANS, ARRIVALS, st.sampled_from(Level), st.sampled_from([1, 3, 100]), st.integers(0, 4))
def test_random_plans_are_their_references(
    plan: Both, arrivals: list[tuple[int, Event]], level: Level, size: int, move_at: int
) -> None:
    run(plan, [*arrivals, (0, CLOSE), (1, CLOSE)], level, size, move_at)


# A hopping window is final at the next multiple of its slide: all others as far as what comes in.
PLANS_OF_ONE_CTI = plans_of(
    st.sampled_from([Both(S, lambda s, t: s), Both(T, lambda s, t: t)]), ONE.keys() - {"hopping"}
)


@settings(max_examples=100)
@given(
    PLANS_OF_ONE_CTI,
    ARRIVALS,
    st.sampled_from([Level.ORDERED, Level.EAGER]),
    st.sampled_from([1, 3, 100]),
)
def test_answers_are_final_as_far_as_the_inputs_are(
    plan: Both, arrivals: list[tuple[int, Event]], level: Level, size: int
) -> None:
    out: list[Batch] = []
    graph = compile_plan(plan.query.plan, out.append, level)
    used = [port for port, name in enumerate("st") if name in plan.query.plan.sources()]
    for start in range(0, len(arrivals), size):
        chunk = arrivals[start : start + size]
        for port in used:
            events = [event for which, event in chunk if which == port]
            graph.push("st"[port], batch_of(events, KX))
        so_far = arrivals[: start + size]
        ctis = [promised(event for which, event in so_far if which == port) for port in used]
        assert max((batch.cti for batch in out), default=BEGINNING) == min(ctis)
