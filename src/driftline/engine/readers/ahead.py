"""Reading ahead: the next parts of an input are read while the engine works on the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PARTS = 3
"""How many parts are read ahead: one that takes long does not make the consumer wait."""


def ahead(items: Iterator[T], parts: int = PARTS) -> Generator[T]:
    """The same items, read by a thread while the consumer has those before, at most so many ahead;
    an error comes where its item would. Reading starts when the first is asked for, and ends
    with the one that is being read when no more are wanted.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end: list[T] = []  # what no part is

    def read() -> T | list[T]:
        return next(items, end)

    with ThreadPoolExecutor(1, "driftline reads ahead") as thread:
        following = deque([thread.submit(read)])
        try:
            while (part := following.popleft().result()) is not end:
                while len(following) < parts:
                    following.append(thread.submit(read))
                yield part  # type: ignore[misc]
        finally:
            thread.shutdown(wait=False, cancel_futures=True)
