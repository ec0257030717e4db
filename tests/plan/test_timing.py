from __future__ import annotations

from typing import Any

import pytest

from driftline.plan.errors import PlanError
from driftline.plan.milliseconds import LONGEST
from driftline.plan.timing import LATE, Timing, timing
from driftline.plan.types import Schema

SCHEMA = Schema.of({"id": "STRING", "ts": "TIMESTAMP", "got": "TIMESTAMP", "n": "INT"})


def test_everything_said() -> None:
    said = timing(
        SCHEMA, True, disorder="5s", source="ID", sources="3", skew="250ms", latency="2s",
        timeout="1m", arrival="got",
    )  # fmt: skip
    assert said == Timing(5_000_000, "id", 3, 250_000, 2_000, 60_000, "got", "declared", LATE)
    assert said.by_source
    assert said.needs_clock


def test_nothing_said_is_estimated() -> None:
    assert timing(SCHEMA, True).heartbeats == "estimate"
    assert not timing(SCHEMA, True, source="id").by_source
    assert timing(SCHEMA, True, heartbeats="NONE").heartbeats == "none"


def test_disorder_alone_goes_by_the_greatest_time() -> None:
    assert not timing(SCHEMA, True, disorder=7).by_source


@pytest.mark.parametrize(("said", "share"), [("1%", 0.01), ("0.05", 0.05), (0.2, 0.2)])
def test_the_share_that_may_be_late(said: Any, share: float) -> None:
    assert timing(SCHEMA, True, late=said).late == pytest.approx(share)


def test_a_timeout_without_end_is_none() -> None:
    assert timing(SCHEMA, True, disorder=0, timeout="inf").timeout is None
    assert timing(SCHEMA, True, disorder=0, timeout=2**63 - 1).timeout is None
    assert timing(SCHEMA, True, disorder=0, latency="inf").latency == LONGEST


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"latency": "2s"}, "latency says nothing without disorder"),
        ({"skew": 1, "disorder": 1}, "skew is about several sources"),
        ({"sources": 2, "disorder": 1}, "sources is about several sources"),
        ({"sources": 0, "source": "id", "disorder": 1}, "a whole number from 1 on"),
        ({"sources": "-1", "source": "id", "disorder": 1}, "how many there are.*not '-1'"),
        ({"sources": "many", "source": "id", "disorder": 1}, "how many there are"),
        ({"source": ["id"], "disorder": 1}, "source is a text"),
        ({"arrival": 7}, "arrival is a text"),
        ({"heartbeats": True}, "heartbeats is a text"),
        ({"late": 0.1, "disorder": 1}, "late is about heartbeats that are estimated"),
        ({"timeout": "5s", "heartbeats": "none"}, "a timeout makes heartbeats"),
        (
            {"source": "sensor"},
            "source column sensor does not exist: the columns are id, ts, got, n",
        ),
        ({"arrival": "id"}, "the arrival clock id is a STRING"),
        ({"heartbeats": "often"}, "estimate or none, not 'often'"),
        ({"heartbeats": "declared"}, "estimate or none"),
        ({"heartbeats": "estimate", "disorder": 1}, "heartbeats cannot be estimate"),
        ({"late": "many"}, "a share of the records"),
        ({"late": "120%"}, "a share of the records"),
    ],
)
def test_what_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        timing(SCHEMA, True, **said)
