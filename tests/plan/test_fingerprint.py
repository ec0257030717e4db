"""The fingerprint of a plan changes with everything that the plan means, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.plan import nodes
from driftline.plan.expressions import Call, Column
from driftline.plan.fingerprint import fingerprint
from driftline.plan.types import BIGINT
from tests.plan.test_nodes import EXAMPLES, S


def reachable(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """All dataclasses that a plan is made of, each once."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if is_dataclass(value):
        yield value
        for each in fields(value):
            yield from reachable(getattr(value, each.name), seen)
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from reachable(part, seen)


def test_every_field_of_every_part_of_every_plan_counts() -> None:
    parts = {type(part): part for part in reachable(list(EXAMPLES.values()), {})}
    assert set(EXAMPLES) <= set(parts)
    for kind, part in parts.items():
        for each in fields(kind):
            changed = copy(part)
            object.__setattr__(changed, each.name, "changed")
            same = fingerprint(changed) == fingerprint(part)
            assert same == (kind is nodes.Loop and each.name == "limit"), f"{kind}.{each.name}"


@dataclass(frozen=True)
class SelectWithMore(nodes.Select):
    more: int = 0


SelectWithMore.__qualname__ = "Select"


def test_a_new_field_counts_where_it_is_not_its_default() -> None:
    select = EXAMPLES[nodes.Select]
    assert isinstance(select, nodes.Select)
    made = [SelectWithMore(select.input, select.predicate, more) for more in (0, 1)]
    assert fingerprint(made[0]) == fingerprint(select) != fingerprint(made[1])


def test_it_is_the_same_in_every_process() -> None:
    code = (
        "from tests.plan.test_nodes import EXAMPLES; from driftline.plan.fingerprint import *; "
        "print(fingerprint([*EXAMPLES.values(), frozenset(map(str, range(99)))]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        check=True,
        text=True,
    )
    here = fingerprint([*EXAMPLES.values(), frozenset(map(str, range(99)))])
    assert there.stdout.strip() == here


def test_what_has_no_fingerprint_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a plan with a object in it has no fingerprint"):
        fingerprint(nodes.Alias(S.plan, object()))  # type: ignore[arg-type]


def test_long_chains_and_many_uses_have_one() -> None:
    query, long = S, Column("x", BIGINT)
    for _ in range(60):
        query = query.union(query)
    for _ in range(20_000):
        long = Call("add", (long, long), BIGINT)  # type: ignore[assignment]
    assert fingerprint(query.plan) != fingerprint(long)


class Weighed:
    def __init__(self, weight: object) -> None:
        self.weight = weight

    def initial(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + value

    def result(self, state: int) -> int:
        return state


def test_an_aggregate_of_a_user_counts_with_what_it_has() -> None:
    def made(definition: object) -> str:
        own = dl.UserDefined(definition, "x", "BIGINT")
        return fingerprint(S.group_by("k").agg(w=own).plan)

    assert made(Weighed(1)) == made(Weighed(1)) != made(Weighed(2))
    assert made(Weighed(object())) == made(Weighed(object()))
    assert made(type("Weighed", (Weighed,), {"x": 1})(1)) != made(Weighed(1))


COLUMNS = {"k": "STRING", "o": "BIGINT", "v": "BIGINT"}
NEXT_TO = st.builds(
    "SELECT * FROM (SELECT {}(v{}) {}OVER (PARTITION BY k ORDER BY o) AS w FROM s) AS i {}".format,
    st.sampled_from(["lag", "lead"]),
    st.sampled_from(["", ", 1", ", 2", ", 1, 0", ", 1, 7"]),
    st.sampled_from(["", "IGNORE NULLS "]),
    st.sampled_from(
        ["", "ORDER BY w LIMIT 2", "ORDER BY w FETCH FIRST 2 ROWS WITH TIES", "WHERE w > 1"]
    ),
)
RECURSIVE = st.builds(
    "WITH RECURSIVE r (k, o) AS (SELECT k, o FROM s UNION "
    "SELECT r.k, r.o + 1 FROM r WHERE r.o < {}) SELECT * FROM r".format,
    st.integers(3, 4),
)


@settings(max_examples=100)
@given(
    texts=st.tuples(NEXT_TO, NEXT_TO) | st.tuples(RECURSIVE, RECURSIVE),
    disorders=st.tuples(st.integers(0, 1), st.integers(0, 1)),
)
def test_plans_are_the_same_if_their_fingerprints_are(
    texts: tuple[str, str], disorders: tuple[int, int]
) -> None:
    one, other = (
        dl.sql(text, s=dl.stream("s", COLUMNS, time="o", disorder=disorder)).plan
        for text, disorder in zip(texts, disorders, strict=True)
    )
    assert (one == other) == (fingerprint(one) == fingerprint(other))
