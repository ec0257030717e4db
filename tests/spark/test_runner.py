"""The runner of the command line, with a query that does as it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.spark.inputs import close
from tests.cli.run import driftline

CLOSING = """
CREATE STREAM s (k STRING, t INT) WITH (time = 't');
SELECT k, count(*) AS n FROM s GROUP BY k;
"""


@pytest.mark.spark
def test_closing_a_checkpoint_is_asked_for(spark: Any, tmp_path: Path) -> None:
    script, given, state = tmp_path / "q.sql", tmp_path / "in", tmp_path / "state"
    out = tmp_path / "out.jsonl"
    script.write_text(CLOSING)
    given.mkdir()

    def run(*more: str | Path) -> tuple[int, list[str], str]:
        base = ("run", script, "-i", f"s={given}", "--checkpoint", state, "--runner", "spark")
        ran = driftline(*base, "--table", *more)
        return ran.code, ran.out.splitlines(), ran.err

    def table(*counts: tuple[int, str]) -> list[str]:
        """How often `a` had come at which times."""
        return [f'{{"vs":{since},"ve":{until},"row":{{"k":"a","n":{n + 1}}}}}'
                for n, (since, until) in enumerate(counts)]  # fmt: skip

    (given / "1.csv").write_text("k,t\na,1\n")
    code, lines, emitted = run()
    assert (code, lines) == (0, table((1, "null")))
    assert emitted == (
        f"driftline: the streams stay open in {state}: run again to go on with what is new, and "
        "with --close to end them, so that all answers become final\n"
    )
    (given / "2.csv").write_text("k,t\na,5\n")
    assert run("--close") == (0, table((1, "5"), (5, "null")), "")
    (given / "3.csv").write_text("k,t\na,9\n")
    out.write_text("precious")
    for more in ((), ("--close",), ("--keep-open",), ("--follow", "-o", out)):
        code, lines, emitted = run(*more)
        assert (code, lines) == (2, [])
        assert emitted == (
            f"driftline: --checkpoint: {state} has been closed (--close), so that nothing new of "
            f"{given} can come: give another directory, and --close only when all has come\n"
        )
    assert out.read_text() == "precious"


def test_a_run_that_was_stopped_while_it_closed_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text(CLOSING)
    Path("in").mkdir()
    Path("state/closing/s").mkdir(parents=True)
    close(Path("state/closing/s"))
    Path("in/1.csv").write_text("k,t\na,1\n")
    ran = driftline("run", "q.sql", "-i", "s=in", "--checkpoint", "state", "--runner", "spark")
    assert (ran.code, ran.err) == (
        2,
        "driftline: --checkpoint: a run with --close was stopped while it closed state: run it "
        "once more with --close\n",
    )


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (["--close"], "--close is for --checkpoint: without one the streams are closed at the end"),
        (["--close", "--checkpoint", "c", "--follow"], "--close and --follow are opposites"),
        (["--close", "--checkpoint", "c", "--keep-open"], "--close and --keep-open are opposites"),
    ],
)
def test_what_close_does_not_go_with(tmp_path: Path, more: list[str], complaint: str) -> None:
    (tmp_path / "q.sql").write_text(CLOSING)
    for runner in ("local", "spark"):
        ran = driftline("run", tmp_path / "q.sql", "-i", "s=x.csv", *more, "--runner", runner)
        assert ran.code == 2
        assert complaint in ran.err
