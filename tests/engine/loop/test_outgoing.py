"""What goes out of a loop is what its last round has, whatever rounds have changed before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.loop.outgoing import Outgoing
from driftline.engine.state.trace import KEY, VALUES, VE, VS, WEIGHT
from driftline.model.arrays import Int64s, Int64Table, to_arrow
from driftline.model.time import INFINITY

KEYS, LATEST = 4, 9
Answer = tuple[int, int, int] | None
"""Of a key: a row during [start, end), or none."""

answers = st.lists(
    st.none() | st.tuples(st.integers(0, 4), st.integers(5, LATEST), st.integers(0, 1)),
    min_size=KEYS,
    max_size=KEYS,
)


def rows(changes: Int64Table) -> Batch:
    columns = [to_arrow(np.ascontiguousarray(changes[each])) for each in (KEY, VALUES)]
    payload = pa.RecordBatch.from_arrays(columns, ["key", "value"])
    return Batch(changes[VS], changes[VE], changes[WEIGHT], payload)


class Running:
    def __init__(self) -> None:
        self.outgoing = Outgoing(1)
        self.answer: list[Answer] = [None] * KEYS
        self.there: dict[tuple[int, ...], int] = {}

    def last_round(self, keys: Int64s) -> tuple[Int64Table, Int64s]:
        found = [self.answer[key] for key in keys.tolist()]
        pieces = np.array([each for each in found if each], np.int64).reshape(-1, 3)
        return pieces, np.cumsum([0, *(each is not None for each in found)])

    def change(self, answer: list[Answer]) -> None:
        """A round changes some keys, which may come several times."""
        changed = [key for key in range(KEYS) if self.answer[key] != answer[key]]
        self.answer = answer
        self.outgoing.changed.append(np.array(changed + changed[:2], np.int64))

    def compare(self) -> None:
        self.outgoing.compare(0, self.last_round, rows)

    def take(self) -> None:
        batch = self.outgoing.take()
        if batch is None:
            return
        columns = [column.to_pylist() for column in batch.payload.columns]
        lifetimes = zip(*columns, batch.vs.tolist(), batch.ve.tolist(), strict=True)
        for lifetime, weight in zip(lifetimes, batch.weight.tolist(), strict=True):
            self.there[lifetime] = self.there.get(lifetime, 0) + weight

    def expected(self) -> dict[tuple[int, ...], int]:
        found = ((key, each) for key, each in enumerate(self.answer) if each is not None)
        return {(key, value, start, end): 1 for key, (start, end, value) in found}


@given(st.lists(st.tuples(answers, st.booleans()), max_size=6), st.integers(0, 6))
def test_the_last_round_goes_out(rounds: list[tuple[list[Answer], bool]], restored: int) -> None:
    running = Running()
    for number, (answer, goes_out) in enumerate(rounds):
        running.change(answer)
        running.compare()
        if number == restored:
            before, live = running.outgoing, np.arange(KEYS)
            running.outgoing = Outgoing(1)
            running.outgoing.trace.restore(live, before.trace.snapshot(live, "was"), "was")
            running.outgoing.ready = before.ready
        if goes_out:
            running.take()
            assert {each: n for each, n in running.there.items() if n} == running.expected()


def test_what_is_ready_goes_out_after_the_last_cti() -> None:
    running = Running()
    running.change([(0, 5, 1), None, None, None])
    running.compare()
    keys, ends = np.arange(KEYS), np.full(KEYS, INFINITY)
    running.outgoing.evict(keys, 4, ends)
    assert ends.tolist() == [5, INFINITY, INFINITY, INFINITY]
    running.outgoing.start_empty()
    running.take()
    assert running.there == {(0, 1, 0, 5): 1}
    assert running.outgoing.entries() == 0
