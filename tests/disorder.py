"""Random sequences of events that need not be valid, and random rows of every JSON type."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import INFINITY

TIMES = st.integers(0, 6)
ENDS = st.one_of(st.integers(0, 7), st.just(INFINITY))
FEW_ROWS = st.sampled_from([Row(a=1, b="x"), Row(a=None, b="x"), Row(a=1, b=None)])

EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Insert, TIMES, ENDS, FEW_ROWS),
    st.builds(Insert, TIMES, ENDS, FEW_ROWS),
    st.builds(Retract, TIMES, ENDS, TIMES, FEW_ROWS),
    st.builds(Retract, TIMES, ENDS, TIMES, FEW_ROWS),
    st.builds(Cti, st.integers(0, 4)),
    st.builds(ExternalCti, TIMES, ENDS, st.integers(-1, 3)),
)
"""Few times and few rows, so that retracts often find their lifetime and promises are broken."""

any_events = st.lists(EVENTS, max_size=25)

INTEGERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1])
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.one_of(st.text(max_size=6), st.sampled_from(["2024-05-01", "\\", '"', "\x00\x1f", "😀"]))


@st.composite
def counted(draw: st.DrawFn, events: list[Event]) -> list[Event]:
    """The changes of a valid stream in any order, among external ctis that count all of them, up to
    the end of time, and keep their promises."""
    changes = [event for event in events if isinstance(event, Insert | Retract)]
    cuts = sorted(draw(st.sets(st.integers(1, 20), max_size=4)))
    syncs = [change.sync for change in changes]
    promises = [
        ExternalCti(start, end, sum(start <= sync < end for sync in syncs))
        for start, end in pairwise([min([0, *syncs]), *cuts, INFINITY])
    ]
    return draw(st.permutations([*changes, *promises]))
