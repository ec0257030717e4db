"""Windows whose times are any expressions over lifetimes, of which some never end."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, lt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model import reference as ref
from driftline.model.event import Event
from driftline.model.history import canonical_history
from driftline.model.time import INFINITY, opposite, times, total
from driftline.testing import streams

Time = Callable[[int, int], int]
Both = tuple[str, Time]
"""A time as SQL, and as a function of vs and ve."""

LEAVES: list[Both] = [
    ("vs", lambda vs, ve: vs),
    ("ve", lambda vs, ve: ve),
    ("ve", lambda vs, ve: ve),
    ("(ve - vs)", lambda vs, ve: total(ve, opposite(vs))),
    *((f"({number})", lambda vs, ve, number=number: number) for number in (-2, 0, 1, 3)),
]
TWO: list[tuple[str, Callable[[int, int], int]]] = [
    ("({} + {})", total),
    ("({} - {})", lambda a, b: total(a, opposite(b))),
    ("({} * {})", times),
    ("least({}, {})", min),
    ("greatest({}, {})", max),
]
TESTS = [("<", lt), (">=", ge), ("=", eq)]


def combined(how: tuple[str, Callable[[int, int], int]], one: Both, other: Both) -> Both:
    text, compute = how
    return (
        text.format(one[0], other[0]),
        lambda vs, ve: compute(one[1](vs, ve), other[1](vs, ve)),
    )


def chosen(
    test: tuple[str, Callable[[int, int], bool]], left: Both, right: Both, then: Both, no: Both
) -> Both:
    sign, holds = test
    return (
        f"if({left[0]} {sign} {right[0]}, {then[0]}, {no[0]})",
        lambda vs, ve: (then if holds(left[1](vs, ve), right[1](vs, ve)) else no)[1](vs, ve),
    )


TIMES: st.SearchStrategy[Both] = st.recursive(
    st.sampled_from(LEAVES),
    lambda part: st.one_of(
        st.builds(combined, st.sampled_from(TWO), part, part),
        st.builds(chosen, st.sampled_from(TESTS), part, part, part, part),
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(streams(), TIMES, TIMES.filter(lambda time: "v" in time[0]))
def test_any_time_is_that_of_the_reference(events: list[Event], start: Both, lasts: Both) -> None:
    query = dl.sql(
        f"CREATE STREAM s (k STRING, x BIGINT);SELECT * FROM s [FROM {start[0]} FOR {lasts[0]}]"
    )
    table = query.run({"s": events}, emit="eager").history().to_pylist()
    found = sorted(
        (row["vs"], INFINITY if row["ve"] is None else row["ve"], str(row["k"]), str(row["x"]))
        for row in table
    )
    history = canonical_history(events)
    right = ref.alter_lifetime(history, start[1], lasts[1])
    assert found == sorted((vs, ve, str(row["k"]), str(row["x"])) for vs, ve, row in right)


@pytest.mark.parametrize(
    ("lasts", "end"),
    [
        ("least(ve - vs, 3)", 4),
        ("if(ve - vs > 100, 5, ve - vs)", 6),
        ("CAST((ve - vs) / 2 AS BIGINT)", None),
        ("floor((ve - vs) / 2)", None),
        ("(ve - vs) div 2", None),
        ("greatest(ve - vs, 3)", None),
        ("ve * 0 + 2", 3),
        ("(4 - ve) * (0 - vs)", None),
        ("-1 - if(vs >= vs, 4 - ve, 1 + vs)", None),
        ("abs(4 - ve)", None),
    ],
)
def test_what_comes_of_an_end_that_is_infinite(lasts: str, end: int | None) -> None:
    query = dl.sql(f"CREATE STREAM s (k STRING); SELECT * FROM s [FROM vs FOR {lasts}]")
    table = query.run({"s": [dl.Insert(1, dl.INFINITY, dl.Row(k="a"))]}).history()
    assert table.to_pylist() == [{"vs": 1, "ve": end, "k": "a"}]


@pytest.mark.parametrize(
    "lasts", ["10 - ve", "10 - ve + 20", "(10 - ve) * 2", "nullif(least(ve, 9), 9)"]
)
def test_what_is_before_all_times_or_null_lasts_for_nothing(lasts: str) -> None:
    query = dl.sql(f"CREATE STREAM s (k STRING); SELECT * FROM s [FROM vs FOR {lasts}]")
    assert query.run({"s": [dl.Insert(1, dl.INFINITY, dl.Row(k="a"))]}).history().num_rows == 0
