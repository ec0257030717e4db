"""Heartbeats inside plans: the paper's figure 5, and what memory links do on a longer chain."""

from __future__ import annotations

from driftline.model.time import INFINITY
from driftline.time.labels import (
    TreeOperator,
    heartbeats,
    memory_aware,
    memory_links,
    operator_level,
    query_level,
)

ALL = frozenset({"S1", "S2", "S3"})
PAIR = frozenset({"S1", "S2"})


def figure_5(selectivity: float = 1.0) -> TreeOperator:
    first = TreeOperator("O1", streams=PAIR, selectivity=selectivity)
    return TreeOperator("O2", (first,), frozenset({"S3"}))


def test_query_and_operator_level_sections_7_1_and_7_2() -> None:
    late = {"S1": 100, "S2": 98, "S3": 5}
    assert heartbeats(query_level(figure_5()), late) == {"O1": 5, "O2": 5}
    assert heartbeats(operator_level(figure_5()), late) == {"O1": 98, "O2": 5}


def test_a_proliferative_operator_waits_section_7_4() -> None:
    assert memory_aware(figure_5(selectivity=2.0)) == query_level(figure_5())
    assert memory_aware(figure_5(selectivity=0.5)) == operator_level(figure_5())


def test_a_link_leads_no_higher_than_it_must_and_binds_what_is_on_its_way() -> None:
    #  out ── O4 ── O3 (0.2) ── O2 (1.0) ── O1 (3.0) ── S1
    #         │      └ S2, S3    └ S2 by A
    #         S4
    below = TreeOperator("A", streams=frozenset({"S2"}), selectivity=0.5)
    o1 = TreeOperator("O1", streams=frozenset({"S1"}), selectivity=3.0)
    o2 = TreeOperator("O2", (o1, below))
    o3 = TreeOperator("O3", (o2,), frozenset({"S3"}), selectivity=0.2)
    root = TreeOperator("out", (TreeOperator("O4", (o3,), frozenset({"S4"})),))
    assert memory_links(root) == {"O1": "O3"}
    labels = memory_aware(root)
    assert labels["out"] == labels["O4"] == frozenset({"S1", "S2", "S3", "S4"})
    assert labels["O3"] == labels["O2"] == labels["O1"] == frozenset({"S1", "S2", "S3"})
    assert labels["A"] == frozenset({"S2"})


def test_the_output_takes_everything() -> None:
    root = TreeOperator(
        "out", (TreeOperator("O1", streams=PAIR, selectivity=9.0),), selectivity=50.0
    )
    assert memory_links(root) == {"O1": "out"}


def test_order_insensitive_operators_are_free_section_7_5() -> None:
    first = TreeOperator("O1", streams=PAIR, ordered=False)
    root = TreeOperator("O2", (first,), frozenset({"S3"}))
    for labels in (query_level(root), operator_level(root), memory_aware(root)):
        assert heartbeats(labels, {"S1": 1, "S2": 2, "S3": 3}) == {"O1": INFINITY, "O2": 1}
