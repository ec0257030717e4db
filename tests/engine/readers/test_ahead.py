from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from driftline.engine.readers.ahead import PARTS, ahead


def test_nothing_is_read_before_it_is_asked_for_and_then_some_parts_ahead() -> None:
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
    assert done[PARTS].wait(10)
    assert next(reading) == 1
    assert done[1 + PARTS].wait(10)
    reading.close()
    assert read == [*range(2 + PARTS)]


def test_what_is_not_wanted_any_more_is_not_read() -> None:
    read: list[int] = []
    may_go_on = threading.Event()

    def parts() -> Iterator[int]:
        for number in range(10):
            read.append(number)
            if number:
                may_go_on.wait(10)
            yield number

    reading = ahead(parts())
    assert next(reading) == 0
    threading.Timer(0.1, may_go_on.set).start()
    reading.close()
    assert len(read) <= 2


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
