"""The runner of the command line, with a query that does as it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.cli.errors import Problem
from driftline.spark.query import Sink, SparkSaid
from driftline.spark.runner import PATIENCE, TOO_SLOW, _started
from driftline.spark.said import Kept
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
