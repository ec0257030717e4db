"""Random valid streams: a history table, emitted in a random way.

From a history the strategy makes chains of events: a lifetime may first be inserted too long and
then be shortened in one or several retractions; a lifetime that is not in the history may be
inserted and then be fully retracted. Each event gets a delay, the chains are put in order of sync
time plus delay (a chain keeps its own order), and ctis are put between: as tight as the rest of the
stream allows, looser, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from hypothesis import strategies as st

from driftline.model.event import CLOSE, Change, Cti, Event, Insert, Retract
from driftline.model.history import History, Lifetime
from driftline.model.row import Value
from driftline.model.time import INFINITY
from driftline.testing.histories import (
    COLUMNS,
    LAST_TIME,
    Columns,
    histories,
    several_lifetimes,
    up_to,
)

MAX_RETRACTIONS = 3
MAX_PHANTOMS = 2
"""Lifetimes that are inserted, but are not in the history."""
TIES = 4
"""Of chains whose events come at the same time, one with a lower number is first."""
CTI_LOOSENESS = 4
"""How far behind the tightest possible time a loose cti may be."""

_STYLES = st.sampled_from(["tight", "loose", "tight", "loose", "none"])
_EITHER = st.booleans()


def streams(
    columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS,
    max_size: int = 6,
    max_delay: int | None = None,
    retractions: bool = True,
    closed: bool | None = None,
) -> st.SearchStrategy[list[Event]]:
    """A random valid stream.

    `max_delay` bounds the disorder in ticks of application time (0: ordered, None: any);
    `retractions=False` inserts every lifetime right at once; `closed` ends it with a cti ∞ or
    leaves it open (None: either).
    """
    return _streams(tuple(columns.items()), max_size, max_delay, retractions, closed)


@lru_cache(maxsize=256)
def _streams(
    columns: Columns, max_size: int, max_delay: int | None, retractions: bool, closed: bool | None
) -> st.SearchStrategy[list[Event]]:
    """Made once for all that ask for the same."""
    phantoms = several_lifetimes(columns, MAX_PHANTOMS) if retractions else None
    return _told(histories(dict(columns), max_size), phantoms, max_delay, retractions, closed)


@st.composite
def _told(
    draw: st.DrawFn,
    meant: st.SearchStrategy[History],
    phantoms: st.SearchStrategy[list[Lifetime]] | None,
    max_delay: int | None,
    retractions: bool,
    closed: bool | None,
) -> list[Event]:
    history = draw(meant)
    others = [] if phantoms is None else draw(phantoms)
    return _emitted(draw, history, others, max_delay, retractions, closed)


@st.composite
def streams_of(
    draw: st.DrawFn,
    history: History,
    phantoms: list[Lifetime] | None = None,
    max_delay: int | None = None,
    retractions: bool = True,
    closed: bool | None = None,
) -> list[Event]:
    """A random valid stream whose canonical history is the given one."""
    return _emitted(draw, history, phantoms or [], max_delay, retractions, closed)


def _emitted(
    draw: st.DrawFn,
    history: History,
    phantoms: list[Lifetime],
    max_delay: int | None,
    retractions: bool,
    closed: bool | None,
) -> list[Event]:
    chains = [_chain(draw, lifetime, retractions) for lifetime in history]
    chains += [_chain(draw, lifetime, True, phantom=True) for lifetime in phantoms]
    events = _with_ctis(
        draw, _arrivals(draw, chains, LAST_TIME if max_delay is None else max_delay)
    )
    if closed or (closed is None and draw(_EITHER)):
        events.append(CLOSE)
    return events


@st.composite
def interleaved(draw: st.DrawFn, *named: st.SearchStrategy[list[Event]]) -> list[tuple[int, Event]]:
    """Several streams as one sequence of (which stream, event), each in its own order."""
    parts = [draw(stream) for stream in named]
    turns = [port for port, part in enumerate(parts) for _ in part]
    rest = [iter(part) for part in parts]
    return [(port, next(rest[port])) for port in draw(st.permutations(turns))]


def _chain(
    draw: st.DrawFn, lifetime: Lifetime, retractions: bool, phantom: bool = False
) -> list[Change]:
    """The events of one lifetime, or of one that is inserted and then removed altogether."""
    vs, ve, row = lifetime
    last = vs if phantom else ve
    ends = [last]
    if retractions and last < INFINITY:
        later = list(range(last + 1, max(last + 1, LAST_TIME) + 1))
        for _ in range(phantom + draw(up_to(MAX_RETRACTIONS - phantom))):
            # The first detour is one that never ends in half of all cases.
            drawn = draw(up_to((len(later) if INFINITY in ends else 2 * len(later)) - 1))
            ends.append(later.pop(drawn) if drawn < len(later) else INFINITY)
            if not later:
                break
    ends.sort(reverse=True)
    chain: list[Change] = [Insert(vs, ends[0], row)]
    for before, after in pairwise(ends):
        chain.append(Retract(vs, before, after, row))
    return chain


def _arrivals(draw: st.DrawFn, chains: list[list[Change]], max_delay: int) -> list[Change]:
    """The changes of all chains in an arrival order with bounded lateness."""
    timed: list[tuple[int, int, int, int, Change]] = []
    for number, chain in enumerate(chains):
        earliest = 0
        tie = draw(up_to(TIES - 1))
        for place, change in enumerate(chain):
            delay = draw(up_to(max_delay)) if max_delay else 0
            earliest = max(earliest, min(change.sync, LAST_TIME) + delay)
            timed.append((earliest, tie, number, place, change))
    timed.sort(key=lambda item: item[:-1])
    return [change for *_, change in timed]


def _with_ctis(draw: st.DrawFn, changes: list[Change]) -> list[Event]:
    """The changes with ctis between them; none breaks its promise."""
    style = draw(_STYLES)
    events: list[Event] = []
    for place in range(len(changes) + 1):
        rest = changes[place:]
        tightest = min((change.sync for change in rest), default=LAST_TIME + 1)
        if style != "none" and draw(_EITHER):
            behind = draw(up_to(CTI_LOOSENESS)) if style == "loose" else 0
            events.append(Cti(tightest - behind))
        events += rest[:1]
    return events
