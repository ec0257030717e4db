"""What checkpoints hold changes only with their format number; see `stored_state`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from inspect import isabstract
from typing import Any

import pytest

from driftline.engine.core.operator import Component
from driftline.engine.state.fields import NOTHING
from driftline.spark.checkpoint import FORMAT
from tests.engine.stored_state import COMMAND, FILES, facts, run_queries

WHAT_TO_DO = (
    f"what checkpoints hold is not what it was in format {FORMAT}: a query would go on from its "
    "checkpoint with state that other code has made. Undo the change, or raise FORMAT in "
    f"src/driftline/spark/checkpoint.py, run `{COMMAND}` and name it in CHANGELOG.md. It differs "
    "in: "
)


def differences(before: Any, now: Any, where: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before | now:
            yield from differences(before.get(name), now.get(name), f"{where} > {name}")
    elif before != now:
        yield where.removeprefix(" > ")


def test_what_is_stored_is_what_its_format_says() -> None:
    file = FILES / f"{FORMAT}.json"
    assert file.exists(), f"the checkpoints of format {FORMAT} are not described: run `{COMMAND}`"
    found = list(differences(json.loads(file.read_text()), json.loads(json.dumps(facts()))))
    assert not found, WHAT_TO_DO + "; ".join(found)


def test_the_newest_format_is_in_use_and_no_two_are_the_same() -> None:
    described = {file.stem: json.loads(file.read_text()) for file in FILES.glob("*.json")}
    assert max(map(int, described)) == FORMAT
    texts = {json.dumps(each, sort_keys=True) for each in described.values()}
    assert len(texts) == len(described)


def stateful(operator: type[Component]) -> Iterator[type[Component]]:
    runs_free = getattr(operator, "runs_free", False)  # and so is in no checkpoint
    keeps = operator.fields is not NOTHING or operator.snapshot is not Component.snapshot
    if keeps and not isabstract(operator) and not runs_free:
        yield operator
    for each in operator.__subclasses__():
        if each.__module__.startswith("driftline."):
            yield from stateful(each)


def test_every_operator_that_keeps_state_is_described() -> None:
    used = {type(each) for stored in run_queries().values() for each in stored.operators()}
    assert set(stateful(Component)) <= used


@pytest.mark.parametrize("change", ["fingerprints", "a constant", "an array"])
def test_a_change_is_named(change: str) -> None:
    now = json.loads((FILES / f"{FORMAT}.json").read_text())
    before = json.loads(json.dumps(now))
    match change:
        case "fingerprints":
            now["fingerprints"]["STRING"][0] = "0"
            wanted = "fingerprints > STRING"
        case "a constant":
            now["layout"]["engine.additive.layout"][1] = 3
            wanted = "layout > engine.additive.layout"
        case _:
            now["arrays"]["group by"]["more"] = "<i8"
            wanted = "arrays > group by > more"
    assert list(differences(before, now)) == [wanted]
