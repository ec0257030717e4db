"""`driftline run --now` and `--live`: the answer as it is now."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.run import Ran, driftline, driftline_on_a_terminal

QUERY = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH (time = 'ts');
SELECT symbol, count(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY symbol;
"""
TRADES = """symbol,price,ts
A,1,2024-01-01T00:00:00Z
B,2,2024-01-01T00:00:10Z
A,3,2024-01-01T00:00:20Z
C,3,2024-01-01T00:02:20Z
B,1,2024-01-01T00:02:00Z
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "query.sql").write_text(QUERY)
    (tmp_path / "trades.csv").write_text(TRADES)
    return tmp_path


def run(folder: Path, *arguments: str | Path) -> Ran:
    trades = f"trades={folder / 'trades.csv'}"
    return driftline("run", folder / "query.sql", "-i", trades, "--now", *arguments)


def short(lines: str) -> list[str]:
    """+ A 1 02:20, for every line."""
    changes = [json.loads(line) for line in lines.splitlines()]
    assert all(list(change) == ["stream", "op", "at", "row"] for change in changes)
    return [
        f"{each['op']} {each['row']['symbol']} {each['row']['n']} {each['at'][14:19]}"
        for each in changes
    ]


COUNTS = [
    "+ A 1 00:00", "+ B 1 00:10", "- A 1 00:20", "+ A 2 00:20", "- A 2 01:00", "+ A 1 01:00",
    "- B 1 01:10", "- A 1 01:20",
]  # fmt: skip


@pytest.mark.parametrize("emit", ["ordered", "eager"])
def test_counts_go_down_when_trades_leave_the_window(folder: Path, emit: str) -> None:
    assert short(run(folder, "--emit", emit).out) == [*COUNTS, "+ B 1 02:00", "+ C 1 02:20"]


def test_a_late_row_shows_from_the_clock_on(folder: Path) -> None:
    assert short(run(folder, "--batch", "1").out) == [*COUNTS, "+ C 1 02:20", "+ B 1 02:20"]


def test_the_table_at_the_end(folder: Path) -> None:
    rows = [json.loads(line) for line in run(folder, "--table").out.splitlines()]
    assert sorted(each["row"]["symbol"] for each in rows) == ["B", "C"]


def test_csv_and_parquet_have_op_and_at(folder: Path) -> None:
    assert run(folder, "-o", folder / "out.csv").code == 0
    header, first, *_ = (folder / "out.csv").read_text().splitlines()
    assert (header, first) == (
        '"op","at","symbol","n"',
        '"+",2024-01-01 00:00:00.000000Z,"A",1',
    )
    assert run(folder, "-o", folder / "out.parquet").code == 0
    assert pq.read_table(folder / "out.parquet").column_names == ["op", "at", "symbol", "n"]


def test_the_final_clock_shows_in_the_end_what_the_latest_does(folder: Path) -> None:
    final = short(run(folder, "--clock", "final").out)
    assert sorted(final) == sorted([*COUNTS, "+ B 1 02:00", "+ C 1 02:20"])


def test_by_the_time_of_day_old_trades_have_left(folder: Path) -> None:
    assert run(folder, "--clock", "wall", "--table").out == ""


def test_the_clock_may_be_set_in_the_script(folder: Path) -> None:
    (folder / "query.sql").write_text(f"SET clock = 'wall';{QUERY}")
    assert run(folder, "--table").out == ""
    assert (
        "clock is latest, final or wall"
        in driftline("explain", _script(folder, f"SET clock = 'late';{QUERY}")).err
    )


def _script(folder: Path, text: str) -> Path:
    path = folder / "other.sql"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--outputs", "marked"), "an answer now has no marks"),
        (("--live",), "--live draws on a terminal"),
        (("--pace", "fast"), "give a speed such as 1x or 10x"),
        (("--pace", "0x"), "give a speed such as 1x or 10x"),
    ],
)
def test_what_does_not_go_together_is_refused(
    folder: Path, arguments: tuple[str, ...], error: str
) -> None:
    ran = run(folder, *arguments)
    assert ran.code == 2
    assert error in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_clock_or_a_pace_without_the_answer_now_is_refused(folder: Path) -> None:
    trades = f"trades={folder / 'trades.csv'}"
    for option in (("--clock", "final"), ("--pace", "2x")):
        ran = driftline("run", folder / "query.sql", "-i", trades, *option)
        assert (ran.code, "add --now or --live" in ran.err) == (2, True)


def test_the_time_of_day_is_for_timestamps(folder: Path) -> None:
    (folder / "query.sql").write_text("CREATE STREAM trades (symbol STRING); SELECT * FROM trades;")
    assert "clock = wall is for streams of TIMESTAMPs" in run(folder, "--clock", "wall").err


def test_a_file_is_replayed_at_a_pace(folder: Path) -> None:
    replayed = short(run(folder, "--pace", "300x").out)
    assert replayed[:4] == COUNTS[:4]
    assert replayed[-1].startswith("+ ")


@pytest.mark.slow
def test_the_answer_is_drawn_in_place(folder: Path) -> None:
    shown = driftline_on_a_terminal(
        "run", folder / "query.sql", "-i", f"trades={folder / 'trades.csv'}", "--live"
    )
    assert "5 events · 1 late · 0 dead letters" in shown
    assert "result · now 2024-01-01T00:02:20Z · all is final" in shown
    assert "●" in shown


def test_at_perfect_there_is_no_answer_now(folder: Path) -> None:
    refused = run(folder, "--emit", "perfect")
    assert refused.code == 2
    assert "emit = perfect gives an answer when it has ended" in refused.err
