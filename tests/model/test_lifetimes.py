from driftline.model.columns import StreamColumns
from driftline.model.lifetimes import number_lifetimes
from tests.build import cti, insert, retract


def test_a_chain_hands_its_lifetime_on() -> None:
    events = [insert(1, 9, "A"), cti(1), retract(1, 9, 5, "A"), retract(1, 5, 1, "A")]
    numbered = number_lifetimes(StreamColumns.from_events("s", events))
    assert numbered.gives.tolist() == [0, -1, 1, -1]
    assert numbered.takes.tolist() == [-1, -1, 0, 1]
    assert list(zip(numbered.vs.tolist(), numbered.ve.tolist(), strict=True)) == [(1, 9), (1, 5)]


def test_rows_that_are_never_retracted_are_not_looked_up() -> None:
    events = [insert(1, 9, "A"), insert(1, 9, "A"), insert(1, 9, "B"), retract(1, 9, 1, "B")]
    numbered = number_lifetimes(StreamColumns.from_events("s", events))
    assert numbered.gives.tolist() == [0, 1, 2, -1]
    assert numbered.takes.tolist() == [-1, -1, -1, 2]


def test_no_events() -> None:
    assert number_lifetimes(StreamColumns.from_events("s", [])).gives.tolist() == []
