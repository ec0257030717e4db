from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.event import Cti, Event
from driftline.model.history import canonical_history
from driftline.model.reference import finals, window_finals
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams
from tests.build import history

COLUMNS = {"k": st.sampled_from("ab"), "window_end": st.sampled_from([4, 8, 12, None])}


def test_a_lifetime_is_final_when_it_has_ended() -> None:
    table = history((1, 4, "a"), (2, 6, "b"), (3, None, "c"))
    assert finals(table, 3) == history()
    assert finals(table, 4) == history((1, 4, "a"))
    assert finals(table, INFINITY) == table


def test_an_answer_about_a_window_is_that_of_its_last_tick() -> None:
    #             window [0, 10)
    #   n = 1     2───5
    #   n = 2         5────────∞     what holds at 9
    #   n = 3                11──∞   came later, and says nothing about the window
    one, two, three = ({"n": n, "window_end": 10} for n in (1, 2, 3))
    table = history((2, 5, one), (5, None, two), (11, None, three))
    assert window_finals(table, 9) == history()
    assert window_finals(table, 10) == history((9, 10, two))
    assert window_finals(table, INFINITY) == history((9, 10, two))


def test_a_window_without_an_end_is_final_in_the_end() -> None:
    table = history((1, None, {"window_end": None}))
    assert window_finals(table, 100) == history()
    assert len(window_finals(table, INFINITY)) == 1


@given(streams(COLUMNS))
def test_what_is_final_stays(events: list[Event]) -> None:
    for function in (finals, window_finals):
        cti, before = BEGINNING, history()
        for place, event in enumerate(events, 1):
            cti = max(cti, event.t) if isinstance(event, Cti) else cti
            now = function(canonical_history(events[:place]), cti)
            assert before.lifetimes <= now.lifetimes
            before = now
