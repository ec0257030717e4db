"""Recursive programs with min and max inside the loop, each twice: as a plan and for the reference.

The edges have the columns a, b and w; the roots those of the program, as its base.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import driftline as dl
from driftline.api import Query
from driftline.model.history import History
from driftline.model.reference import aggregates as of
from driftline.model.reference import (
    distinct,
    group_by,
    inner_join,
    project,
    select,
    union_all,
)
from driftline.plan.types import Schema
from tests.engine.loop.programs import Program, back, rule

EDGES = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT", "c": "BIGINT"})
LINKS = EDGES.alias("e")
DISTANCE = Schema.of({"n": "BIGINT", "c": "BIGINT"})


def along(reached: Query, value: str = "r.c + e.c") -> Query:
    """What a row of `reached` brings to the next node."""
    return reached.alias("r").join(LINKS, "r.n = e.a").select("e.b AS n", f"{value} AS c")


def least(rows: Query) -> Query:
    return rows.group_by("n").agg("min(c) AS c")


def start(columns: Schema) -> Query:
    return dl.stream("roots", {each.name: each.type for each in columns})


def go(
    reached: History,
    edges: History,
    value: Callable[[Any, Any], Any] = lambda reached, edge: reached + edge,
) -> History:
    named = project(reached, lambda row: {"from": row["n"], "value": row["c"]})
    pairs = inner_join(named, edges, lambda r, e: r["from"] == e["a"])
    return project(pairs, lambda row: {"n": row["b"], "c": value(row["value"], row["c"])})


def best(rows: History, aggregate: Callable[..., Any] = of.min_) -> History:
    return group_by(rows, {"n": lambda row: row["n"]}, {"c": aggregate(lambda row: row["c"])})


START = start(DISTANCE)

# The minimum of each step, beside the roots: a node may have two rows.
OF_THE_STEP = Program(
    (rule("s", DISTANCE, START.union(least(along(back("s", DISTANCE))))),),
    {"s": lambda s, roots, edges: distinct(union_all(roots, best(go(s["s"], edges))))},
)

# The minimum of roots and step: shortest distances.
OF_BOTH = Program(
    (rule("s", DISTANCE, least(START.union(along(back("s", DISTANCE)))), bag=True),),
    {"s": lambda s, roots, edges: best(union_all(roots, go(s["s"], edges)))},
)

# The same in rows of a bag, each of them twice.
TWICE = Program(
    (
        rule(
            "s",
            DISTANCE,
            START.union(least(along(back("s", DISTANCE)))).union(START),
            bag=True,
        ),
    ),
    {"s": lambda s, roots, edges: union_all(union_all(roots, best(go(s["s"], edges))), roots)},
)

# The widest way: of each way the narrowest edge, and of these the greatest.
WIDEST = Program(
    (
        rule(
            "s",
            DISTANCE,
            START.union(along(back("s", DISTANCE), "least(r.c, e.c)"))
            .group_by("n")
            .agg("max(c) AS c"),
        ),
    ),
    {
        "s": lambda s, roots, edges: best(
            union_all(
                roots,
                go(s["s"], edges, min),
            ),
            of.max_,
        )
    },
)

_PAIR = Schema.of({"a": "BIGINT", "b": "BIGINT", "c": "BIGINT"})
_P = back("s", _PAIR)


def _composed(s: History) -> History:
    one = project(s, lambda row: {"x": row["a"], "z": row["b"], "c": row["c"]})
    other = project(s, lambda row: {"at": row["a"], "y": row["b"], "d": row["c"]})
    pairs = inner_join(one, other, lambda left, right: left["z"] == right["at"])
    return project(pairs, lambda row: {"a": row["x"], "b": row["y"], "c": row["c"] + row["d"]})


# All distances, by joining ways of any length.
ALL_PAIRS = Program(
    (
        rule(
            "s",
            _PAIR,
            EDGES.union(
                _P.alias("p")
                .join(_P.alias("q"), "p.b = q.a")
                .select("p.a AS a", "q.b AS b", "p.c + q.c AS c")
            )
            .group_by("a", "b")
            .agg("min(c) AS c"),
            bag=True,
        ),
    ),
    {
        "s": lambda s, roots, edges: group_by(
            union_all(
                edges,
                _composed(s["s"]),
            ),
            {"a": lambda row: row["a"], "b": lambda row: row["b"]},
            {"c": of.min_(lambda row: row["c"])},
        )
    },
)

# Distances over an even and an odd number of edges; nodes that are near, and what follows them.
MUTUAL = Program(
    (
        rule("even", DISTANCE, START.union(along(back("odd", DISTANCE)).distinct()), bag=True),
        rule("odd", DISTANCE, least(along(back("even", DISTANCE)))),
        rule(
            "near",
            Schema.of({"n": "BIGINT"}),
            back("odd", DISTANCE)
            .where("c < 3")
            .select("n")
            .union(
                back("near", Schema.of({"n": "BIGINT"}))
                .alias("r")
                .join(LINKS, "r.n = e.a AND e.c > 0")
                .select("e.b AS n")
            ),
        ),
    ),
    {
        "even": lambda s, roots, edges: union_all(roots, distinct(go(s["odd"], edges))),
        "odd": lambda s, roots, edges: distinct(best(go(s["even"], edges))),
        "near": lambda s, roots, edges: distinct(
            union_all(
                project(select(s["odd"], lambda row: row["c"] < 3), lambda row: {"n": row["n"]}),
                project(
                    inner_join(
                        project(s["near"], lambda row: {"from": row["n"]}),
                        edges,
                        lambda r, e: r["from"] == e["a"] and e["c"] > 0,
                    ),
                    lambda row: {"n": row["b"]},
                ),
            )
        ),
    },
)

_RANGE = Schema.of({"n": "BIGINT", "low": "BIGINT", "high": "BIGINT", "late": "BIGINT"})

# Several aggregates, one with a condition, over groups by an expression, and HAVING.
SEVERAL = Program(
    (
        rule(
            "s",
            _RANGE,
            start(_RANGE).union(
                back("s", _RANGE)
                .alias("r")
                .join(LINKS, "r.n = e.a AND r.low <= e.c + 1")
                .group_by(n="(e.b + 1) % 4")
                .agg(
                    "min(r.low) AS low",
                    "max(r.high) AS high",
                    "max(e.c) FILTER (WHERE e.c > 1) AS late",
                )
                .where("low < 3")
            ),
        ),
    ),
    {
        "s": lambda s, roots, edges: distinct(
            union_all(
                roots,
                select(
                    group_by(
                        inner_join(
                            project(
                                s["s"],
                                lambda row: {
                                    "from": row["n"],
                                    "low": row["low"],
                                    "high": row["high"],
                                },
                            ),
                            edges,
                            lambda r, e: r["from"] == e["a"] and r["low"] <= e["c"] + 1,
                        ),
                        {"n": lambda row: (row["b"] + 1) % 4},
                        {
                            "low": of.min_(lambda row: row["low"]),
                            "high": of.max_(lambda row: row["high"]),
                            "late": of.max_(lambda row: row["c"] if row["c"] > 1 else None),
                        },
                    ),
                    lambda row: row["low"] < 3,
                ),
            )
        )
    },
)

_ONE = Schema.of({"c": "BIGINT"})

# One group of all rows; and groups without an aggregate.
GLOBAL = Program(
    (
        rule(
            "s",
            _ONE,
            start(_ONE)
            .union(back("s", _ONE).alias("r").join(LINKS, "true").select("least(r.c, e.c) AS c"))
            .agg("min(c) AS c"),
            bag=True,
        ),
    ),
    {
        "s": lambda s, roots, edges: group_by(
            union_all(
                roots,
                project(
                    inner_join(
                        project(s["s"], lambda row: {"least": row["c"]}), edges, lambda r, e: True
                    ),
                    lambda row: {"c": min(row["least"], row["c"])},
                ),
            ),
            {},
            {"c": of.min_(lambda row: row["c"])},
        )
    },
)

_LABEL, _NODE = Schema.of({"c": "BIGINT", "n": "BIGINT"}), Schema.of({"n": "BIGINT"})

# Shortest distances with the columns in another order, of ways that are distinct, and a set of
# nodes that are near: all that is worse may stay.
NEAR = Program(
    (
        rule(
            "d",
            _LABEL,
            least(start(_LABEL).select("n", "c").union(along(back("d", _LABEL)).distinct())).select(
                "c", "n"
            ),
            bag=True,
        ),
        rule(
            "near",
            _NODE,
            back("d", _LABEL)
            .where("c < 3")
            .select("n")
            .union(
                back("near", _NODE)
                .alias("r")
                .join(LINKS, "r.n = e.a AND e.c > 1")
                .select("e.b AS n")
            ),
        ),
    ),
    {
        "d": lambda s, roots, edges: project(
            best(union_all(roots, distinct(go(s["d"], edges)))),
            lambda row: {"c": row["c"], "n": row["n"]},
        ),
        "near": lambda s, roots, edges: distinct(
            union_all(
                project(select(s["d"], lambda row: row["c"] < 3), lambda row: {"n": row["n"]}),
                project(
                    inner_join(
                        project(s["near"], lambda row: {"from": row["n"]}),
                        edges,
                        lambda r, e: r["from"] == e["a"] and e["c"] > 1,
                    ),
                    lambda row: {"n": row["b"]},
                ),
            )
        ),
    },
)

SELECTIONS = {
    "near": NEAR,
    "of the step": OF_THE_STEP,
    "of both": OF_BOTH,
    "twice": TWICE,
    "widest": WIDEST,
    "all pairs": ALL_PAIRS,
    "mutual": MUTUAL,
    "several": SEVERAL,
    "global": GLOBAL,
}


@cache
def labels(kind: str, function: str) -> Program:
    """The least or greatest label of the roots that lead to a node."""
    columns = Schema.of({"n": "BIGINT", "c": kind})
    aggregate = of.min_ if function == "min" else of.max_
    return Program(
        (
            rule(
                "s",
                columns,
                start(columns)
                .union(along(back("s", columns), "r.c"))
                .group_by("n")
                .agg(f"{function}(c) AS c"),
            ),
        ),
        {
            "s": lambda s, roots, edges: best(
                union_all(roots, go(s["s"], edges, lambda label, edge: label)), aggregate
            )
        },
    )
