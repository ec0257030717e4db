import json
from pathlib import Path

import pytest

from driftline.cli.check import collected
from tests.cli.run import driftline, driftline_on_a_terminal

LOG = """\
{"stream":"trades","kind":"insert","vs":1,"ve":null,"row":{"symbol":"A","price":10.0}}
{"stream":"trades","kind":"insert","vs":8,"ve":null,"row":{"symbol":"B","price":1.0}}
{"stream":"trades","kind":"retract","vs":1,"ve":null,"vn":5,"row":{"symbol":"A","price":10.0}}
{"stream":"trades","kind":"cti","t":5}
{"stream":"clicks","kind":"external_cti","from":"2024-05-01","to":null,"count":5}
"""
LATE = '{"stream":"trades","kind":"insert","vs":2,"ve":3,"row":{"symbol":"C","price":1.0}}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(LOG)
    return path


def test_a_valid_log(log: Path) -> None:
    ran = driftline("check", log)
    assert (ran.code, ran.err) == (0, "")
    first, *table = ran.out.splitlines()
    assert first == f"{log}: valid, 5 events in 2 streams"
    cells = [line.split("  ") for line in table if line]
    facts = {name: [cell.strip() for cell in rest if cell] for name, *rest in cells[1:]}
    assert facts["events"] == ["4", "1"]
    assert facts["closed up to"] == ["5", "-"]
    assert facts["late events"] == ["1 (33.3%)", "0 (0.0%)"]
    assert facts["largest lateness"] == ["3", "0:00:00"]


def test_on_a_terminal_the_table_is_drawn(log: Path) -> None:
    shown = driftline_on_a_terminal("check", log)
    assert "╭" in shown
    assert "closed up to" in shown


def test_every_breach_has_a_line(log: Path) -> None:
    log.write_text(LOG + LATE + "oops\n")
    ran = driftline("check", log)
    assert (ran.code, ran.out) == (2, "")
    one, two = ran.err.splitlines()
    assert one == f"{log}:6: an insert with sync time 2 comes after cti 5"
    assert two.startswith(f"{log}:7: malformed JSON")


def test_many_breaches(log: Path) -> None:
    log.write_text(LOG + LATE * 30)
    lines = driftline("check", log).err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "and 10 more; --dead-letters FILE collects them all"


def test_dead_letters(log: Path, tmp_path: Path) -> None:
    log.write_text(LOG + LATE)
    letters = tmp_path / "bad.jsonl"
    ran = driftline("check", log, "--dead-letters", letters)
    assert ran.code == 0
    assert ran.err == f"1 bad event written to {letters}\n"
    assert "valid without the bad events, 5 events" in ran.out
    [letter] = map(json.loads, letters.read_text().splitlines())
    assert (letter["line"], letter["event"]["vs"]) == (6, 2)


def test_standard_input() -> None:
    ran = driftline("check", "-", stdin=(LOG + LATE).encode())
    assert ran.err == "<stdin>:6: an insert with sync time 2 comes after cti 5\n"


def test_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    ran = driftline("check", tmp_path / "empty.jsonl")
    assert (ran.code, ran.out) == (0, f"{tmp_path / 'empty.jsonl'}: valid, no events\n")


def test_what_is_said_of_dead_letters() -> None:
    assert collected(0, "f") == "no bad events"
    assert collected(1200, "f") == "1,200 bad events written to f"
