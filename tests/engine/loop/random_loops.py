"""Random recursive queries over roots (k, n) and edges (k, a, b): a base, steps that carry k along
or change it, inputs of the loop that are windows, aggregates or other loops, and what is asked of
the answer. Rows are alive for a while, come late and are taken back."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

import driftline as dl
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import INFINITY

ROOTS = dl.stream("roots", {"k": "BIGINT", "n": "BIGINT"})
EDGES = dl.stream("edges", {"k": "BIGINT", "a": "BIGINT", "b": "BIGINT"})
PAIR = {"k": "BIGINT", "n": "BIGINT"}

Step = Callable[[dl.Query, dl.Query], dl.Query]

BASES = {
    "roots": ROOTS,
    "edges": EDGES.select("a AS k", "b AS n"),
    "some": ROOTS.where("n < 3"),
    "window": ROOTS.window(range=3),
    "groups": EDGES.group_by("k").agg("max(a) AS n"),
    "one root": ROOTS.select("CAST(7 AS BIGINT) AS k", "n"),
    "joined": ROOTS.join(EDGES.alias("f"), "roots.n = f.b").select("roots.k AS k", "f.a AS n"),
    "two": ROOTS.union(EDGES.select("k", "b AS n")),
}
LINKS = {
    "edges": EDGES.alias("e"),
    "window": EDGES.window(range=4).alias("e"),
    "distinct": EDGES.select("k", "b AS a", "a AS b").distinct().alias("e"),
    "groups": EDGES.group_by("k", "a").agg("min(b) AS b").alias("e"),
}
CARRYING: dict[str, Step] = {
    "follow": lambda r, e: r.join(e, "r.n = e.a").select("r.k AS k", "e.b AS n"),
    "of the same key": lambda r, e: r.join(e, "r.k = e.k AND r.n = e.a").select("e.k", "e.b AS n"),
    "from the right": lambda r, e: e.join(r, "r.n = e.a").select("r.k AS k", "e.b AS n"),
    "not back": lambda r, e: r.join(e, "r.n = e.b", how="anti").select(
        "r.k AS k", "(r.n + 1) % 4 AS n"
    ),
    "or itself": lambda r, e: r.join(e, "r.n = e.a", how="left").select(
        "r.k AS k", "coalesce(e.b, r.n) AS n"
    ),
    "meet": lambda r, e: (
        r.alias("p")
        .join(r.alias("q"), "p.k = q.k AND p.n < q.n")
        .join(e, "q.n = e.a")
        .select("q.k AS k", "e.b AS n")
    ),
    "once": lambda r, e: (
        r.join(e, "r.n = e.a").select("r.k AS k", "e.b AS n").distinct().where("n <> 1")
    ),
}
CHANGING: dict[str, Step] = {
    "swap": lambda r, e: r.join(e, "r.n = e.a").select("e.b AS k", "r.k AS n"),
    "count": lambda r, e: r.join(e, "r.n = e.a").select("(r.k + 1) % 3 AS k", "e.b AS n"),
    "any two": lambda r, e: (
        r.alias("p")
        .join(r.alias("q"), "p.n = q.k")
        .join(e, "q.n = e.a")
        .select("p.k AS k", "e.b AS n")
    ),
}
SELECTING: dict[str, Step] = {
    f"{function} key": lambda r, e, function=function: (  # type: ignore[misc]
        r.join(e, "r.n = e.a").group_by("e.b").agg(f"{function}(r.k) AS k").select("k", "b AS n")
    )
    for function in ("min", "max")
}
ANSWERS: dict[str, Callable[[dl.Query], dl.Query]] = {
    "all": lambda r: r,
    "by key": lambda r: r.group_by("k").agg("count(*) AS n"),
    "by node": lambda r: r.group_by("n").agg("count(*) AS m", "max(k) AS k"),
    "count": lambda r: r.agg("count(*) AS n"),
    "window": lambda r: r.window(range=2),
    "roots": lambda r: r.alias("r").join(ROOTS, "r.k = roots.k AND r.n = roots.n", how="semi"),
    "meet": lambda r: r.alias("x").join(r.alias("y"), "x.k = y.n").select("x.n AS k", "y.k AS n"),
}


DISTANCES = dl.recursive(
    "d",
    {**PAIR, "c": "BIGINT"},
    ROOTS.select("k", "n", "CAST(0 AS BIGINT) AS c"),
    lambda d: (
        d.join(EDGES.alias("e"), "d.n = e.a")
        .select("d.k AS k", "e.b AS n", "d.c + e.k AS c")
        .group_by("k", "n")
        .agg("min(c) AS c")
    ),
)


@st.composite
def loops(draw: st.DrawFn, depth: int = 1) -> dl.Query:
    """A recursive relation (k, n)."""
    if not draw(st.integers(0, 5)):
        return DISTANCES.select("k", "n + c AS n")
    base = BASES[draw(st.sampled_from(sorted(BASES)))]
    links = LINKS[draw(st.sampled_from(sorted(LINKS)))]
    if depth and draw(st.booleans()):
        links = draw(loops(depth - 1)).select("n AS k", "k AS a", "n AS b").alias("e")
    steps = draw(st.sampled_from([CARRYING, CARRYING, CHANGING, SELECTING]))
    most = 1 if steps is SELECTING else 2
    chosen = draw(st.lists(st.sampled_from(sorted(steps)), min_size=1, max_size=most, unique=True))
    name = "r" if depth else "s"

    def step(rows: dl.Query) -> dl.Query:
        one, *more = (steps[each](rows.alias("r"), links) for each in chosen)
        return one.union(*more) if more else one

    if len(chosen) == 1 and draw(st.booleans()):
        return together(name, base, step)
    return dl.recursive(name, PAIR, base, step)


def together(name: str, base: dl.Query, step: Callable[[dl.Query], dl.Query]) -> dl.Query:
    """The steps of even numbers, and in another rule those of odd ones."""
    even, odd = f"{name} even", f"{name} odd"
    found: dict[str, dl.Query] = dl.recursive_together(
        {
            even: (PAIR, lambda names: base.union(step(names[odd]))),
            odd: (PAIR, lambda names: step(names[even])),
        }
    )
    return found[even].union(found[odd])


@st.composite
def queries(draw: st.DrawFn) -> dl.Query:
    """What is asked of a loop, or of two."""
    answer = ANSWERS[draw(st.sampled_from(sorted(ANSWERS)))]
    found = draw(loops())
    if not draw(st.integers(0, 3)):
        found = found.union(draw(loops(0)))
    return answer(found)


@st.composite
def arrivals(draw: st.DrawFn) -> dict[str, list[Event]]:
    """Rows of both streams, most of them alive together: some retracted later, some late; and ctis,
    not all of which are kept, so that there are dead letters."""
    random = draw(st.randoms(use_true_random=True))
    return {
        "roots": _events(random, 4, lambda: dl.Row(k=random.randrange(4), n=random.randrange(3))),
        "edges": _events(
            random,
            7,
            lambda: dl.Row(k=random.randrange(4), a=random.randrange(3), b=random.randrange(3)),
        ),
    }


def _events(random: Random, most: int, row: Callable[[], Row]) -> list[Event]:
    found: list[tuple[int, Event]] = []
    for _ in range(random.randint(2, most)):
        vs, new, came = random.randrange(6), row(), random.randrange(8)
        ve = random.choice([INFINITY, INFINITY, vs + random.randint(2, 8)])
        found.append((came, Insert(vs, ve, new)))
        if not random.randrange(3):
            end = random.randrange(vs, min(ve, 12))
            found.append((came + random.randrange(6), Retract(vs, ve, end, new)))
    if random.randrange(3):
        found += ((came, Cti(came - random.randint(1, 6))) for came in range(3, 12, 4))
    return [event for _, event in sorted(found, key=lambda item: item[0])]
