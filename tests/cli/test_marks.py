"""Marks in what `driftline run` writes, and what asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ran, driftline

BALANCES = """
CREATE STREAM transfers (payer STRING, payee STRING, amount BIGINT);
CREATE VIEW credits AS SELECT payee AS account, sum(amount) AS got FROM transfers GROUP BY payee;
CREATE VIEW debits AS SELECT payer AS account, sum(amount) AS gave FROM transfers GROUP BY payer;
SET emit = eager;
SET outputs = held;
SELECT sum(coalesce(got, 0) - coalesce(gave, 0)) AS total
FROM credits FULL JOIN debits ON credits.account = debits.account;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.sql").write_text(BALANCES)
    rows = [
        {"payer": "abcd"[n % 4], "payee": "abcd"[(n * 3 + 1) % 4], "amount": n} for n in range(8)
    ]
    (tmp_path / "in.jsonl").write_text(
        "".join(
            json.dumps({"stream": "transfers", "kind": "insert", "vs": n, "ve": None, "row": row})
            + "\n"
            for n, row in enumerate(rows)
        )
    )
    return tmp_path


def run(folder: Path, *arguments: str) -> Ran:
    local = () if "--runner" in arguments else ("--runner", "local")
    return driftline("run", folder / "q.sql", "-i", folder / "in.jsonl", *local, *arguments)


@pytest.mark.parametrize(
    "free",
    [
        ("--scheduler", "drain"),
        ("--scheduler", "round-robin", "--tokens", "2"),
        ("--scheduler", "threads", "--heeding", "multiset"),
    ],
)
def test_at_every_mark_the_total_is_that_of_the_prefix(folder: Path, free: tuple[str, ...]) -> None:
    ran = run(folder, "--batch", "2", *free)
    assert ran.code == 0, ran.err
    events: list[dict[str, Any]] = [json.loads(line) for line in ran.out.splitlines()]
    assert {event["row"]["total"] for event in events if event["kind"] == "insert"} == {0}
    marks = [event for event in events if event["kind"] == "consistent"]
    assert marks[-1] == {
        "stream": "result", "kind": "consistent", "prefix": {"transfers": 8}, "closed": True,
    }  # fmt: skip
    assert events[-1] == marks[-1]


def test_the_answer_with_marks_is_an_input_of_the_next(folder: Path) -> None:
    (folder / "next.sql").write_text(
        "CREATE STREAM result (total BIGINT); SELECT total FROM result;"
    )
    marked = run(folder, "--outputs", "marked")
    ran = driftline(
        "run", folder / "next.sql", "-i", "-", "--runner", "local", stdin=marked.out.encode()
    )
    assert ran.code == 0, ran.err
    assert '"total":0' in ran.out
    assert "dead" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--runner", "spark", "--tokens", "5"), "on Spark every micro-batch is a consistent cut"),
        (("--runner", "spark", "--scheduler", "threads"), "scheduler is for the local runner"),
        (("--outputs", "marked", "--table"), "marks stand in an event log"),
        (("--outputs", "marked", "-o", "out.csv"), "marks stand in an event log"),
        (
            ("--tokens", "5", "--outputs", "free"),
            "--tokens is for answers that are exact: add --outputs",
        ),
        (("--heeding", "multiset", "--outputs", "free"), "--heeding is for answers that are exact"),
        (("--loop", "hwm"), "--loop is for --scheduler round-robin or threads"),
        (("--tokens", "0"), "tokens is how many events"),
        (("--scheduler", "threads", "--heeding", "naive"), "take the scheduler round-robin"),
    ],
)
def test_what_does_not_go_together_is_refused(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = run(folder, *arguments)
    assert ran.code != 0
    assert message in ran.err
    assert len(ran.err.splitlines()) == 1
