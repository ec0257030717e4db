"""Reading ahead: the next part of an input is read while the engine works on the one before."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(parts: Iterator[T]) -> Generator[T]:
    """The same parts, each read by a thread while the consumer has the one before; an error comes
    where its part would. Reading starts when the first part is asked for, and ends with the part
    that is being read when no more are wanted.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end: list[T] = []  # what no part is

    def read() -> T | list[T]:
        return next(parts, end)

    with ThreadPoolExecutor(1, "driftline reads ahead") as thread:
        following = thread.submit(read)
        while (part := following.result()) is not end:
            following = thread.submit(read)
            yield part  # type: ignore[misc]
