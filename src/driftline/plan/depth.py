"""Room for long chains and deep nests, for as long as it is needed.

Python counts the calls that wait for one another and stops at a thousand, or at what the user has
set. Going down `x + x + …` takes some for every operand. They are calls from Python to Python,
which need no stack of the machine, so the count is all that has to be raised:

    limit  =  the user's  +  the most calls that the open rooms of one thread have together

When no room is open it is the user's again, also if that was changed meanwhile. The limit is one
for all threads, and each counts its own calls.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, get_ident
from typing import ParamSpec, TypeVar

SPARE = 200
"""So many calls need no room: what takes no more is shallow."""
_NESTED = 10_000
"""Python's calls, at most, to go down a value: of JSON about a thousand levels are read."""

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def room(calls: int) -> Iterator[None]:
    """Room for so many calls; also a decorator. Not for generators: while one waits, its room would
    be open to those who use it."""
    if calls <= SPARE:
        yield
        return
    thread = get_ident()
    _LIMIT.need(thread, calls)
    try:
        yield
    finally:
        _LIMIT.need(thread, -calls)


def again_with_room(function: Callable[P, T]) -> Callable[P, T]:
    """A function of values, few of which are nested deeply: it is called again, with room, when it
    has gone too deep."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            with room(_NESTED):
                return function(*args, **kwargs)

    return call


class _Limit:
    """`needed`: by thread, the calls of its open rooms; `users`: the limit without rooms; `left`:
    what it was left at here. If it is anything else, the user has changed it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.needed: Counter[int] = Counter()
        self.users = self.left = sys.getrecursionlimit()

    def need(self, thread: int, calls: int) -> None:
        with self.lock:
            self.needed[thread] += calls
            if not self.needed[thread]:
                del self.needed[thread]
            found = sys.getrecursionlimit()
            if found != self.left:
                self.users = self.left = found
            wanted = self.users + max(self.needed.values(), default=0)
            if wanted != found:
                sys.setrecursionlimit(wanted)
                self.left = wanted


_LIMIT = _Limit()
