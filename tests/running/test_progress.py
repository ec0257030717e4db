"""How far a run has come, from what its steps emit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import OperatorKey
from driftline.engine.step_outputs import Outputs
from driftline.model.time import BEGINNING
from driftline.running.progress import RunProgress, Tally

ROWS = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})


def batch(weights: list[int], cti: int, high: int) -> Batch:
    times = np.arange(3)
    return Batch(times, times + 1, np.array(weights), ROWS, cti, high)


def test_a_tally_goes_by_the_slowest_query_and_counts_what_is_taken_back() -> None:
    tally = Tally(["a", "b"], timestamps=False)
    tally.add(Outputs({"a": batch([1, 1, -2], BEGINNING, 7)}, {}))
    assert tally.progress() == RunProgress(1, 0, 0.0, BEGINNING, 2, 0)
    both = {"a": batch([1, 1, 1], 9, 8), "b": batch([1, 1, -1], 4, 2)}
    tally.add(Outputs(both, {}))
    assert tally.progress() == RunProgress(2, 0, 0.0, 4, 3, 0)


def test_an_event_counts_once_however_many_read_it() -> None:
    def at_source(count: int) -> dict[str, int]:
        return {"changes_in": count, "dead_letters": 0, "state_rows": 1}

    tally = Tally(["a"], timestamps=False)
    counters = {
        OperatorKey("finalize", "s", "s", shard=0): at_source(2),
        OperatorKey("finalize", "s", "s", shard=1): at_source(3),
        OperatorKey("finalize", "s (2)", "s", shard=0): at_source(4),
        OperatorKey("finalize", "s", "s", run=1): at_source(1),
        OperatorKey("finalize", "s (2)", "s (2)"): at_source(10),  # a stream of that name
        OperatorKey("0 group by", "a"): {"changes_in": 99, "state_rows": 7},
    }
    tally.add(Outputs({}, {}, counters))
    progress = tally.progress()
    assert (progress.events, progress.state_rows) == (15, 12)


def test_an_event_that_every_shard_gets_counts_once() -> None:
    counted = {"changes_in": 3, "dead_letters": 0, "state_rows": 1, "copied": 1}
    counters = {OperatorKey("finalize", "s", "s", shard=shard): counted for shard in range(3)}
    tally = Tally(["a"], timestamps=False)
    tally.add(Outputs({}, {}, counters))
    progress = tally.progress()
    assert (progress.events, progress.state_rows) == (3, 3)
