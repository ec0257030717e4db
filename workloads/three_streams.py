"""A plan like figure 5 of Srivastava and Widom: O1 joins S1 and S2, which go together; O2 joins its
answer, which is larger, with S3, which is far behind."""

from __future__ import annotations

import driftline as dl

COLUMNS = {"k": "BIGINT", "ts": "BIGINT"}
RANGE = 2_000


def figure_5(window: int = RANGE) -> dl.Query:
    one, two, three = (
        dl.stream(f"s{n}", COLUMNS, time="ts", disorder=0).window(range=window) for n in (1, 2, 3)
    )
    first = one.alias("a").join(two.alias("b"), "a.k = b.k").select("a.k AS k", "a.ts AS x")
    return first.alias("o").join(three.alias("c"), "o.k = c.k").select("x", "c.ts AS z")
