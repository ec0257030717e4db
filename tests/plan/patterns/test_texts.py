from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

import driftline as dl
from driftline.plan.facts import Facts
from driftline.plan.nodes import Match

S = dl.stream("s", {"k": "STRING", "x": "BIGINT", "ts": "TIMESTAMP"}, time="ts")


def test_measures_are_named_by_a_mapping_or_by_as() -> None:
    wanted = S.match("A+", None, {"n": "count(*)", "m": "A.x"}, by="ts")
    assert S.match("A+", measures=["count(*) AS n", "A.x AS m"], by=["ts"]) == wanted
    assert wanted.schema.names == ("n", "m")


def test_durations() -> None:
    for within in ("1 hour", timedelta(hours=1), "INTERVAL '60' MINUTES"):
        found = S.match("A+", None, "A.x AS n", by="ts DESC", within=within).plan
        assert isinstance(found, Match)
        assert found.within == 3_600_000_000
    numbers = S.match("A+", None, "A.x AS n", by="x", within=7).plan
    assert isinstance(numbers, Match)
    assert numbers.within == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": 5}, "a pattern is written as text, 'A B+ C', not 5"),
        ({"pattern": "A ("}, "PATTERN: a variable is expected (line 1, column 4)"),
        ({"by": ()}, "a pattern needs an order of its rows"),
        ({"per": "x + 1"}, "a pattern is partitioned by columns: compute (x + 1L) before"),
        ({"define": ["A"]}, "define is a mapping from names, such as {'A': …}, not ['A']"),
        ({"define": {"A": 1}}, "define: A is written as text, not 1"),
        ({"define": {"A": "x > 1 AS y"}}, "has the name A already: leave out AS y"),
        ({"define": {"B": "x > 1"}}, "DEFINE: B is not a variable of the pattern; there are A"),
        ({"define": {"A": "y > 1"}}, "there is no column y"),
        ({"define": {"A": "x"}}, "DEFINE needs a condition, and x of A is none"),
        ({"measures": "count(*)"}, "a measure needs a name: write 'count(*) AS name'"),
        ({"measures": "A.x AS k", "per": "k"}, "two columns would have the name k"),
        ({"measures": ()}, "a match gives no column"),
        ({"rows": "some"}, "rows is 'one', 'all', 'omit empty', 'with unmatched', not 'some'"),
        ({"skip": "to B"}, "skip is 'past last row', 'to next row', 'to first A' or 'to last A'"),
        ({"skip": None}, "skip is 'past last row'"),
        ({"skip": "to last B"}, "AFTER MATCH SKIP: B is not a variable"),
        ({"within": "1 month"}, "is not a duration"),
        ({"within": 0}, "WITHIN takes a duration that is not 0"),
        ({"within": "5 s", "by": "x"}, "the stream's time is a plain number"),
        ({"within": 5, "by": "k"}, "has to be a time or a whole number: k is a STRING"),
        ({"subsets": "U"}, "subsets is a mapping from names"),
        ({"subsets": {"U": 1}}, "a subset is a list of variables, ['A', 'B'], not 1"),
        ({"subsets": {"U": ["B"]}}, "SUBSET U: B is not a variable of the pattern"),
        ({"subsets": {"a": ["A"]}}, "SUBSET: there is a variable or subset a already"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"pattern": "A+", "measures": "A.x AS n", "by": "ts"} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        S.match(**given)


def test_explain_says_what_bounds_a_pattern() -> None:
    grows = "a match can grow without bound: WITHIN or a window bounds it"
    for query, wanted in [
        (S.match("A+", None, "A.x AS n", by="ts"), True),
        (S.match("A{1,5}", None, "A.x AS n", by="ts"), False),
        (S.match("A+", None, "A.x AS n", by="ts", within="1 h"), False),
        (S.window(range="1 h").match("A+", None, "A.x AS n", by="ts"), False),
    ]:
        assert (grows in query.plan.remarks("ordered", Facts(["s"])).state) == wanted
