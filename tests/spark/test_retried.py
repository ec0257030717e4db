"""A query that starts again when a worker was slow to start, with runs that do as they are told."""

from __future__ import annotations

from typing import Any

import pytest

from driftline.spark.failures import TOO_SLOW
from driftline.spark.retried import PATIENCE, RetriedQuery


class Runs:
    """Starts runs, each of which completes a micro-batch (None), fails, or ends."""

    def __init__(self, *steps: str | None) -> None:
        self.steps, self.starts = list(steps), 0
        self.query: RetriedQuery | None = None

    def start(self) -> Any:
        self.starts += 1
        return self

    def awaitTermination(self) -> None:
        while self.steps:
            step = self.steps.pop(0)
            if step is not None:
                raise RuntimeError(step)
            if self.query is not None:
                self.query.completed()


SLOW = [TOO_SLOW] * (PATIENCE - 1)


def test_a_worker_that_is_slow_to_start_is_no_failure() -> None:
    runs = Runs(*SLOW)
    query = RetriedQuery(runs.start)
    assert query.awaitTermination() is None
    assert query.awaitTermination(1) is True
    assert not query.isActive
    assert runs.starts == PATIENCE


@pytest.mark.parametrize("failure", [TOO_SLOW, "x.Error: no disk"])
def test_other_failures_and_too_many_of_them_are(failure: str) -> None:
    runs = Runs(*[failure] * PATIENCE)
    query = RetriedQuery(runs.start)
    with pytest.raises(RuntimeError, match=failure):
        query.awaitTermination()
    assert runs.starts == (PATIENCE if failure == TOO_SLOW else 1)
