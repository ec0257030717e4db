"""Random canonical histories: few times, few rows, so that ties and duplicates are common."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from driftline.model.history import History, Lifetime
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY

LAST_TIME = 12
"""Times are 0 … LAST_TIME: with a dozen lifetimes, most have an endpoint in common."""

COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "k": st.sampled_from(["a", "b", None]),
    "x": st.one_of(st.none(), st.integers(-2, 3)),
}


def rows(columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS) -> st.SearchStrategy[Row]:
    """Rows with the given columns, nulls included."""
    return st.fixed_dictionaries(dict(columns)).map(Row)


@st.composite
def lifetimes(draw: st.DrawFn, row: st.SearchStrategy[Row], last_time: int = LAST_TIME) -> Lifetime:
    vs = draw(st.integers(0, last_time - 1))
    ve = draw(st.one_of(st.integers(vs + 1, last_time), st.just(INFINITY)))
    return Lifetime(vs, ve, draw(row))


@st.composite
def histories(
    draw: st.DrawFn,
    columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS,
    max_size: int = 8,
    last_time: int = LAST_TIME,
) -> History:
    """A random history; some lifetimes are there several times, some rows several times over."""
    distinct = draw(st.lists(lifetimes(rows(columns), last_time), max_size=max_size))
    if not distinct:
        return History()
    room = max_size - len(distinct)
    copies = draw(st.lists(st.sampled_from(distinct), max_size=min(room, 2)))
    return History([*distinct, *copies])
