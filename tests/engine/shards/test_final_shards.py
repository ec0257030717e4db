"""Final answers of random plans on shards: nothing is taken back, and in the end all is emitted."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.engine.tables import history_table
from driftline.model import reference
from driftline.model.event import Cti, Event, Insert
from driftline.model.history import History, Lifetime
from driftline.model.reference import Level
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.finals import final
from driftline.plan.lifetimes import is_loose
from driftline.plan.nodes import Final, Node
from tests.engine.shards.test_shard import Cluster, events_by_name
from tests.engine.state.test_closing import DISORDER, QUERIES, TRADES, rows
from tests.engine.test_plans import ARRIVALS, PLANS


def history_of(batches: list[Batch], schema: pa.Schema) -> History:
    return History(
        Lifetime(line.pop("vs"), INFINITY if (ve := line.pop("ve")) is None else ve, Row(line))
        for line in history_table(batches, schema).to_pylist()
    )


@settings(max_examples=60)
@given(
    plan=PLANS,
    arrivals=ARRIVALS,
    level=st.sampled_from([Level.ORDERED, Level.EAGER]),
    size=st.integers(1, 6),
    shards=st.integers(1, 3),
    move_at=st.integers(-1, 3),
)
def test_random_plans(
    plan: object,
    arrivals: list[tuple[int, Event]],
    level: Level,
    size: int,
    shards: int,
    move_at: int,
) -> None:
    query: Node = plan.query.plan  # type: ignore[attr-defined]
    names = query.schema.names
    assume(not {"vs", "ve"} & set(names) and len(set(names)) == len(names))
    try:
        whole: Final = final(query)
    except PlanError:
        assume(False)
    events = events_by_name(arrivals, query)
    options = Options(level, batch=size, keep_open=True)
    schema = query.schema.arrow
    answer = history_of([step.batch for step in run(query, events, options)], schema)
    if whole.windows:
        wanted = reference.window_finals(answer, INFINITY, whole.windows)
    else:
        wanted = answer.coalesced() if is_loose(query) else answer

    cluster = Cluster(whole, dict.fromkeys(events, Reading(False, True)), options, shards)
    raw = {name: events_from(query.sources()[name], each) for name, each in events.items()}
    longest = max(map(len, raw.values()))
    emitted: list[Batch] = []
    for number, first in enumerate(range(0, longest, size)):
        step = {name: each.slice(*_part(first, size, len(each))) for name, each in raw.items()}
        batches = cluster.step(step, 1)
        assert all(batch.weight.min() > 0 for batch in batches)
        emitted += batches
        if number == move_at:
            cluster.move()
    assert history_of(emitted, schema) == wanted


SHIFTED = "TUMBLE(TABLE (SELECT at {} AS at, k, x FROM trades), DESCRIPTOR(at), 5)"
BY_TIME = {
    "windows": "SELECT window_end, k, x FROM TUMBLE(trades, 5)",
    "before": f"SELECT window_end, count(*) AS n FROM {SHIFTED.format('- 7')} GROUP BY ALL",
    "after": f"SELECT window_end AS e, k, sum(x) AS s FROM {SHIFTED.format('+ 12')} GROUP BY ALL",
    "only called so": "SELECT k, max(window_end) AS window_end FROM TUMBLE(trades, 5) GROUP BY k",
    "lifetimes": "SELECT k, count(*) AS n FROM trades [RANGE 7] GROUP BY k",
    "endless": "SELECT k, count(*) AS n FROM trades GROUP BY k",
    **QUERIES,
}


@settings(max_examples=80)
@given(
    query=st.sampled_from(sorted(BY_TIME)),
    times=st.lists(st.integers(0, 40), max_size=20),
    late=st.lists(st.integers(0, DISORDER - 1), min_size=20, max_size=20),
    level=st.sampled_from([Level.ORDERED, Level.EAGER]),
    size=st.integers(1, 9),
    shards=st.integers(1, 3),
)
def test_final_answers_of_records_are_all_that_there_are(
    query: str, times: list[int], late: list[int], level: Level, size: int, shards: int
) -> None:
    """In one process and on shards: each row once, as it is at the end; none is lost."""
    moments = sorted((time + delay, time) for time, delay in zip(times, late, strict=False))
    records = rows([time for _, time in moments])
    plan = dl.sql(BY_TIME[query], trades=TRADES).plan
    whole = final(plan, ["trades"])
    options, schema = Options(level, batch=size), plan.schema.arrow
    answer = history_of([each.batch for each in run(plan, {"trades": records}, options)], schema)
    if whole.windows:
        wanted = sorted(str(life.row) for life in answer if life.ve == INFINITY)
    else:
        wanted = sorted(map(str, answer.coalesced()))

    def shown(batches: list[Batch]) -> list[str]:
        assert all(batch.weight.min() > 0 for batch in batches if len(batch))
        history = history_of(batches, schema)
        return sorted(str(life.row) if whole.windows else str(life) for life in history)

    local = [each.batch for each in run(whole, {"trades": records}, options)]
    assert shown(local) == wanted
    if not whole.windows or " JOIN " in BY_TIME[query]:
        return  # what has no window, or a null there, is final when the streams are closed
    # A record long after all others, instead of the end of the stream: its own window is open.
    source = plan.sources()["trades"]
    events = events_from(source, [*records, *rows([10_000])])
    cluster = Cluster(whole, {"trades": Reading(plain=True, ordered=False)}, options, shards)
    emitted: list[Batch] = []
    for first in range(0, len(events), size):
        emitted += cluster.step({"trades": events.slice(*_part(first, size, len(events)))}, 1)
    assert cluster.dead == 0
    assert shown(emitted) == wanted


def _part(first: int, size: int, length: int) -> tuple[int, int]:
    return min(first, length), min(first + size, length)


INNER = "SELECT k, count(*) AS x FROM {} GROUP BY k"
EXACT = {
    "windows of counts": f"SELECT window_end, k, x FROM TUMBLE(({INNER.format('s')}), 10)",
    "windows of counts of counts": "SELECT window_end, x FROM TUMBLE("
    f"({INNER.format('(' + INNER.format('s') + ')')}), 10)",
    "counts of windows of counts": "SELECT window_end, count(*) AS n FROM TUMBLE("
    f"({INNER.format('s [RANGE 30]')}), 10) GROUP BY window_end",
}


@pytest.mark.parametrize("query", EXACT)
def test_a_window_over_an_aggregate_is_final_when_it_is_over(query: str) -> None:
    source = dl.stream("s", {"k": "STRING"})
    plan = final(dl.sql(EXACT[query], s=source).plan)
    events = [Insert(12, INFINITY, Row(k="a")), Cti(19), Cti(20)]
    ends = [
        [each.row["window_end"] for each in history_of([step.batch], plan.schema.arrow)]
        for step in run(plan, {"s": events}, Options(batch=1, keep_open=True))
    ]
    assert ends == [[], [], [20]]
