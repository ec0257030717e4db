from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.engine.readers.inputs import events_from
from driftline.model.time import BEGINNING, INFINITY

S = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t", disorder=0)
COUNTS = S.window(range=10).group_by("k").agg("count(*) AS n")
ROWS = [{"k": "ab"[number % 2], "t": number // 3, "more": number} for number in range(500)]


def emitted(data: Any, batch: int = 7) -> list[tuple[list[dict[str, Any]], Any]]:
    return [
        (part.table().to_pylist(), part.final_up_to) for part in COUNTS.changes(s=data, batch=batch)
    ]


def test_an_input_in_parts_gives_the_same_as_the_whole(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=50)
    pyarrow.csv.write_csv(table, tmp_path / "s.csv")
    expected = emitted(ROWS)
    assert emitted(iter(ROWS)) == expected
    assert emitted(iter(table.to_batches(max_chunksize=11))) == expected
    assert emitted(table.to_reader(max_chunksize=11)) == expected
    assert emitted(tmp_path / "s.parquet") == expected
    assert emitted(str(tmp_path / "s.csv")) == expected


def test_an_endless_iterator_is_read_as_far_as_it_is_needed() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for number in itertools.count():
            taken += 1
            yield {"k": "a", "t": number}

    answers = COUNTS.changes(s=endless(), batch=5)
    for number, part in enumerate(itertools.islice(answers, 4), 1):
        assert taken == 5 * number
        assert part.final_up_to == 5 * number - 1
        assert (len(part.table()) > 0) == (number <= 2)  # then the window is full


def test_an_endless_iterator_of_events() -> None:
    numbers = dl.stream("s", {"x": "BIGINT"})

    def events() -> Iterator[Any]:
        for time in itertools.count():
            yield dl.Insert(time, time + 3, dl.Row(x=time))
            yield dl.Cti(time)

    parts = list(itertools.islice(numbers.agg("sum(x) AS x").changes(s=events(), batch=2), 6))
    assert [part.final_up_to for part in parts] == [0, 1, 2, 3, 4, 5]


def test_streams_are_interleaved_by_position() -> None:
    s, t = (dl.stream(name, {"x": "BIGINT"}) for name in "st")
    both = s.union(t)
    one = [dl.Insert(time, 9, dl.Row(x=1)) for time in range(4)]
    other = [dl.Insert(time, 9, dl.Row(x=2)) for time in range(2)]
    rows = [
        [row["x"] for row in part.table().to_pylist()]
        for part in both.changes(s=iter(one), t=iter(other), batch=1)
    ]
    assert [sorted(found) for found in rows] == [[1, 2], [1, 2], [1], [1], []]


def test_mistakes_name_the_row() -> None:
    rows = [{"k": "a", "t": 1}] * 9 + [{"k": "a", "t": None}]
    with pytest.raises(ValueError, match="<s>:10: it has no time: t is null"):
        list(COUNTS.changes(s=iter(rows), batch=4, strict=True))
    letters = [emitted.dead_letters.get("s") for emitted in COUNTS.changes(s=iter(rows), batch=4)]
    found = [bad for dead in letters if dead is not None for bad in dead.bad]
    assert [(bad.line, bad.column, bad.value) for bad in found] == [(10, "t", None)]
    ends = [{"k": "a", "t": time} for time in (BEGINNING, BEGINNING + 1, 0, INFINITY - 1, INFINITY)]
    result = COUNTS.run(s=ends)
    (dead,) = (update.dead_letters["s"] for update in result.updates if update.dead_letters)
    assert [(bad.line, bad.value) for bad in dead.bad] == [(1, str(BEGINNING)), (5, str(INFINITY))]
    assert [row["vs"] for row in result.history().to_pylist()] == [BEGINNING + 1, 0, INFINITY - 1]


def test_an_empty_input_is_a_stream_without_events() -> None:
    numbers = dl.stream("s", {"x": "BIGINT"})
    empty: tuple[list[Any] | Iterator[Any], ...] = ([], iter([]))
    for nothing in empty:
        result = numbers.agg("count(*) AS n").run(s=nothing)
        assert (len(result.history()), result.final_up_to) == (0, dl.INFINITY)


def test_only_what_is_missing_in_csv_is_null(tmp_path: Path) -> None:
    """As Spark reads it: NA may be a country."""
    path = tmp_path / "s.csv"
    path.write_text('k,t\nNA,1\n"",2\n,3\nnull,4\n')
    for data in (path, events_from(S.plan.sources()["s"], path)):
        history = S.run(s=data).history().to_pylist()
        assert [row["k"] for row in history] == ["NA", "", None, "null"]
