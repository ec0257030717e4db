"""What is written once: operators declare their fields, and write no snapshots of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import driftline

ENGINE = Path(driftline.__file__).parent / "engine"
WRITTEN_ONCE = {"snapshot", "restore"}

PUT_TOGETHER = {
    "core/graph.py": "the states of its operators and queues, by their names",
    "core/queues.py": "what waits: any number of batches and marks",
    "ingest/source.py": "the states of Finalize, Align and the heartbeats",
    "loop/loop.py": "the states of its graph, beside its fields",
    "shards/long_lived.py": "the state of the shard that it is at the moment",
    "shards/now_shard.py": "the states of the view and of its inputs",
    "shards/shard.py": "the states of sources and graphs",
    "shards/stored.py": "what a shard can be asked for",
}
"""Files that put states together, with what these are."""

KEPT_BY_KEY = {
    "loop/least_level_state.py": "the derivations and segments of each row, in one pool",
}
"""Files with what is kept of every key in memory of its own kind (see `fields.ByKey`)."""

BY_HAND = {
    "core/held_marks.py",
    "ingest/holding.py",
    "loop/derivations.py",
}
"""Files that still write snapshots by hand. This list only becomes shorter."""


def writing() -> Iterator[str]:
    """The files outside `engine/state` in which a class defines its own snapshots."""
    for path in sorted(ENGINE.rglob("*.py")):
        name = path.relative_to(ENGINE).as_posix()
        if name.startswith("state/"):
            continue
        methods = (
            method.name
            for each in ast.walk(ast.parse(path.read_text()))
            if isinstance(each, ast.ClassDef)
            for method in each.body
            if isinstance(method, ast.FunctionDef)
        )
        if WRITTEN_ONCE & {*methods}:
            yield name


def test_only_these_files_write_snapshots_by_hand() -> None:
    found = {*writing()} - PUT_TOGETHER.keys() - KEPT_BY_KEY.keys()
    assert not found - BY_HAND, "declare `fields` instead (see engine/state/fields.py)"
    assert not BY_HAND - found, "these write none any more: take them off the list"
