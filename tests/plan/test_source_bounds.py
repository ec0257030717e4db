"""Bounds by source: what a file may say, and the line about what it may not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from driftline.plan.errors import PlanError
from driftline.plan.source_bounds import SourceBounds, source_bounds
from driftline.plan.timing import timing
from driftline.plan.types import Schema

HEADER = "from,to,after,delta\n"
SCHEMA = Schema.of({"id": "STRING", "n": "INT", "region": "STRING", "ts": "TIMESTAMP"})


def read(path: Path, text: str, kind: Any = None, *, timestamps: bool = True) -> SourceBounds:
    path.write_text(text, encoding="utf-8")
    return source_bounds(str(path), kind or pa.string(), timestamps=timestamps)


def test_a_file(tmp_path: Path) -> None:
    text = "\ufeffdelta, From,to,after,latency\n5s,a,b,2s,\n\nlater,b,a,3 tuples,250ms\n0,a,a,,1s\n"
    found = read(tmp_path / "bounds.csv", text)
    assert found.names == ("a", "b")
    assert found.pairs == ((0, 1, 2_000, 0, 5_000_001), (1, 0, 0, 3, 0), (0, 0, 0, 0, 1))
    assert found.latencies == (1_000, 250)
    assert found.needs_clock


def test_rows_of_python() -> None:
    rows = [
        {"from": 1, "to": 2, "after": timedelta(seconds=1), "delta": 3},
        (2, 2, "10 + 2 records", "LATER"),
    ]
    found = source_bounds(rows, pa.int32(), timestamps=False)
    assert found.names == ("1", "2")
    assert found.pairs == ((0, 1, 1_000, 0, 4), (1, 1, 10, 2, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are no bounds"),
        (HEADER, "there are no bounds"),
        ("a,b,0,5s\n", "line 1: the first line names the columns"),
        ("from,to,after\n", "line 1: the first line names the columns"),
        (HEADER + "a,b,0\n", "line 2: there are 3 values for from, to, after, delta"),
        (HEADER + "\n\na,b,0,5s,1,2\n", "line 4: there are 6 values"),
        (HEADER + "a,,0,5s\n", "line 2: to is empty: name a source"),
        (HEADER + "a,b,soon,5s\n", "line 2: after: 'soon' is not a duration"),
        (HEADER + "a,b,inf,5s\n", "line 2: after never comes"),
        (HEADER + "a,b,9000000 tuples,5s\n", "line 2: after counts 9,000,000 tuples"),
        (HEADER + "a,b,0,\n", "line 2: delta is empty"),
        (HEADER + "a,b,0,5\n", "line 2: delta: '5' has no unit"),
        (HEADER + "a,b,0,-5s\n", "line 2: delta: a duration cannot be negative"),
        (HEADER + "a,b,0,inf\n", "line 2: a delta without end bounds nothing"),
        (HEADER + "a,b,2s,5s\nb,a,0,0\na,b,2s,6s\n", "line 4: this bound has another delta in .*2"),
        (HEADER + "a,b,0,5s\na,b,0,5s\n", "line 3: this bound has the same delta in .*line 2"),
        (
            "from,to,after,delta,latency\na,b,0,5s,1s\na,a,0,1s,2s\n",
            "line 3: a has another latency in .*line 2",
        ),
        ("from,to,after,delta,latency\na,b,0,5s,inf\n", "line 2: the latency has no end"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message) as error:
        read(tmp_path / "bounds.csv", text)
    assert "\n" not in str(error.value)


def test_sources_of_another_type(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="line 2: from is a, but sources are INTs"):
        read(tmp_path / "bounds.csv", HEADER + "a,1,0,5s\n", pa.int32())


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(PlanError, match=r"bounds: nowhere\.csv cannot be read: No such file"):
        source_bounds("nowhere.csv", pa.string(), timestamps=True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (7, "bounds are a file, or rows"),
        ([7], "row 1: 7 is not a row"),
        ([{"from": "a"}], "row 1: to is missing"),
        ([{"from": "a", "too": "b"}], "row 1: 'too' is none of from, to, after, delta, latency"),
    ],
)
def test_mistakes_in_rows(rows: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        source_bounds(rows, pa.string(), timestamps=True)


ROWS = [("a", "a", 0, "1s"), ("a", "b", "2s", "5s")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": ROWS}, "bounds is about several sources"),
        ({"bounds": ROWS, "source": "id", "sources": 2}, "bounds names the sources"),
        ({"bounds": ROWS, "source": "id", "skew": "1s", "disorder": 0}, "leave skew out"),
        ({"bounds": ROWS, "source": "id", "heartbeats": "none"}, "bounds are declared"),
        ({"bounds": [("b", "a", 0, 0)], "source": "id"}, "no bound is about b, .* b,b,0,…"),
        ({"groups": "region", "source": "id", "disorder": 0}, "groups treats the sources of a"),
        ({"groups": "region", "disorder": 0, "skew": 0}, "is about several sources"),
        (
            {"groups": "nowhere", "source": "id", "disorder": 0, "skew": 0},
            "group column nowhere does not exist",
        ),
        ({"groups": "region", "source": "id"}, "groups says nothing without disorder"),
        ({"rate": 1}, "rate says nothing without disorder"),
        ({"rate": "fast", "disorder": 0}, "rate is how many seconds in a second .* not 'fast'"),
        ({"rate": 0, "disorder": 0}, "rate is how many"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        timing(SCHEMA, True, **options)


def test_what_goes_together() -> None:
    found = timing(SCHEMA, True, bounds=ROWS, source="id", disorder="3s", rate="90%")
    assert found.bounds is not None
    assert found.bounds.pairs[2:] == ((1, 1, 0, 0, 3_000_001),)  # that of b
    assert found.rate == (900, 1)
    of_groups = timing(
        SCHEMA, True, source="id", groups="region", disorder="1s", skew="2s",
        bounds=[("eu", "us", 0, "9s")],
    )  # fmt: skip
    assert of_groups.bounds is not None
    assert [pair[4] for pair in of_groups.bounds.pairs] == [9_000_001, 3_000_001, 3_000_001]
    assert of_groups.apart_by == "region"
    by_number = timing(SCHEMA, True, bounds=[("01", "1", 0, 0)], source="n")
    assert by_number.bounds is not None
    assert by_number.bounds.names == ("1",)
