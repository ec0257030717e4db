"""The examples of the page on recursion, and the paper's four steps in time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import driftline as dl

PAGE = (Path(__file__).parents[2] / "docs" / "recursion.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.S)


def alive(query: dl.Query, t: int, **streams: Any) -> set[tuple[object, ...]]:
    rows = query.run(**streams).history().to_pylist()
    return {
        tuple(row.values())[2:]
        for row in rows
        if row["vs"] <= t and (row["ve"] is None or t < row["ve"])
    }


def test_reachability_time_by_time() -> None:
    # Section 2 of the paper: n2 and n3 are sources; a link is retracted at time 5.
    sources = [dl.Insert(1, dl.INFINITY, dl.Row(n=n)) for n in ("n2", "n3")]
    came = [(2, "n3", "n1"), (3, "n1", "n2"), (3, "n2", "n3"), (4, "n3", "n4")]
    links: list[dl.Insert | dl.Retract] = [
        dl.Insert(t, dl.INFINITY, dl.Row(a=a, b=b)) for t, a, b in came
    ]
    links.append(dl.Retract(2, dl.INFINITY, 5, dl.Row(a="n3", b="n1")))
    namespace: dict[str, dl.Query] = {}
    (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(python, namespace)
    for query in (dl.sql(QUERIES[0]), namespace["reachable"]):
        found = {t: alive(query, t, sources=sources, links=links) for t in range(1, 6)}
        own = {("n2", "n2"), ("n3", "n3")}
        assert found[1] == own
        assert found[2] == own | {("n3", "n1")}
        assert found[3] == found[2] | {("n3", "n2"), ("n2", "n3"), ("n2", "n1")}
        assert found[4] == found[3] | {("n3", "n4"), ("n2", "n4")}
        assert found[5] == own | {("n2", "n3"), ("n2", "n4"), ("n3", "n4")}


def test_a_bill_of_materials() -> None:
    contained = [("car", "wheel", 4), ("wheel", "bolt", 5), ("car", "bolt", 10)]
    rows = [dl.Insert(1, 9, dl.Row(whole=a, part=b, qty=n)) for a, b, n in contained]
    assert alive(dl.sql(QUERIES[1]), 1, contains=rows) == {
        ("car", "wheel", 4), ("car", "bolt", 30), ("wheel", "bolt", 5)
    }  # fmt: skip
