"""`driftline run --loop` and `SET loop`: how a loop that runs free finds progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import driftline

SCRIPT = """
CREATE STREAM sources (n STRING);
CREATE STREAM links (a STRING, b STRING);
{settings}
WITH RECURSIVE reachable (n) AS (
    SELECT n FROM sources
    UNION
    SELECT links.b FROM reachable JOIN links ON reachable.n = links.a
)
SELECT n FROM reachable;
"""
EVENTS = [
    {"stream": "sources", "kind": "insert", "vs": 1, "ve": None, "row": {"n": "x"}},
    {"stream": "links", "kind": "insert", "vs": 2, "ve": None, "row": {"a": "x", "b": "y"}},
    {"stream": "sources", "kind": "cti", "t": 5},
    {"stream": "links", "kind": "cti", "t": 5},
    {"stream": "links", "kind": "insert", "vs": 6, "ve": None, "row": {"a": "y", "b": "x"}},
]


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Path]:
    events, script = tmp_path / "events.jsonl", tmp_path / "query.sql"
    events.write_text("".join(json.dumps(each) + "\n" for each in EVENTS))
    script.write_text(SCRIPT.format(settings=""))
    return script, events


def ran(script: Path, events: Path, *more: str) -> tuple[int, str, str]:
    done = driftline("run", script, "-i", events, "--batch", "1", "--runner", "local", *more)
    return done.code, done.out, done.err


def test_methods_give_the_same_table_and_are_explained(run: tuple[Path, Path]) -> None:
    _, drained, _ = ran(*run, "--table")
    for method in ("hybrid", "probing", "hwm"):
        free = ("--scheduler", "round-robin", "--loop", method, "--table", "--explain-time")
        code, table, said = ran(*run, *free)
        assert (code, table) == (0, drained)
        assert "fixed point: " in said
        assert "definite punctuations in " in said


def test_a_script_sets_it_and_what_is_no_method_is_refused(run: tuple[Path, Path]) -> None:
    script, events = run
    script.write_text(SCRIPT.format(settings="SET loop = 'probing';"))
    assert "remember inf, loop probing" in driftline("explain", script).out
    script.write_text(SCRIPT.format(settings="SET loop = 'often';"))
    code, _, said = ran(script, events)
    assert code == 2
    assert "loop is hybrid, probing or hwm, not 'often'" in said
