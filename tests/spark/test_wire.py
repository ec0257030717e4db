"""Messages survive the way through rows, in whatever order these come."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.shards.messages import OUTPUT, Message, MessageKind
from driftline.spark.wire import PART, from_pandas, from_rows, to_arrow, to_pandas

SHARDS = 3

sizes = st.sampled_from([0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 5])
times = st.integers(-(2**63), 2**63 - 1)


@st.composite
def messages(draw: st.DrawFn) -> list[Message]:
    places = draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.sampled_from(MessageKind), st.sampled_from("ab"),
                      st.integers(0, SHARDS - 1), st.integers(0, 2)),
            unique=True, max_size=6,
        )
    )  # fmt: skip
    return [
        Message(*place, draw(times), draw(times), random.Random(number).randbytes(draw(sizes)))
        for number, place in enumerate(places)
    ]


def in_order(found: list[Message]) -> list[Message]:
    return sorted(
        found, key=lambda each: (each.level, each.port, each.kind, each.shard, each.origin)
    )


@given(messages(), st.randoms(use_true_random=False))
def test_rows_in_any_order_are_the_messages_again(
    sent: list[Message], chance: random.Random
) -> None:
    batches = list(to_arrow(sent, SHARDS))
    rows = [tuple(row.values())[1:] for batch in batches for row in batch.to_pylist()]
    chance.shuffle(rows)
    assert from_rows(rows) == in_order(sent)
    frame = to_pandas(sent, SHARDS).sample(frac=1, random_state=1)
    assert from_pandas([frame]) == in_order(sent)


@given(messages())
def test_rows_for_a_stage_are_small_and_answers_are_whole(sent: list[Message]) -> None:
    for message, batch in zip(sent, to_arrow(sent, SHARDS), strict=True):
        if message.level == OUTPUT:
            assert batch.num_rows == 1
        assert all(len(data) <= PART for data in batch["data"].to_pylist()) or batch.num_rows == 1


def test_ticks_of_one_shard_stay_several() -> None:
    tick = Message(1, MessageKind.CLOCK, "", 0, 0, high=7)
    assert from_pandas([to_pandas([tick, tick], SHARDS)]) == [tick, tick]
