"""The runner of the command line, with a query that does as it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.cli.errors import Problem
from driftline.spark.inputs import close
from driftline.spark.query import Sink, SparkSaid
from driftline.spark.runner import PATIENCE, TOO_SLOW, _started
from driftline.spark.said import Kept
from tests.cli.run import driftline
from tests.spark.saying import TRADES, VOLUME, volumes


class Query:
    """Says a micro-batch each time it is started, or fails; then it is at its end."""

    def __init__(self, *steps: SparkSaid | str) -> None:
        self.steps, self.starts, self.stops = list(steps), 0, 0

    def start(self, sink: Sink, **_: Any) -> Query:
        self.sink, self.starts = sink, self.starts + 1
        return self

    def awaitTermination(self) -> None:
        while self.steps:
            step = self.steps.pop(0)
            if isinstance(step, str):
                raise RuntimeError(step)
            self.sink(step)

    def stop(self) -> None:
        self.stops += 1


def numbers(query: Query, folder: Path) -> list[int]:
    kept = Kept(folder / "said", {"result": VOLUME.plan}, TRADES.plan.sources())
    asked: Any = query
    return [said.batch_id for said in _started(asked, kept, folder, {})]


def test_a_worker_that_is_slow_to_start_is_no_failure(tmp_path: Path) -> None:
    first, second, *_ = volumes()
    slow = [TOO_SLOW] * (PATIENCE - 1)
    query = Query(*slow, first, *slow, first, second)
    assert numbers(query, tmp_path) == [0, 1]
    assert query.starts == query.stops == 2 * PATIENCE - 1


@pytest.mark.parametrize("failure", [TOO_SLOW, "x.Error: no disk"])
def test_other_failures_and_too_many_of_them_are(tmp_path: Path, failure: str) -> None:
    query = Query(*[failure] * PATIENCE)
    with pytest.raises(Problem, match=f"the query has failed: {failure.rpartition(': ')[2]}"):
        numbers(query, tmp_path)
    assert query.starts == (PATIENCE if failure == TOO_SLOW else 1)


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
    code, lines, said = run()
    assert (code, lines) == (0, table((1, "null")))
    assert said == (
        f"driftline: the streams stay open in {state}: run again to go on with what is new, and "
        "with --close to end them, so that all answers become final\n"
    )
    (given / "2.csv").write_text("k,t\na,5\n")
    assert run("--close") == (0, table((1, "5"), (5, "null")), "")
    (given / "3.csv").write_text("k,t\na,9\n")
    out.write_text("precious")
    for more in ((), ("--close",), ("--keep-open",), ("--follow", "-o", out)):
        code, lines, said = run(*more)
        assert (code, lines) == (2, [])
        assert said == (
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
