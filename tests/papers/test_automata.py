"""Section 4 of Flying Fixed-Point: automata as data, by an operator of their own and by a loop."""

from __future__ import annotations

import re
from random import Random
from typing import get_args

import pytest

import driftline as dl
from driftline.automata import By

ABA = dl.Automaton(
    "S",
    ["F"],
    [dl.Transition("S", "B", "A"), dl.Transition("B", "B", "B"), dl.Transition("B", "F", "A")],
)
DOWN, UP = {"add": {"m": 1}}, {"add": {"m": -1}}
W = dl.Automaton(
    start="S",
    finals=["F"],
    registers={"m": 0},
    transitions=[
        dl.Transition("S", "begun", "U"),
        dl.Transition("begun", "first down", "D", **DOWN),
        dl.Transition("first down", "first down", "D", **DOWN),
        dl.Transition("first down", "first up", "U", **UP),
        dl.Transition("first up", "first up", "U", **UP),
        dl.Transition("first up", "second down", "D", **DOWN),
        dl.Transition("second down", "second down", "D", **DOWN),
        dl.Transition("second down", "second up", "U", **UP, at_least={"m": 2}),
        dl.Transition("second up", "second up", "U", **UP, at_least={"m": 2}),
        dl.Transition("second down", "F", "U", **UP, at_least={"m": 1}, at_most={"m": 1}),
        dl.Transition("second up", "F", "U", **UP, at_least={"m": 1}, at_most={"m": 1}),
    ],
)
"""U Dⁱ Uʲ Dᵏ Uˡ with i + k = j + l: the register has the downticks less the upticks."""


def tape(letters: str) -> list[dict[str, object]]:
    return [{"n": n, "letter": letter} for n, letter in enumerate(letters, 1)]


LETTERS = dl.stream("tape", {"n": "INT", "letter": "STRING"}, time="n")


@pytest.mark.parametrize("by", get_args(By))
def test_figure_4_partial_and_complete_matches_of_ab_star_a_over_abba(by: By) -> None:
    query = LETTERS.automaton(ABA, sequence="n", symbol="letter", partial=True, by=by)
    found = query.run(tape=tape("ABBA")).history().to_pylist()
    assert {(row["begins"], row["ends"], row["state"]) for row in found} == {
        (1, 0, "S"), (2, 1, "S"), (3, 2, "S"), (4, 3, "S"),  # four patterns of length 0
        (1, 1, "B"), (1, 2, "B"), (1, 3, "B"), (1, 4, "F"), (4, 4, "B"),
    }  # fmt: skip
    assert len(found) == 9


@pytest.mark.parametrize("by", get_args(By))
def test_the_w_query(by: By) -> None:
    assert (len(W.states), len(W.transitions)) == (7, 11)
    tosses = "".join(Random(7).choices("UD", k=300))
    within = 30
    expected = {
        (match.start() + 1, match.end())
        for start in range(len(tosses))
        for end in range(start + 1, min(start + within, len(tosses)) + 1)
        if (match := re.compile("U(D+)(U+)(D+)(U+)").fullmatch(tosses, start, end))
        and len(match[1] + match[3]) == len(match[2] + match[4])
    }
    query = LETTERS.window(range=within).automaton(W, sequence="n", symbol="letter", by=by)
    found = query.run(tape=tape(tosses)).history().to_pylist()
    assert {(row["begins"], row["ends"]) for row in found} == expected
    assert all((row["state"], row["m"]) == ("F", 0) for row in found)
    assert len(found) == len(expected) > 10


def test_patterns_that_change_while_the_query_runs() -> None:
    table = dl.stream("table", ABA.columns())
    query = LETTERS.automaton(ABA, sequence="n", symbol="letter", transitions=table)
    moves: list[dl.Insert | dl.Retract] = [
        dl.Insert(0, dl.INFINITY, dl.Row(each)) for each in ABA.rows()
    ]
    moves.append(dl.Retract(0, dl.INFINITY, 6, dl.Row(ABA.rows()[1])))  # B* is withdrawn at 6
    found = query.run(tape=tape("ABBAA"), table=moves).history().to_pylist()
    assert [(row["begins"], row["ends"], row["vs"], row["ve"]) for row in found] == [
        (1, 4, 4, 6), (4, 5, 5, None)
    ]  # fmt: skip
