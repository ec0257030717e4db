"""The worked examples of the two CEDR papers, number by number."""

from __future__ import annotations

from driftline.model.event import Cti, Insert
from driftline.model.history import canonical_history
from driftline.model.reference import finalize, inner_join
from driftline.model.row import Row
from driftline.model.stream import breaches, closed_up_to, is_closed, is_ordered, is_valid
from driftline.model.time import INFINITY
from tests.build import cti, external_cti, history, insert, retract

# Speculative stream processing, Table 1: an example bitemporal stream.
#
#   P1  1──────────────────────────▶ ∞   then 10, then 5
#   P2        4───────9
TABLE_1 = [
    insert(1, None, "P1"),
    cti(1),
    retract(1, None, 10, "P1"),
    retract(1, 10, 5, "P1"),
    insert(4, 9, "P2"),
    cti(10),
]


def test_table_1_is_a_valid_stream_and_closed_up_to_10() -> None:
    assert is_valid(TABLE_1)
    assert closed_up_to(TABLE_1) == 10
    assert not is_ordered(TABLE_1)  # the second retract, sync time 5, follows one of sync time 10


def test_table_2_is_the_canonical_history_of_table_1() -> None:
    assert canonical_history(TABLE_1) == history((1, 5, "P1"), (4, 9, "P2"))


def test_the_canonical_history_of_every_prefix_of_table_1() -> None:
    assert [canonical_history(TABLE_1[:length]) for length in range(len(TABLE_1) + 1)] == [
        history(),
        history((1, None, "P1")),
        history((1, None, "P1")),
        history((1, 10, "P1")),
        history((1, 5, "P1")),
        history((1, 5, "P1"), (4, 9, "P2")),
        history((1, 5, "P1"), (4, 9, "P2")),
    ]


def test_table_1_is_not_closed_though_its_last_event_is_a_cti() -> None:
    # Closed needs the last cti to be later than every other event: a retract has sync time 10.
    assert not is_closed(TABLE_1)
    assert is_closed([*TABLE_1, cti(INFINITY)])


# Consistency sensitive operators, section 4.3: the equijoin example.
JOIN_LEFT = [
    insert(0, 2, {"p": "A0"}),
    cti(1),
    insert(2, 6, {"p": "A1"}),
    retract(2, 6, 4, {"p": "A1"}),
]
JOIN_RIGHT = [insert(3, 5, {"q": "A1"}), cti(3)]


def same(left: Row, right: Row) -> bool:
    return bool(left["p"] == right["q"])


def test_join_example_table_2_inputs_with_the_first_row_as_it_should_be() -> None:
    # The printed table ends A0 at 1, which no event says: by Table 1 its lifetime is [0, 2).
    assert canonical_history(JOIN_LEFT) == history((0, 2, "A0"), (2, 4, "A1"))
    assert canonical_history(JOIN_RIGHT) == history((3, 5, {"q": "A1"}))


def test_join_example_table_3_output() -> None:
    joined = inner_join(canonical_history(JOIN_LEFT), canonical_history(JOIN_RIGHT), same)
    assert joined == history((3, 4, {"p": "A1", "q": "A1"}))


def test_join_example_table_4_before_and_after_the_retraction() -> None:
    right = canonical_history(JOIN_RIGHT)
    before = inner_join(canonical_history(JOIN_LEFT[:3]), right, same)
    assert before == history((3, 5, {"p": "A1", "q": "A1"}))


# Consistency sensitive operators, Table 5: the input of the Finalize example.
TABLE_5 = [
    retract(0, 10, 8, "P0"),
    retract(0, 6, 4, "P0"),
    retract(0, 8, 6, "P0"),
    insert(0, 10, "P0"),
    external_cti(0, 8, 5),
    insert(1, 5, "P1"),
]


def test_finalize_example_input_breaks_its_chains() -> None:
    assert [breach.position for breach in breaches(TABLE_5)] == [0, 1, 2]
    assert all("no insert or earlier retract" in breach.reason for breach in breaches(TABLE_5))


def test_finalize_example_input_has_a_history_all_the_same() -> None:
    assert canonical_history(TABLE_5) == history((0, 4, "P0"), (1, 5, "P1"))


def test_finalize_example_puts_the_chain_out_in_one_piece() -> None:
    outputs = [output.events for output in finalize(TABLE_5[:4], remember=INFINITY)]
    assert outputs == [[], [], [], [insert(0, 4, "P0")]]


def test_finalize_example_counts_sync_times_in_a_half_open_interval() -> None:
    # The paper counts event 1, whose sync time is 8, into [0, 8). By the definition it lies
    # outside, so the count that the example needs is 4; with 5 one more event may still come.
    four = [*TABLE_5[:4], external_cti(0, 8, 4), TABLE_5[5]]
    assert [output.events for output in finalize(four, remember=INFINITY)][4:] == [
        [],
        [Insert(1, 5, Row(p="P1")), Cti(8)],
    ]
    assert [output.events for output in finalize(TABLE_5, remember=INFINITY)][5] == [
        Insert(1, 5, Row(p="P1"))
    ]
