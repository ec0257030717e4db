"""Reading ahead: the next parts of an input are read while the engine works on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PARTS = 3
"""How many parts are read ahead: one that takes long does not make the consumer wait."""


def ahead(parts: Iterator[T]) -> Generator[T]:
    """The same parts, read by a thread while the consumer has those before; an error comes where
    its part would. Reading starts when the first part is asked for, and ends with the part that is
    being read when no more are wanted.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end: list[T] = []  # what no part is

    def read() -> T | list[T]:
        return next(parts, end)

    with ThreadPoolExecutor(1, "driftline reads ahead") as thread:
        following = deque([thread.submit(read)])
        try:
            while (part := following.popleft().result()) is not end:
                while len(following) < PARTS:
                    following.append(thread.submit(read))
                yield part  # type: ignore[misc]
        finally:
            thread.shutdown(wait=False, cancel_futures=True)
