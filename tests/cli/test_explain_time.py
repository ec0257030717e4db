"""`driftline run --explain-time`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import driftline

RECORDS = [("a", 10, 0), ("b", 9, 1), ("a", 20, 4), ("b", 12, 6), ("a", 3, 7), ("b", 30, 9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [json.dumps({"id": name, "t": t, "got": got}) for name, t, got in RECORDS]
    (tmp_path / "s.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def emitted(folder: Path, bounds: str, *options: str | Path) -> str:
    script = folder / "q.sql"
    script.write_text(
        f"CREATE STREAM s (id STRING, t BIGINT, got BIGINT) WITH (time = 't'{bounds});"
        "SELECT id, t FROM s;",
        encoding="utf-8",
    )
    done = driftline("run", script, "--input", f"s={folder / 's.jsonl'}", *options)
    assert done.code == 0, done.err
    return done.err


def row(table: str, name: str) -> list[str]:
    """The cells of a drawn table in the row of a source."""
    (line,) = [line for line in table.splitlines() if line.startswith(f"│ {name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_what_bounds_have_promised(folder: Path) -> None:
    told = emitted(folder, ", source = 'id', sources = 2, disorder = 4", "--explain-time")
    assert "promised: disorder 4" in told
    assert row(told, "a") == ["a", "3", "20", "15", "5", "1"]
    assert row(told, "b") == ["b", "3", "30", "25", "5", "0"]


def test_sources_with_any_names(folder: Path) -> None:
    line = json.dumps({"id": "[/b]\x1b", "t": 5, "got": 1})
    (folder / "s.jsonl").write_text(line, encoding="utf-8")
    told = emitted(folder, ", source = 'id', disorder = 4", "--explain-time")
    assert row(told, "[/b]\\u001b")[1] == "1"


def test_what_was_guessed(folder: Path) -> None:
    told = emitted(folder, "", "--explain-time")
    assert "guessed" in told
    assert row(told, "all")[1] == "6"


def test_bounds_that_need_a_clock_say_so(folder: Path) -> None:
    assert "no arrival clock" in emitted(folder, ", disorder = 4, latency = 2", "--explain-time")
    told = emitted(folder, ", disorder = 4, latency = 2, arrival = 'got'", "--explain-time")
    assert "no arrival clock" not in told


def test_bounds_between_sources_are_shown_closed(folder: Path) -> None:
    bounds = folder / "bounds.csv"
    bounds.write_text("from,to,after,delta\na,a,0,20\na,c,0,2\nc,b,3 tuples,0\na,b,2s,later\n")
    told = emitted(
        folder, f", source = 'id', bounds = '{bounds}', arrival = 'got'", "--explain-time"
    )
    assert "promised: 4 bounds\n" in told
    assert "  a → b: after 2 s later\n" in told
    assert "  a → b: after 3 tuples at most 2 behind, which follows\n" in told
    assert "the last tuples of a wait for ever, because a is not bound to catch up" in told
    assert row(told, "a")[:2] == ["a", "3"]
    assert row(told, "c")[:2] == ["c", "0"]
    bounds.write_text("from,to,after,delta\na,a,0,20\n")
    told = emitted(folder, f", source = 'id', bounds = '{bounds}', timeout = 9", "--explain-time")
    assert "3 records were of sources that the bounds do not name: nothing waits" in told
    assert "the last tuples" not in told


def test_groups_and_rates(folder: Path) -> None:
    told = emitted(
        folder,
        ", source = 'got', groups = 'id', disorder = 1, skew = 3, rate = 0.5, arrival = 'got'",
        "--explain-time",
    )
    assert "promised: groups by id, disorder 1, skew 3, rate 500 in a second" in told
    assert "┃ group" in told
    assert row(told, "a") == ["a", "3", "20", "17", "3", "1"]


def test_a_mistake_in_the_bounds_is_shown_with_its_line(folder: Path) -> None:
    bounds = folder / "bounds.csv"
    bounds.write_text("from,to,after,delta\na,a,0,20\na,b,soon,2\n")
    script = folder / "q.sql"
    script.write_text(
        "CREATE STREAM s (id STRING, t BIGINT) WITH (time = 't', source = 'id', "
        f"bounds = '{bounds}'); SELECT t FROM s;"
    )
    done = driftline("explain", script)
    assert done.code == 2
    assert f"{bounds}, line 3: after: 'soon' is not a duration" in done.err


def test_a_chart(folder: Path) -> None:
    chart = folder / "time.svg"
    assert str(chart) in emitted(folder, ", disorder = 4", "--time-chart", chart)
    assert "<svg" in chart.read_text(encoding="utf-8")


def test_a_chart_in_a_format_that_is_not_known(folder: Path) -> None:
    script = folder / "q.sql"
    script.write_text(
        "CREATE STREAM s (id STRING, t BIGINT, got BIGINT) WITH (time = 't'); SELECT t FROM s;",
        encoding="utf-8",
    )
    done = driftline("run", script, "-i", f"s={folder / 's.jsonl'}", "--time-chart", "x.gif")
    assert done.code == 2
    assert ".svg or .png" in done.err
    assert not done.out  # before anything was read
