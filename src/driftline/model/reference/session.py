"""Session windows: rows that follow each other within a gap belong together.

    The starts of the rows of a key, in order, are cut into sessions: a start s is in the session of
    the one before it, p, if s <= p + gap and, where a session is at most m long, s < first + m;
    otherwise it is the first of the next session. The session is [first, end), with
    end = min(last + gap, first + m).

    session(H)         = { (vs, end of its session, r) : (vs, ve, r) ∈ H }
    session_columns(H) = { ([vs, ve) ∩ [a, b), r + {window_start: first, window_end: end}) :
                           (vs, ve, r) ∈ H, and in [a, b) the session of vs among the starts up to
                           then is [first, end) }

    session_members(H) = { ([vs, ve), r + {window_start: first, window_end: null}) :
                           (vs, ve, r) ∈ H, and its session begins at first }
                       ∪ { ([s, t), key + further + {window_start: first, window_end: end}) :
                           s is a start of a session, which is [first, end) during [s, t), one of
                           its rows up to s is there, and one has `further` }

Sessions go by starts alone. A row exactly a gap after another is in its session, as in Spark and
Flink. The second form is what SESSION(…) gives as columns: at every time it
is the batch answer over the rows that have come by then, so a window_end is not known before time
has come to it. The third tells rows and ends apart; of the rows with an end only the key counts,
and what else is grouped by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from driftline.model.history import History, Lifetime
from driftline.model.row import Row
from driftline.model.time import INFINITY, plus

Span = tuple[int, int]


def sessions(starts: Sequence[int], gap: int, at_most: int | None = None) -> list[Span]:
    """The sessions of some starts, each as its first start and its end.

    >>> sessions([1, 4, 9, 15], gap=5)
    [(1, 14), (15, 20)]
    >>> sessions([1, 4, 5], gap=5, at_most=4)
    [(1, 5), (5, 9)]
    """
    found: list[Span] = []
    longest = INFINITY
    for start in sorted(starts):
        if not found or start > found[-1][1] or start >= longest:
            longest = INFINITY if at_most is None else plus(start, at_most)
            found.append((start, start))
        found[-1] = (found[-1][0], min(plus(start, gap), longest))
    return found


def session(
    history: History,
    gap: int,
    per: Callable[[Row], object] = lambda row: None,
    at_most: int | None = None,
) -> History:
    """`per`: the key of a row; `at_most`: how long a session may be."""
    return History(
        Lifetime(each.vs, _session_of(each.vs, sessions(starts, gap, at_most))[1], each.row)
        for lifetimes, starts in _by_key(history, per)
        for each in lifetimes
    )


def session_columns(
    history: History,
    gap: int,
    per: Callable[[Row], object] = lambda row: None,
    at_most: int | None = None,
) -> History:
    return History(
        piece
        for lifetimes, starts in _by_key(history, per)
        for each in lifetimes
        for piece in _pieces(each, starts, gap, at_most)
    )


def session_members(
    history: History,
    gap: int,
    per: Callable[[Row], object] = lambda row: None,
    at_most: int | None = None,
    further: Callable[[Row], object] = lambda row: None,
) -> History:
    """`further`: what rows are grouped by besides their session. The rows with an end have the key
    of their session as `key`, this as `further`, and no other column."""
    found = []
    for lifetimes, starts in _by_key(history, per):
        spans = sessions(starts, gap, at_most)
        for each in lifetimes:
            first, _ = _session_of(each.vs, spans)
            row = Row(each.row, window_start=first, window_end=None)
            found.append(Lifetime(each.vs, each.ve, row))
        for since, until in pairwise([*sorted(set(starts)), INFINITY]):
            first, _ = _session_of(since, spans)
            own = [each for each in lifetimes if first <= each.vs <= since]
            goes_on = until < INFINITY and _session_of(until, spans)[0] == first
            last = max(each.ve for each in own)
            last = min(last, until) if goes_on else last
            if since < last:
                so_far = [start for start in starts if start <= since]
                _, end = _session_of(since, sessions(so_far, gap, at_most))
                for group in {further(each.row) for each in own}:
                    row = Row(
                        key=per(own[0].row), further=group, window_start=first, window_end=end
                    )
                    found.append(Lifetime(since, last, row))
    return History(found)


def _pieces(
    lifetime: Lifetime, starts: Sequence[int], gap: int, at_most: int | None
) -> Iterator[Lifetime]:
    """A row with its session as it is from each start to the next."""
    for since, until in pairwise([*sorted(set(starts)), INFINITY]):
        vs, ve = max(lifetime.vs, since), min(lifetime.ve, until)
        if vs < ve:
            so_far = [start for start in starts if start <= since]
            first, end = _session_of(lifetime.vs, sessions(so_far, gap, at_most))
            yield Lifetime(vs, ve, Row(lifetime.row, window_start=first, window_end=end))


def _session_of(start: int, found: Sequence[Span]) -> Span:
    return next((first, end) for first, end in found if first <= start < end)


def _by_key(
    history: History, per: Callable[[Row], object]
) -> Iterator[tuple[list[Lifetime], list[int]]]:
    for key in {per(each.row) for each in history}:
        lifetimes = [each for each in history if per(each.row) == key]
        yield lifetimes, [each.vs for each in lifetimes]
