"""Final answers of random plans on shards: nothing is taken back, and in the end all is said."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from driftline.engine.batch import Batch
from driftline.engine.inputs import events_from
from driftline.engine.local import Options, history_table, run
from driftline.engine.stages import Reading
from driftline.model import reference
from driftline.model.event import Event
from driftline.model.history import History, Lifetime
from driftline.model.reference import Level
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.finals import final
from driftline.plan.lifetimes import is_loose
from driftline.plan.nodes import Final, Node
from tests.engine.test_plans import ARRIVALS, PLANS
from tests.engine.test_shard import Cluster, events_by_name


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
    if whole.window_end is not None:
        wanted = reference.window_finals(answer, INFINITY, whole.window_end)
    else:
        wanted = answer.coalesced() if is_loose(query) else answer

    cluster = Cluster(whole, dict.fromkeys(events, Reading(False, True)), options, shards)
    raw = {name: events_from(query.sources()[name], each) for name, each in events.items()}
    longest = max(map(len, raw.values()))
    said: list[Batch] = []
    for number, first in enumerate(range(0, longest, size)):
        step = {name: each.slice(*_part(first, size, len(each))) for name, each in raw.items()}
        batches = cluster.step(step, 1)
        assert all(batch.weight.min() > 0 for batch in batches)
        said += batches
        if number == move_at:
            cluster.move()
    assert history_of(said, schema) == wanted


def _part(first: int, size: int, length: int) -> tuple[int, int]:
    return min(first, length), min(first + size, length)
