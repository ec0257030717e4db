"""The stream of ticks, without Spark: what it offers when the clock shows what."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from driftline.spark.tick_source import FORMAT, Offset, TickReader, TickSource


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the system's clock shows, in milliseconds, for a test to change."""
    shown = [10_400]
    monkeypatch.setattr("time.time_ns", lambda: shown[0] * 1_000_000)
    return shown


def read(reader: TickReader, start: int) -> tuple[list[int], int]:
    rows, end = reader.read({"ms": start})
    return [tick for (tick,) in rows], end["ms"]


def test_a_tick_for_another_period_however_many_have_passed(clock: list[int]) -> None:
    reader = TickReader({"period": "1000"})
    assert read(reader, reader.initialOffset()["ms"]) == ([10_000], 10_000)
    assert read(reader, 10_000) == ([], 10_000)
    clock[0] = 10_999
    assert read(reader, 10_000) == ([], 10_000)
    clock[0] = 14_001
    assert read(reader, 10_000) == ([14_000], 14_000)
    clock[0] = 12_000  # somebody has set it back
    assert read(reader, 14_000) == ([], 14_000)


def test_what_was_read_is_read_again(clock: list[int]) -> None:
    reader = TickReader({"period": "1000"})
    start: Offset = {"ms": 3_000}
    rows, end = reader.read(start)
    clock[0] = 99_000
    again = TickReader({"period": "1000"})
    assert list(again.readBetweenOffsets(start, end)) == list(rows) == [(10_000,)]
    assert list(again.readBetweenOffsets(end, end)) == []


def test_who_reads_what_is_there_reads_one_and_comes_to_an_end(clock: list[int]) -> None:
    reader = TickReader({"period": "1000"})
    reader.prepareForTriggerAvailableNow()
    clock[0] = 12_500
    assert read(reader, 7_000) == ([10_000], 10_000)
    assert read(reader, 10_000) == ([], 10_000)


def test_a_long_silence_needs_no_more_ticks(clock: list[int], tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    heard.touch()
    os.utime(heard, (10, 10))
    reader = TickReader({"period": "1000", "heard": str(heard), "patience": "4000"})
    clock[0] = 15_000
    assert read(reader, 14_000) == ([15_000], 15_000)
    clock[0] = 16_500
    assert read(reader, 15_000) == ([16_000], 16_000)
    clock[0] = 17_000
    assert read(reader, 16_000) == ([], 16_000)
    os.utime(heard, (17, 17))
    assert read(reader, 16_000) == ([17_000], 17_000)
    heard.unlink()  # who wrote it is gone
    clock[0] = 99_000
    assert read(reader, 17_000) == ([99_000], 99_000)


def test_what_spark_is_told() -> None:
    source = TickSource({"period": "2000"})
    assert (source.name(), source.schema()) == (FORMAT, "tick BIGINT")
    assert source.simpleStreamReader(None).period == 2000  # type: ignore[arg-type]
