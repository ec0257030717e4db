"""Recursive programs, each twice: as a plan and for the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import driftline as dl
from driftline.api import Query
from driftline.model.history import History
from driftline.model.reference import (
    anti_join,
    distinct,
    inner_join,
    left_join,
    project,
    select,
    union_all,
)
from driftline.plan import nodes
from driftline.plan.recursion import LIMIT, fixed_point
from driftline.plan.types import Schema

Reached = Mapping[str, History]

EDGES = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT"})
LINKS = EDGES.alias("e")
ROOTS = dl.stream("roots", {"n": "BIGINT"})
NODE, PAIR = Schema.of({"n": "BIGINT"}), Schema.of({"a": "BIGINT", "b": "BIGINT"})


@dataclass(frozen=True)
class Program:
    """`rules`: by name the columns, the body and whether it is a set; `bodies`: what the reference
    does for each, given what is reached, the roots and the edges. `acyclic`: whether it needs edges
    that lead upwards."""

    rules: tuple[nodes.Rule, ...]
    bodies: Mapping[str, Callable[[Reached, History, History], History]]
    acyclic: bool = False

    @cached_property
    def loop(self) -> nodes.Loop:
        answers = fixed_point(self.rules, LIMIT).values()
        return next(
            node for plan in answers for node in plan.walk() if isinstance(node, nodes.Loop)
        )


def back(name: str, columns: Schema) -> Query:
    return Query(nodes.Back(name, columns))


def followed(start: Query, on: str = "r.n = e.a") -> Query:
    return start.alias("r").join(LINKS, on).select("e.b AS n")


def follow(reached: History, edges: History) -> History:
    pairs = inner_join(reached, edges, lambda at, edge: at["n"] == edge["a"])
    return project(pairs, lambda row: {"n": row["b"]})


def longer(one: History, other: History) -> History:
    pairs = inner_join(
        project(one, lambda row: {"x": row["a"], "z": row["b"]}),
        project(other, lambda row: {"at": row["a"], "y": row["b"]}),
        lambda left, right: left["z"] == right["at"],
    )
    return project(pairs, lambda row: {"a": row["x"], "b": row["y"]})


def rule(name: str, columns: Schema, body: Query, *, bag: bool = False) -> nodes.Rule:
    return nodes.Rule(name, columns, body.plan, not bag)


REACH = Program(
    (rule("s", NODE, ROOTS.union(followed(back("s", NODE)))),),
    {"s": lambda s, roots, edges: distinct(union_all(roots, follow(s["s"], edges)))},
)

_P = back("s", PAIR)
CLOSURE = Program(
    (
        rule(
            "s",
            PAIR,
            EDGES.union(
                _P.alias("p").join(_P.alias("q"), "p.b = q.a").select("p.a AS a", "q.b AS b")
            ),
        ),
    ),
    {"s": lambda s, roots, edges: distinct(union_all(edges, longer(s["s"], s["s"])))},
)

PATHS = Program(
    (rule("s", NODE, ROOTS.union(followed(back("s", NODE))), bag=True),),
    {"s": lambda s, roots, edges: union_all(roots, follow(s["s"], edges))},
    acyclic=True,
)

ALL_PATHS = Program(
    (
        rule(
            "s",
            PAIR,
            EDGES.union(
                _P.alias("p").join(_P.alias("q"), "p.b = q.a").select("p.a AS a", "q.b AS b")
            ),
            bag=True,
        ),
    ),
    {"s": lambda s, roots, edges: union_all(edges, longer(s["s"], s["s"]))},
    acyclic=True,
)

EVEN_AND_ODD = Program(
    (
        rule("even", NODE, ROOTS.union(followed(back("odd", NODE)))),
        rule("odd", NODE, followed(back("even", NODE))),
    ),
    {
        "even": lambda s, roots, edges: distinct(union_all(roots, follow(s["odd"], edges))),
        "odd": lambda s, roots, edges: distinct(follow(s["even"], edges)),
    },
)

# A set that a bag is counted from, and several branches, one of which only selects.
SEVERAL = Program(
    (
        rule(
            "found",
            NODE,
            ROOTS.union(followed(back("found", NODE)).distinct().where("n > 0")).union(
                back("found", NODE).where("n < 2").select("n + 1 AS n")
            ),
        ),
        rule(
            "counted",
            NODE,
            ROOTS.union(followed(back("counted", NODE), "r.n = e.a AND e.a < e.b")).union(
                back("found", NODE).where("n = 1")
            ),
            bag=True,
        ),
    ),
    {
        "found": lambda s, roots, edges: distinct(
            union_all(
                union_all(
                    roots,
                    select(distinct(follow(s["found"], edges)), lambda row: row["n"] > 0),
                ),
                project(
                    select(s["found"], lambda row: row["n"] < 2),
                    lambda row: {"n": row["n"] + 1},
                ),
            )
        ),
        "counted": lambda s, roots, edges: union_all(
            union_all(
                roots,
                follow(s["counted"], select(edges, lambda row: row["a"] < row["b"])),
            ),
            select(s["found"], lambda row: row["n"] == 1),
        ),
    },
)

# Only nodes that are not roots, and with the number of edges that lead on from them.
AROUND = Program(
    (
        rule(
            "s",
            PAIR,
            LINKS.union(
                back("s", PAIR)
                .alias("p")
                .join(ROOTS, "p.b = roots.n", how="anti")
                .join(LINKS, "p.b = e.a", how="left")
                .select("p.b AS a", "e.b AS b")
            ),
        ),
    ),
    {
        "s": lambda s, roots, edges: distinct(
            union_all(
                edges,
                project(
                    left_join(
                        anti_join(s["s"], roots, lambda pair, root: pair["b"] == root["n"]),
                        project(edges, lambda row: {"at": row["a"], "y": row["b"]}),
                        lambda pair, edge: pair["b"] is not None and pair["b"] == edge["at"],
                        ["at", "y"],
                    ),
                    lambda row: {"a": row["b"], "b": row["y"]},
                ),
            )
        )
    },
)

PROGRAMS = {
    "around": AROUND,
    "reach": REACH,
    "closure": CLOSURE,
    "paths": PATHS,
    "all paths": ALL_PATHS,
    "even and odd": EVEN_AND_ODD,
    "several": SEVERAL,
}
