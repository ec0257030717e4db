"""A batch costs what it changes: ten times the state makes the same batch hardly slower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import thread_time

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy, distinct
from driftline.engine.additive.set_operators import SetOperator
from driftline.engine.by_rows.general_aggregates import GeneralGroupBy
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.over import Frame, Over, OverColumn
from driftline.engine.by_rows.rank import Rank
from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Operator
from driftline.engine.ingest.align import Align
from driftline.engine.ingest.arrivals import ArrivedEvents, one_cti
from driftline.engine.ingest.finalize import Finalize
from driftline.engine.join import Join
from driftline.engine.lifetimes.coalesce import Coalesce
from driftline.engine.lifetimes.edges import Edges
from driftline.engine.lifetimes.finals import Finals
from driftline.model.columns import INSERT
from driftline.model.level import Level
from driftline.model.time import INFINITY

Int64s = NDArray[np.int64]
Part = Operator | Finalize

K, J = pa.schema([("k", pa.int64())]), pa.schema([("j", pa.int64())])
COUNT, MEDIAN = (
    Aggregate(name, name, argument, pa.float64() if argument else pa.int64())
    for name, argument in (("count", None), ("median", "k"))
)
TOTAL = OverColumn("total", pa.int64(), Frame(), Aggregate("total", "sum", "k", pa.int64()))
ORDER = [OrderBy("k")]
KEYS: dict[str, Callable[[], Part]] = {
    "group by": lambda: GroupBy(K, ["k"], [COUNT], Level.ORDERED),
    "group by, by rows": lambda: GeneralGroupBy(K, ["k"], [MEDIAN], Level.ORDERED),
    "distinct": lambda: distinct(K, Level.EAGER),
    "minus": lambda: SetOperator(K, "minus", False, Level.EAGER),
    "rank": lambda: Rank(K, ["k"], ORDER, "rank", "place", Level.ORDERED),
    "over": lambda: Over(K, ["k"], ORDER, [TOTAL], Level.ORDERED),
    "inner join": lambda: Join(K, J, "inner", ["k"], ["j"]),
    "full join": lambda: Join(K, J, "full", ["k"], ["j"]),
    "coalesce": lambda: Coalesce(K),
    "edges": lambda: Edges(K, "starts"),
    "finals": lambda: Finals(K),
    "finalize": lambda: Finalize(K, INFINITY),
    "align": lambda: Align(K, INFINITY),
}
TIMES: dict[str, Callable[[], Part]] = {
    "group by": lambda: GroupBy(K, ["k"], [COUNT], Level.EAGER),
    "coalesce": lambda: Coalesce(K),
    "edges": lambda: Edges(K, "ends"),
    "inner join": lambda: Join(K, J, "inner", ["k"], ["j"]),
    "anti join": lambda: Join(K, J, "anti", ["k"], ["j"]),
    "finalize": lambda: Finalize(K, INFINITY),
}
FEW, BATCH, TRIES = 5_000, 200, 20
AT_MOST = 2.0
ATTEMPTS = 5


def many_keys(start: int, size: int) -> Batch:
    """Rows of their own from `start` on, which never end."""
    keys = np.arange(start, start + size)
    return changes(keys, np.full(size, INFINITY), keys)


def many_times(start: int, size: int) -> Batch:
    """One row that comes and goes again and again."""
    times = 10 * np.arange(start, start + size)
    return changes(times, times + 5, np.zeros(size, np.int64))


def changes(vs: Int64s, ve: Int64s, keys: Int64s) -> Batch:
    rows = pa.RecordBatch.from_arrays([pa.array(keys)], schema=K)
    return Batch(vs, ve, np.ones(len(vs), np.int64), rows)


def receive(operator: Part, batch: Batch) -> None:
    if isinstance(operator, Operator):
        operator.receive(0, batch)
        return
    kind = np.full(len(batch), INSERT, np.int8)
    operator.receive_events(ArrivedEvents(kind, batch.vs, batch.ve, batch.ve, batch.payload))
    operator.receive_events(one_cti(K, batch.cti))


def seconds(operator: Part, batch: Callable[[int, int], Batch], held: int) -> float:
    """The least time that a batch takes, with so many rows held before."""
    receive(operator, batch(0, held))
    least = float("inf")
    for number, start in enumerate(range(held, held + TRIES * BATCH, BATCH)):
        more = replace(batch(start, BATCH), cti=number - TRIES)
        begin = thread_time()
        receive(operator, more)
        least = min(least, thread_time() - begin)
    assert operator.state_size()[0] >= held
    return least


@pytest.mark.parametrize(
    ("make", "batch"),
    [
        *(pytest.param(make, many_keys, id=f"{name} of many keys") for name, make in KEYS.items()),
        *(pytest.param(make, many_times, id=f"{name} of one") for name, make in TIMES.items()),
    ],
)
def test_ten_times_the_state_makes_a_batch_hardly_slower(
    make: Callable[[], Part], batch: Callable[[int, int], Batch]
) -> None:
    # The machine is shared and noisy: one good pair of some is enough.
    ratios = (
        seconds(make(), batch, 10 * FEW) / seconds(make(), batch, FEW) for _ in range(ATTEMPTS)
    )
    assert any(ratio < AT_MOST for ratio in ratios)
