from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import (
    NoFixedPoint,
    distinct,
    group_by,
    inner_join,
    project,
    recursive,
    recursive_together,
    union_all,
)
from driftline.model.reference.aggregates import min_
from driftline.testing import histories
from tests.build import history

NODES = st.sampled_from(["a", "b", "c"])


def closure(reached: History, edges: History) -> History:
    """One round of: reached(x, y) if edge(x, y), or edge(x, z) and reached(z, y)."""
    steps = inner_join(
        project(edges, lambda row: {"x": row["from"], "z": row["to"]}),
        project(reached, lambda row: {"at": row["from"], "y": row["to"]}),
        lambda edge, path: edge["z"] == path["at"],
    )
    longer = project(steps, lambda row: {"from": row["x"], "to": row["y"]})
    return distinct(union_all(edges, longer))


def test_paths_live_while_all_their_edges_do() -> None:
    #   a→b  1───────────9        a→c      3───7
    #   b→c      3───7
    edges = history((1, 9, {"from": "a", "to": "b"}), (3, 7, {"from": "b", "to": "c"}))
    assert recursive(closure, edges) == history(
        (1, 9, {"from": "a", "to": "b"}),
        (3, 7, {"from": "b", "to": "c"}),
        (3, 7, {"from": "a", "to": "c"}),
    )


def test_union_all_counts_every_derivation() -> None:
    numbers = history((0, 5, {"n": 0}))

    def up_to_three(reached: History, start: History) -> History:
        return union_all(
            start,
            project(
                History(life for life in reached if life.row["n"] < 3),
                lambda row: {"n": row["n"] + 1},
            ),
        )

    assert recursive(up_to_three, numbers) == history(*[(0, 5, {"n": n}) for n in range(4)])


def test_nothing_comes_from_nothing() -> None:
    assert recursive(closure, history()) == history()


@given(histories({"from": NODES, "to": NODES}, max_size=5), st.integers(0, 12))
def test_every_snapshot_is_the_transitive_closure(edges: History, t: int) -> None:
    pairs = {(row["from"], row["to"]) for row in edges.snapshot(t)}
    for _ in range(3):
        pairs |= {(x, w) for x, y in pairs for z, w in pairs if y == z}
    answer = recursive(closure, edges).snapshot(t)
    assert sorted((row["from"], row["to"]) for row in answer.elements()) == sorted(pairs)


def test_a_derived_row_lives_while_all_that_it_is_derived_from_does() -> None:
    # The interval example of the paper: a source alive [1, 6) over links [2, 8) and [3, 10).
    def reach(reached: History, sources: History, links: History) -> History:
        return distinct(union_all(sources, _followed(reached, links)))

    sources = history((1, 6, {"n": 3}))
    links = history((2, 8, {"from": 3, "to": 1}), (3, 10, {"from": 1, "to": 2}))
    assert recursive(reach, sources, links) == history(
        (1, 6, {"n": 3}), (2, 6, {"n": 1}), (3, 6, {"n": 2})
    )


def test_bags_count_the_derivations_also_of_rules_that_are_not_linear() -> None:
    # a→b→c→d: the path from a to d is (ab)(bd), with bd = (bc)(cd), and (ac)(cd): 2 derivations.
    edges = history(*[(0, 9, {"from": a, "to": b}) for a, b in ("ab", "bc", "cd")])

    def paths(reached: History, edges: History) -> History:
        longer = inner_join(
            project(reached, lambda row: {"x": row["from"], "z": row["to"]}),
            project(reached, lambda row: {"at": row["from"], "y": row["to"]}),
            lambda one, other: one["z"] == other["at"],
        )
        return union_all(edges, project(longer, lambda row: {"from": row["x"], "to": row["y"]}))

    found = recursive(paths, edges).snapshot(0)
    assert [found[row] for row in sorted(found)] == [1, 1, 2, 1, 1, 1]


def test_names_that_use_each_other_go_round_together() -> None:
    # 0→1→2→0, from 0 on: every number is reached after an even and after an odd number of steps.
    links = history(*[(0, 9, {"from": n, "to": (n + 1) % 3}) for n in range(3)])
    found = recursive_together(
        {
            "even": lambda s, roots, links: distinct(union_all(roots, _followed(s["odd"], links))),
            "odd": lambda s, roots, links: distinct(_followed(s["even"], links)),
        },
        history((0, 9, {"n": 0})),
        links,
    )
    assert found["even"] == found["odd"] == history(*[(0, 9, {"n": n}) for n in range(3)])


def test_the_least_of_each_group_is_the_shortest_way() -> None:
    # a→b costs 5, a→c 1, c→b 1; b→a leads back.
    costs = [("a", "b", 5), ("a", "c", 1), ("c", "b", 1), ("b", "a", 1)]
    links = history(*[(0, 9, {"from": a, "to": b, "cost": c}) for a, b, c in costs])

    def ways(reached: History, links: History) -> History:
        on = inner_join(
            project(reached, lambda row: {"at": row["n"], "d": row["d"]}),
            links,
            lambda way, link: way["at"] == link["from"],
        )
        further = project(on, lambda row: {"n": row["to"], "d": row["d"] + row["cost"]})
        both = union_all(history((0, 9, {"n": "a", "d": 0})), further)
        return group_by(both, {"n": lambda row: row["n"]}, {"d": min_(lambda row: row["d"])})

    assert recursive(ways, links) == history(
        (0, 9, {"n": "a", "d": 0}), (0, 9, {"n": "b", "d": 2}), (0, 9, {"n": "c", "d": 1})
    )


def test_what_does_not_come_to_an_end_is_refused() -> None:
    links = history((1, 5, {"from": 1, "to": 1}))

    def counted(reached: History, roots: History, links: History) -> History:
        return union_all(roots, _followed(reached, links))

    with pytest.raises(NoFixedPoint, match=r"after 20 rounds in the snapshot \[1, 5\)"):
        recursive(counted, history((1, 5, {"n": 1})), links, limit=20)


def _followed(reached: History, links: History) -> History:
    """The nodes that a link leads to from one that is reached."""
    pairs = inner_join(reached, links, lambda at, link: at["n"] == link["from"])
    return project(pairs, lambda row: {"n": row["to"]})
