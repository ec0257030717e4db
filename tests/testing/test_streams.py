"""The strategies reach the hard cases often; `python -m driftline.testing` prints how often."""

from __future__ import annotations

import pytest
from hypothesis import given

from driftline.model.event import Event
from driftline.model.stream import is_valid
from driftline.testing import features, interleaved, streams
from driftline.testing.__main__ import measure

OFTEN = {
    "late insert": 0.3,
    "late retract": 0.3,
    "full retraction": 0.3,
    "chain of several retractions": 0.3,
    "duplicate insert": 0.2,
    "shared endpoint": 0.4,
    "lifetimes that touch": 0.1,
    "null in a row": 0.4,
    "cti in the middle": 0.3,
    "tight cti": 0.2,
    "retraction after a cti": 0.1,
    "ordered": 0.1,
    "perfect": 0.05,
    "open": 0.2,
    "closed": 0.2,
}


@pytest.mark.slow
def test_hard_cases_are_reached_often() -> None:
    shares = measure(examples=400)
    print("\n".join(f"{share:6.0%}  {name}" for name, share in shares.items()))
    rare = {
        name: shares.get(name, 0) for name, least in OFTEN.items() if shares.get(name, 0) < least
    }
    assert not rare


@given(interleaved(streams(), streams(max_size=3)))
def test_interleaving_keeps_each_stream(arrivals: list[tuple[int, Event]]) -> None:
    for port in (0, 1):
        assert is_valid([event for which, event in arrivals if which == port])


def test_features_of_an_empty_stream() -> None:
    assert features([]) == {"empty", "open", "ordered", "perfect"}
