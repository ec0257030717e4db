from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from driftline.cli.history import cell
from tests.cli.run import COMMAND, driftline, driftline_on_a_terminal
from tests.cli.test_check import LATE, LOG


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(LOG)
    return path


A = '{"stream":"trades","vs":1,"ve":5,"row":{"symbol":"A","price":10.0}}\n'
OPEN_A = '{"stream":"trades","vs":1,"ve":null,"row":{"symbol":"A","price":10.0}}\n'
B = '{"stream":"trades","vs":8,"ve":null,"row":{"symbol":"B","price":1.0}}\n'


def test_json_lines_in_a_pipe(log: Path) -> None:
    ran = driftline("history", log)
    assert (ran.code, ran.out, ran.err) == (0, A + B, "")


def test_a_prefix(log: Path) -> None:
    assert driftline("history", log, "--prefix", "2").out == OPEN_A + B
    assert driftline("history", log, "--prefix", "0").out == ""


def test_a_snapshot(log: Path) -> None:
    assert driftline("history", log, "--at", "4").out == A
    assert driftline("history", log, "--at", "1970-01-01T00:00:00.000008Z").out == B


def test_one_stream(log: Path) -> None:
    assert driftline("history", log, "--stream", "clicks").out == ""
    ran = driftline("history", log, "--stream", "bids")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == 'driftline: there is no stream "bids" in the log; it has: trades, clicks\n'


def test_a_drawn_table(log: Path) -> None:
    shown = driftline_on_a_terminal("history", log)
    assert "│" in shown
    assert "∞" in shown
    plain = driftline("history", log, "--format", "table", "--stream", "trades").out
    assert plain.splitlines()[:3] == ["trades", "vs  ve  symbol  price", " 1   5  A        10.0"]


def test_a_long_table_is_cut_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{}}\n' * 50)
    shown = driftline_on_a_terminal("history", path)
    assert shown.splitlines()[-1] == "… and 10 more; pipe it to see all"
    piped = driftline("history", path, "--format", "table").out
    assert piped.splitlines()[-50:] == [" 1   2"] * 50


def test_a_bad_event(log: Path, tmp_path: Path) -> None:
    log.write_text(LOG + LATE + "oops")
    ran = driftline("history", log)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"{log}:6: an insert with sync time 2 comes after cti 5\n"
    letters = tmp_path / "bad.jsonl"
    ran = driftline("history", log, "--dead-letters", letters)
    assert (ran.code, ran.out) == (0, A + B)
    assert ran.err == f"2 bad events written to {letters}\n"


def test_times_of_a_timestamp_stream(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"stream":"s","kind":"insert","vs":"2024-05-01","ve":null,"row":{}}')
    assert '"vs":"2024-05-01T00:00:00Z"' in driftline("history", path).out


def test_a_time_that_is_none(log: Path) -> None:
    ran = driftline("history", log, "--at", "noon")
    assert ran.code == 2
    assert ran.err.startswith("driftline: --at: 'noon' is not an ISO 8601 time")


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    import subprocess

    path = tmp_path / "events.jsonl"
    path.write_text('{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{}}\n' * 20_000)
    process = subprocess.Popen(
        [*COMMAND, "history", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        ("a b", "a b"),
        ("", ""),
        (None, "null"),
        (1.5, "1.5"),
        (True, "true"),
        (Decimal("1.50"), "1.50"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5, 600, UTC), "2026-01-02T03:04:05.000600Z"),
        (timedelta(minutes=1), "0:01:00"),
        (b"\x01\xff", "01ff"),
        ({"a": [Decimal(2), None]}, '{"a":["2",null]}'),
    ],
)
def test_how_values_are_drawn(value: object, drawn: str) -> None:
    assert cell(value) == drawn
