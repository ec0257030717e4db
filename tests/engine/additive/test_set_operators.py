from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.additive.group_by import distinct
from driftline.engine.additive.set_operators import SetOperator
from driftline.engine.core.operator import Operator
from driftline.model import reference
from driftline.model.event import CLOSE, Event
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, at_level, merged_watermark
from driftline.model.stream import breaches
from driftline.testing import interleaved, streams
from driftline.testing.driving import drive
from tests.build import history, insert

K = pa.schema([("k", pa.string())])
KEYS = {"k": st.sampled_from(["a", "b", None])}
PAIRS = interleaved(streams(KEYS, max_size=4), streams(KEYS, max_size=4))
OPERATORS: dict[str, tuple[Callable[[Level], Operator], Callable[..., History]]] = {
    "intersect": (lambda level: SetOperator(K, "intersect", True, level), reference.intersect),
    "intersect all": (
        lambda level: SetOperator(K, "intersect", False, level),
        reference.intersect_all,
    ),
    "minus": (lambda level: SetOperator(K, "minus", True, level), reference.minus),
    "minus all": (lambda level: SetOperator(K, "minus", False, level), reference.minus_all),
}


def check(
    operator: Operator,
    arrivals: list[tuple[int, Event]],
    expected: Callable[..., History],
    level: Level,
    size: int,
) -> None:
    ports = operator.ports
    for came, emitted in drive(operator, arrivals, [K] * ports, size):
        inputs = [
            canonical_history(e for which, e in came if which == port) for port in range(ports)
        ]
        answer = at_level(level, expected(*inputs), merged_watermark(came, ports))
        assert canonical_history(emitted).same_snapshots(answer)
        assert not breaches(emitted)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("level", Level)
@given(st.data())
def test_set_operators_are_their_references(name: str, level: Level, data: st.DataObject) -> None:
    make, expected = OPERATORS[name]
    arrivals = [*data.draw(PAIRS), (0, CLOSE), (1, CLOSE)]
    check(make(level), arrivals, expected, level, data.draw(st.sampled_from([1, 3, 100])))


@pytest.mark.parametrize("level", Level)
@given(streams(KEYS), st.sampled_from([1, 3, 100]))
def test_distinct_is_its_reference(level: Level, events: list[Event], size: int) -> None:
    arrivals = [(0, event) for event in [*events, CLOSE]]
    check(distinct(K, level), arrivals, reference.distinct, level, size)


def test_minus_all_gives_copies() -> None:
    #   a  1───────────9  twice, and 3───7 once on the right
    operator = SetOperator(K, "minus", False, Level.EAGER)
    row = {"k": "a"}
    arrivals = [(0, insert(1, 9, row)), (0, insert(1, 9, row)), (1, insert(3, 7, row))]
    emitted = [emitted for _, emitted in drive(operator, arrivals, [K, K], 1)][-1]
    assert canonical_history(emitted).same_snapshots(history((1, 9, row), (1, 3, row), (7, 9, row)))
