"""The limits of a run: of the work for a pattern, however the query is run."""

from __future__ import annotations

from pathlib import Path

import pytest

import driftline as dl
from driftline.engine.expressions import EvaluationError
from driftline.plan.errors import PlanError
from driftline.sql.errors import SqlError
from tests.cli.run import driftline

S = dl.stream("s", {"t": "INT", "x": "INT"}, time="t")
ROWS = [{"t": t, "x": 1} for t in range(20)]
MATCHES = """SELECT * FROM s MATCH_RECOGNIZE (
    ORDER BY t MEASURES count(*) AS n PATTERN ((A+ B+)+ C)
    DEFINE A AS x >= FIRST(x), B AS x >= FIRST(x), C AS x < 0
)"""
TOO_COSTLY = "took more than 1,000 steps: .* or SET max_steps = 10000$"


def test_a_run_in_python_takes_the_limit() -> None:
    query = dl.sql(MATCHES, s=S)
    with pytest.raises(EvaluationError, match=TOO_COSTLY):
        query.run(s=ROWS, max_steps=1000)
    assert len(query.run(s=ROWS, max_steps="inf").history()) == 0
    with pytest.raises(PlanError, match="max_steps is how many steps"):
        query.run(s=ROWS, max_steps=0)


def test_a_script_and_the_command_line_take_it_the_latter_first(tmp_path: Path) -> None:
    rows, script = tmp_path / "rows.csv", tmp_path / "query.sql"
    rows.write_text("t,x\n" + "".join(f"{row['t']},{row['x']}\n" for row in ROWS))
    script.write_text(
        "CREATE STREAM s (t INT, x INT) WITH (time = 't'); SET max_steps = 1000;" + MATCHES
    )
    command = ("run", str(script), "--input", f"s={rows}")
    refused = driftline(*command)
    assert refused.code == 2
    assert "SET max_steps = 10000" in refused.err
    assert driftline(*command, "--max-steps", "inf").code == 0


def test_a_setting_that_is_no_number_of_steps_is_refused_in_its_place() -> None:
    with pytest.raises(SqlError, match=r"max_steps is how many steps .*line 1, column 17"):
        dl.sql("SET max_steps = 'some';" + MATCHES, s=S)
