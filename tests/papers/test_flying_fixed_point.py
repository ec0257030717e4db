"""The reachability example at times 1 to 4, and the NFA example, of the recursion paper."""

from __future__ import annotations

import pytest

from driftline.model.history import History, Lifetime
from driftline.model.reference import (
    NoFixedPoint,
    distinct,
    inner_join,
    project,
    recursive,
    select,
    union_all,
)
from driftline.model.row import Row
from driftline.model.time import INFINITY
from tests.build import history

# Figure 2, as the text of section 2 tells it: when each source and each link becomes valid.
SOURCES = history((1, None, {"node": "n2"}), (1, None, {"node": "n3"}))
LINKS = history(
    (2, None, {"from": "n3", "to": "n1"}),
    (3, None, {"from": "n1", "to": "n2"}),
    (3, None, {"from": "n2", "to": "n3"}),
    (4, None, {"from": "n3", "to": "n4"}),
)
BITS = {"n1": "1000", "n2": "0100", "n3": "0010", "n4": "0001"}


def with_bit(visited: str, node: str) -> str:
    return "".join(max(pair) for pair in zip(visited, BITS[node], strict=True))


def reachable(sources: History, links: History) -> History:
    """Figure 1: union of the sources and of what the loop brings, joined with the links."""

    def body(reached: History, sources: History, links: History) -> History:
        start = project(
            sources,
            lambda row: {"n1": row["node"], "n2": row["node"], "bv": BITS[row["node"]]},
        )
        steps = inner_join(links, reached, lambda link, path: link["from"] == path["n2"])
        new = select(steps, lambda row: with_bit(row["bv"], row["to"]) != row["bv"])
        longer = project(
            new,
            lambda row: {
                "n1": row["n1"],
                "n2": row["to"],
                "bv": with_bit(row["bv"], row["to"]),
            },
        )
        return union_all(start, longer)

    paths = recursive(body, sources, links)
    # FFP puts out what the loop derives; the sources themselves enter below it, at the Union.
    return select(paths, lambda row: row["bv"] != BITS[row["n1"]])


def path(vs: int, n1: str, n2: str, bv: str, ve: int = INFINITY) -> Lifetime:
    return Lifetime(vs, ve, Row(n1=n1, n2=n2, bv=bv))


def test_reachability_at_times_1_to_4() -> None:
    answer = reachable(SOURCES, LINKS)
    assert answer == History(
        [
            path(2, "n3", "n1", "1010"),
            path(3, "n3", "n2", "1110"),
            path(3, "n2", "n3", "0110"),
            path(3, "n2", "n1", "1110"),
            path(4, "n3", "n4", "0011"),
            path(4, "n2", "n4", "0111"),
        ]
    )
    assert [answer.snapshot(t).total() for t in (1, 2, 3, 4)] == [0, 1, 4, 6]


def test_reachability_lifetimes_intersect() -> None:
    answer = reachable(
        history((1, 6, {"node": "n3"})),
        history((2, 8, {"from": "n3", "to": "n1"}), (3, 10, {"from": "n1", "to": "n2"})),
    )
    assert path(3, "n3", "n2", "1110", ve=6) in list(answer)


def test_a_link_that_is_taken_back_takes_all_that_was_derived_from_it() -> None:
    links = History(
        Lifetime(vs, 5 if row["from"] == "n3" and row["to"] == "n1" else ve, row)
        for vs, ve, row in LINKS
    )
    answer = reachable(SOURCES, links)
    assert path(2, "n3", "n1", "1010", ve=5) in list(answer)
    assert path(3, "n3", "n2", "1110", ve=5) in list(answer)
    assert Row(n1="n2", n2="n3", bv="0110") in answer.snapshot(5)


def test_without_the_visited_nodes_a_cycle_has_no_end_and_distinct_gives_it_one() -> None:
    links = history((1, None, {"from": "a", "to": "b"}), (1, None, {"from": "b", "to": "a"}))
    sources = history((1, None, {"node": "a"}))

    def endless(reached: History, sources: History, links: History) -> History:
        steps = inner_join(links, reached, lambda link, at: link["from"] == at["node"])
        return union_all(sources, project(steps, lambda row: {"node": row["to"]}))

    with pytest.raises(NoFixedPoint, match="no fixed point after 50 rounds"):
        recursive(endless, sources, links, limit=50)

    nodes = recursive(
        lambda reached, sources, links: distinct(endless(reached, sources, links)), sources, links
    )
    assert nodes.snapshot(1) == history((1, 2, {"node": "a"}), (1, 2, {"node": "b"})).snapshot(1)


def test_nfa_for_the_pattern_a_b_star_a_on_the_sequence_abba() -> None:
    # Section 4: S -A-> M, M -B-> M, M -A-> F. Found: 'A':1, 'AB':2, 'ABB':3, 'ABBA':4, 'A':4, and
    # one seed of length 0 before every symbol.
    transitions = history(
        (0, None, {"state": "S", "next": "M", "on": "A"}),
        (0, None, {"state": "M", "next": "M", "on": "B"}),
        (0, None, {"state": "M", "next": "F", "on": "A"}),
    )
    symbols = history(
        *[(place, None, {"at": place, "symbol": letter}) for place, letter in enumerate("ABBA", 1)]
    )

    def body(found: History, transitions: History, symbols: History) -> History:
        seeds = project(
            symbols, lambda row: {"begin": row["at"], "end": row["at"] - 1, "reached": "S"}
        )
        moves = inner_join(
            symbols, transitions, lambda symbol, move: symbol["symbol"] == move["on"]
        )
        steps = inner_join(
            moves,
            found,
            lambda move, part: move["state"] == part["reached"] and part["end"] == move["at"] - 1,
        )
        longer = project(
            steps,
            lambda row: {"begin": row["begin"], "end": row["at"], "reached": row["next"]},
        )
        return union_all(seeds, longer)

    found = recursive(body, transitions, symbols).snapshot(4)
    matches = sorted((row["begin"], row["end"], row["reached"]) for row in found.elements())
    assert matches == [
        (1, 0, "S"),
        (1, 1, "M"),
        (1, 2, "M"),
        (1, 3, "M"),
        (1, 4, "F"),
        (2, 1, "S"),
        (3, 2, "S"),
        (4, 3, "S"),
        (4, 4, "M"),
    ]
