"""The examples of the page on recursion, and the paper's four steps in time."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import driftline as dl

PATH = Path(__file__).parents[2] / "docs" / "recursion.md"
PAGE = PATH.read_text(encoding="utf-8")
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE, re.S)


def alive(query: dl.Query, t: int, **streams: Any) -> set[tuple[object, ...]]:
    rows = query.run(**streams).history().to_pylist()
    return {
        tuple(row.values())[2:]
        for row in rows
        if row["vs"] <= t and (row["ve"] is None or t < row["ve"])
    }


def in_python(examples: int = 1) -> dict[str, dl.Query]:
    """What the first examples in Python define."""
    namespace: dict[str, dl.Query] = {}
    for python in re.findall(r"```python\n(.*?)```", PAGE, re.S)[:examples]:
        exec(python, namespace)
    return namespace


def test_the_session_on_progress() -> None:
    failed, tried = doctest.testfile(
        str(PATH), module_relative=False, encoding="utf-8", globs=dict(in_python())
    )
    assert tried > 0
    assert failed == 0


def test_reachability_time_by_time() -> None:
    # Section 2 of the paper: n2 and n3 are sources; a link is retracted at time 5.
    sources = [dl.Insert(1, dl.INFINITY, dl.Row(n=n)) for n in ("n2", "n3")]
    came = [(2, "n3", "n1"), (3, "n1", "n2"), (3, "n2", "n3"), (4, "n3", "n4")]
    links: list[dl.Insert | dl.Retract] = [
        dl.Insert(t, dl.INFINITY, dl.Row(a=a, b=b)) for t, a, b in came
    ]
    links.append(dl.Retract(2, dl.INFINITY, 5, dl.Row(a="n3", b="n1")))
    for query in (dl.sql(QUERIES[0]), in_python()["reachable"]):
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


def test_a_link_that_fails_and_comes_back() -> None:
    links: list[dl.Insert | dl.Retract] = [
        dl.Insert(1, dl.INFINITY, dl.Row(a=a, b=b, cost=cost))
        for a, b, cost in (("a", "b", 1), ("b", "c", 1), ("a", "c", 5))
    ]
    links.append(dl.Retract(1, dl.INFINITY, 5, dl.Row(a="a", b="b", cost=1)))
    links.append(dl.Insert(9, dl.INFINITY, dl.Row(a="a", b="b", cost=1)))
    roots = [dl.Insert(1, dl.INFINITY, dl.Row(n="a"))]
    for query in (dl.sql(QUERIES[2]), in_python(2)["distance"]):
        for t, expected in ((1, {("a", 0), ("b", 1), ("c", 2)}), (5, {("a", 0), ("c", 5)})):
            assert alive(query, t, roots=roots, links=links) == expected
        assert alive(query, 9, roots=roots, links=links) == alive(
            query, 4, roots=roots, links=links
        )


def test_components_come_apart() -> None:
    links: list[dl.Insert | dl.Retract] = [
        dl.Insert(1, 9, dl.Row(a=a, b=b)) for a, b in ("ab", "bc", "ca", "de", "ed")
    ]
    links.append(dl.Insert(3, 9, dl.Row(a="d", b="c")))
    links.append(dl.Retract(3, 9, 6, dl.Row(a="d", b="c")))
    apart = {("a", "a"), ("b", "a"), ("c", "a"), ("d", "d"), ("e", "d")}
    for t in (1, 6):
        assert alive(dl.sql(QUERIES[3]), t, links=links) == apart
    assert alive(dl.sql(QUERIES[3]), 3, links=links) == {(n, "a") for n in "abcde"}


def test_sessions_are_merged_by_a_late_click() -> None:
    def clicks(*seconds: int) -> list[dl.Insert]:
        return [dl.Insert(second, 999, dl.Row(user="u", second=second)) for second in seconds]

    query = dl.sql(QUERIES[4])
    first = clicks(1, 8, 25, 30)
    assert alive(query, 99, clicks=first) == {("u", 1, 8, 2), ("u", 25, 30, 2)}
    assert alive(query, 99, clicks=[*first, *clicks(17)]) == {("u", 1, 30, 5)}
    gone = dl.Retract(17, 999, 17, dl.Row(user="u", second=17))
    again = alive(query, 99, clicks=[*first, *clicks(17), gone])
    assert again == {("u", 1, 8, 2), ("u", 25, 30, 2)}
