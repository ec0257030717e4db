"""What a run has learned of the time of streams, from what its operators have counted."""

from __future__ import annotations

from driftline.engine.core.operator import OperatorKey
from driftline.running.learned import Learned, learned


def test_where_most_was_seen_counts() -> None:
    def seen(disorder: int, records: int) -> dict[str, int]:
        return {"guessed_disorder": disorder, "guessed_skew": 1, "learned_from": records}

    counters = {
        OperatorKey("finalize", "s", "s", shard=0): seen(3, 10),
        OperatorKey("finalize", "s (2)", "s", shard=1): seen(5, 20),
        OperatorKey("align", "s", "s"): {"changes_in": 4},
        OperatorKey("finalize", "t", "t"): {"changes_in": 4},
        OperatorKey("finalize", "s (2): x", "s (2): x"): seen(7, 5),
    }
    assert learned(counters) == {"s": Learned(5, 1, 20), "s (2): x": Learned(7, 1, 5)}


def test_in_the_units_of_the_stream() -> None:
    assert "1.5 s out of order, and 2 s behind" in str(Learned(1_500_000, 2_000_000, 9, True))
