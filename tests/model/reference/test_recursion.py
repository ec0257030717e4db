from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import distinct, inner_join, project, recursive, union_all
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
