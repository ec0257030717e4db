from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from driftline.engine.readers.ahead import ahead


def test_nothing_is_read_before_it_is_asked_for_and_then_one_part_ahead() -> None:
    read: list[int] = []
    done = [threading.Event() for _ in range(10)]

    def parts() -> Iterator[int]:
        for number, event in enumerate(done):
            read.append(number)
            event.set()
            yield number

    reading = ahead(parts())
    assert read == []
    assert next(reading) == 0
    assert done[1].wait(10)
    assert next(reading) == 1
    assert done[2].wait(10)
    reading.close()
    assert read == [0, 1, 2]


def test_an_error_comes_where_its_part_would() -> None:
    def parts() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no third part")

    reading = ahead(parts())
    assert [next(reading), next(reading)] == [1, 2]
    with pytest.raises(ValueError, match="no third part"):
        next(reading)


def test_the_thread_ends_with_the_reading() -> None:
    before = threading.active_count()
    assert list(ahead(iter([]))) == []
    reading = ahead(iter(range(5)))
    next(reading)
    del reading
    assert threading.active_count() == before
