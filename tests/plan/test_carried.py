"""Which columns go around a loop unchanged, and how its inputs are partitioned."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.carried import carried
from driftline.plan.fragments import cut
from driftline.plan.nodes import EVERY_SHARD, Loop
from tests.engine.loop.programs import EVEN_AND_ODD, SEVERAL
from tests.engine.loop.random_loops import BASES, CARRYING, CHANGING, DISTANCES, LINKS, PAIR


def loop_of(query: dl.Query) -> Loop:
    (found,) = [node for node in query.plan.walk() if isinstance(node, Loop)]
    return found


def looped(step: str) -> dl.Query:
    follow = {**CARRYING, **CHANGING}[step]
    return dl.recursive(
        "r", PAIR, BASES["roots"], lambda rows: follow(rows.alias("r"), LINKS["edges"])
    )


def partitions(query: dl.Query) -> dict[str, str]:
    """By its name, how each stream comes into the only fragment."""
    (fragment,) = cut(query.plan)
    return {each.leaf.name: ", ".join(map(str, each.keys)) for each in fragment.inputs}


@pytest.mark.parametrize("step", CARRYING)
def test_steps_that_carry_a_column_along(step: str) -> None:
    ways, _ = carried(loop_of(looped(step)).rules)
    assert [way.places for way in ways] == [{"r": 0}]


@pytest.mark.parametrize("step", CHANGING)
def test_steps_that_change_all_columns(step: str) -> None:
    ways, reasons = carried(loop_of(looped(step)).rules)
    assert not ways
    assert reasons


def test_what_is_joined_on_the_column_is_partitioned_and_else_copied() -> None:
    assert partitions(looped("follow")) == {"roots": "k", "edges": "every shard"}
    assert partitions(looped("of the same key")) == {"roots": "k", "edges": "k"}
    assert partitions(DISTANCES) == {"roots": "k", "edges": "every shard"}


def test_the_same_rows_may_be_the_base_and_copied() -> None:
    links = dl.stream("links", {"a": "INT", "b": "INT"})
    closure = dl.recursive(
        "p",
        {"a": "INT", "b": "INT"},
        links,
        lambda p: p.join(links, "p.b = links.a").select("p.a", "links.b"),
    )
    assert sorted(partitions(closure).values()) == ["a", "every shard"]


def test_rules_that_use_each_other() -> None:
    assert not carried(EVEN_AND_ODD.rules)[0]
    assert not carried(SEVERAL.rules)[0]
    step = CARRYING["follow"]
    found = dl.recursive_together(
        {
            "even": (
                PAIR,
                lambda names: BASES["roots"].union(step(names["odd"].alias("r"), LINKS["edges"])),
            ),
            "odd": (
                {"n": "BIGINT", "k": "BIGINT"},
                lambda names: step(names["even"].alias("r"), LINKS["edges"]).select("n", "k"),
            ),
        }
    )["odd"]
    ways, _ = carried(loop_of(found).rules)
    assert [way.places for way in ways] == [{"even": 0, "odd": 1}]
    assert EVERY_SHARD in ways[0].inputs.values()
