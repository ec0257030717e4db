"""Random valid streams: a history table, emitted in a random way.

From a history the strategy makes chains of events: a lifetime may first be inserted too long and
then be shortened in one or several retractions; a lifetime that is not in the history may be
inserted and then be fully retracted. Each event gets a delay, the chains are put in order of sync
time plus delay (a chain keeps its own order), and ctis are put between: as tight as the rest of the
stream allows, looser, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from hypothesis import strategies as st

from driftline.model.event import CLOSE, Change, Cti, Event, Insert, Retract
from driftline.model.history import History, Lifetime
from driftline.model.row import Value
from driftline.model.time import INFINITY
from driftline.testing.histories import COLUMNS, LAST_TIME, histories, lifetimes, rows

MAX_RETRACTIONS = 3
CTI_LOOSENESS = 4
"""How far behind the tightest possible time a loose cti may be."""


@st.composite
def streams(
    draw: st.DrawFn,
    columns: Mapping[str, st.SearchStrategy[Value]] = COLUMNS,
    max_size: int = 6,
    max_delay: int | None = None,
    retractions: bool = True,
    closed: bool | None = None,
) -> list[Event]:
    """A random valid stream.

    `max_delay` bounds the disorder in ticks of application time (0: ordered, None: any);
    `retractions=False` inserts every lifetime right at once; `closed` ends it with a cti ∞ or
    leaves it open (None: either).
    """
    history = draw(histories(columns, max_size))
    phantoms = draw(st.lists(lifetimes(rows(columns)), max_size=2)) if retractions else []
    return draw(streams_of(history, phantoms, max_delay, retractions, closed))


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
    chains = [draw(_chain(lifetime, retractions)) for lifetime in history]
    chains += [draw(_chain(lifetime, True, phantom=True)) for lifetime in phantoms or []]
    changes = draw(_arrivals(chains, LAST_TIME if max_delay is None else max_delay))
    events = draw(_with_ctis(changes))
    if closed or (closed is None and draw(st.booleans())):
        events.append(CLOSE)
    return events


@st.composite
def interleaved(draw: st.DrawFn, *named: st.SearchStrategy[list[Event]]) -> list[tuple[int, Event]]:
    """Several streams as one sequence of (which stream, event), each in its own order."""
    parts = [draw(stream) for stream in named]
    turns = [port for port, part in enumerate(parts) for _ in part]
    rest = [iter(part) for part in parts]
    return [(port, next(rest[port])) for port in draw(st.permutations(turns))]


@st.composite
def _chain(
    draw: st.DrawFn, lifetime: Lifetime, retractions: bool, phantom: bool = False
) -> list[Change]:
    """The events of one lifetime, or of one that is inserted and then removed altogether."""
    vs, ve, row = lifetime
    last = vs if phantom else ve
    later = st.one_of(st.integers(last + 1, max(last + 1, LAST_TIME)), st.just(INFINITY))
    count = 0
    if retractions and last < INFINITY:
        count = draw(st.integers(1 if phantom else 0, MAX_RETRACTIONS))
    detours = draw(st.lists(later, min_size=count, max_size=count, unique=True))
    ends = [*sorted(detours, reverse=True), last]
    chain: list[Change] = [Insert(vs, ends[0], row)]
    for before, after in pairwise(ends):
        chain.append(Retract(vs, before, after, row))
    return chain


@st.composite
def _arrivals(draw: st.DrawFn, chains: list[list[Change]], max_delay: int) -> list[Change]:
    """The changes of all chains in an arrival order with bounded lateness."""
    timed: list[tuple[int, int, int, Change]] = []
    for number, chain in enumerate(chains):
        earliest = 0
        for place, change in enumerate(chain):
            delay = draw(st.integers(0, max_delay)) if max_delay else 0
            earliest = max(earliest, min(change.sync, LAST_TIME) + delay)
            timed.append((earliest, number, place, change))
    ties = draw(st.permutations(range(len(chains))))
    timed.sort(key=lambda item: (item[0], ties[item[1]], item[2]))
    return [change for *_, change in timed]


@st.composite
def _with_ctis(draw: st.DrawFn, changes: list[Change]) -> list[Event]:
    """The changes with ctis between them; none breaks its promise."""
    style = draw(st.sampled_from(["tight", "loose", "tight", "loose", "none"]))
    events: list[Event] = []
    for place in range(len(changes) + 1):
        rest = changes[place:]
        tightest = min((change.sync for change in rest), default=LAST_TIME + 1)
        if style != "none" and draw(st.booleans()):
            behind = draw(st.integers(0, CTI_LOOSENESS)) if style == "loose" else 0
            events.append(Cti(tightest - behind))
        events += rest[:1]
    return events
