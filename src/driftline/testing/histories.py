"""Random canonical histories: few times, few rows, so that ties and duplicates are common.

Strategies are made once and not for every draw: making one takes longer than drawing from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from hypothesis import strategies as st

from driftline.model.history import History, Lifetime
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY

LAST_TIME = 12
"""Times are 0 … LAST_TIME: with a dozen lifetimes, most have an endpoint in common."""

MAX_COPIES = 2

COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "k": st.sampled_from(["a", "b", None]),
    "x": st.one_of(st.none(), st.integers(-2, 3)),
}

Columns = tuple[tuple[str, st.SearchStrategy[Value]], ...]


@lru_cache(maxsize=256)
def up_to(most: int) -> st.SearchStrategy[int]:
    """The numbers 0 … most."""
    return st.integers(0, most)


def rows(columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS) -> st.SearchStrategy[Row]:
    """Rows with the given columns, nulls included."""
    return st.fixed_dictionaries(dict(columns)).map(Row)


@st.composite
def lifetimes(draw: st.DrawFn, row: st.SearchStrategy[Row], last_time: int = LAST_TIME) -> Lifetime:
    """Half of them never end."""
    vs = draw(up_to(last_time - 1))
    ends = last_time - vs
    length = 1 + draw(up_to(2 * ends - 1))
    return Lifetime(vs, vs + length if length <= ends else INFINITY, draw(row))


def histories(
    columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS,
    max_size: int = 8,
    last_time: int = LAST_TIME,
) -> st.SearchStrategy[History]:
    """A random history; some lifetimes are there several times, some rows several times over."""
    return _histories(several_lifetimes(tuple(columns.items()), max_size, last_time), max_size)


@lru_cache(maxsize=256)
def several_lifetimes(
    columns: Columns, max_size: int, last_time: int = LAST_TIME
) -> st.SearchStrategy[list[Lifetime]]:
    return st.lists(lifetimes(rows(dict(columns)), last_time), max_size=max_size)


@st.composite
def _histories(
    draw: st.DrawFn, different: st.SearchStrategy[list[Lifetime]], max_size: int
) -> History:
    found = draw(different)
    if not found:
        return History()
    room = min(max_size - len(found), MAX_COPIES)
    copies = [found[draw(up_to(len(found) - 1))] for _ in range(draw(up_to(room)))]
    return History([*found, *copies])
