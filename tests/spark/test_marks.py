"""The prefix that a micro-batch stands for: on the command line, in sinks, after a restart."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from driftline.engine.shards.reads import Read
from driftline.plan.errors import PlanError
from driftline.spark.marks import Count, Marks, latest
from driftline.spark.places import Place
from tests.cli.run import driftline

QUERY = """
CREATE STREAM orders (k STRING, qty INT);
CREATE STREAM payments (k STRING, paid INT);
CREATE STREAM silent (k STRING);
SELECT o.k, sum(qty) AS qty, sum(paid) AS paid
FROM (SELECT k, qty FROM orders [RANGE 4] UNION ALL SELECT k, 0 FROM silent [RANGE 4]) o
JOIN payments [RANGE 4] p ON o.k = p.k JOIN (VALUES ('a'), ('b')) AS known (k) ON o.k = known.k
WHERE qty <> 3 GROUP BY o.k;
"""


def event(stream: str, vs: int, **row: object) -> str:
    named = {"stream": stream, "kind": "insert", "vs": vs, "ve": None, "row": row}
    return json.dumps(named) + "\n"


def marks_of(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in text.splitlines()]
    return [each for each in found if each["kind"] == "consistent"]


@pytest.mark.spark
def test_both_runners_give_the_same_marks(spark: Any, tmp_path: Path) -> None:
    """Streams that come at different rates, one that is silent, rows of the query itself, which are
    no input, ctis, and a dead letter."""
    lines = [event("orders", n, k="ab"[n % 2], qty=n) for n in range(9)]
    lines += ['{"stream":"orders","kind":"cti","t":5}\n', event("orders", 2, k="a", qty=1)]
    lines += [event("payments", n - n % 3, k="ba"[n % 2], paid=10 * n) for n in range(5)]
    (tmp_path / "in.jsonl").write_text("".join(lines[::2] + lines[1::2]))
    (tmp_path / "q.sql").write_text(QUERY)

    def run(runner: str, emit: str) -> str:
        out = tmp_path / f"{runner}.jsonl"
        ran = driftline(
            "run", tmp_path / "q.sql", "-i", tmp_path / "in.jsonl", "-o", out, "--runner", runner,
            "--outputs", "marked", "--batch", "6", "--emit", emit,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        return out.read_text()

    there = marks_of(run("spark", "eager"))
    assert there == marks_of(run("local", "eager"))
    assert there[-1]["prefix"] == {"orders": 11, "payments": 5, "silent": 0}
    assert there[-1]["closed"] is True

    def audit(*more: str) -> tuple[int, str]:
        ran = driftline(
            "audit", tmp_path / "spark.jsonl", tmp_path / "q.sql", "-i", tmp_path / "in.jsonl",
            "--emit", "eager", *more,
        )  # fmt: skip
        return ran.code, ran.out

    assert audit()[0] == 0
    out = tmp_path / "spark.jsonl"
    out.write_text(out.read_text().replace('"orders":11', '"orders":1'))
    assert audit("--runner", "spark")[0] == 1


FOLDER_QUERY = """
CREATE STREAM sales (k STRING, qty INT, t INT) WITH (time = 't', disorder = 3);
SELECT k, sum(qty) AS qty FROM sales [RANGE 10] WHERE qty > 0 GROUP BY k;
"""


def add(folder: Path, number: int, *rows: tuple[str, object, int]) -> None:
    path = folder / f"{number} part.csv"
    path.write_text("k,qty,t\n" + "".join(f"{k},{qty},{t}\n" for k, qty, t in rows))
    os.utime(path, (number, number))


@pytest.mark.spark
def test_the_files_of_a_directory_are_named_and_audited(spark: Any, tmp_path: Path) -> None:
    """Rows that a filter leaves out count, records that cannot be read do not; what is late is
    judged by the micro-batches before; counts go on after a restart."""
    folder, out, state = tmp_path / "in", tmp_path / "out.jsonl", tmp_path / "state"
    folder.mkdir()
    (tmp_path / "q.sql").write_text(FOLDER_QUERY)

    def run(*more: str) -> list[dict[str, Any]]:
        ran = driftline(
            "run", tmp_path / "q.sql", "-i", f"sales={folder}?maxFilesPerTrigger=1", "-o", out,
            "--runner", "spark", "--outputs", "held", "--checkpoint", state, *more,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        return marks_of(out.read_text())

    add(folder, 2, ("a", 1, 20), ("b", 0, 9), ("a", 5, 8))
    add(folder, 1, ("a", 7, 1), ("b", "none", 2))
    first = run()
    assert [mark["prefix"] for mark in first] == [{"sales": 1}, {"sales": 4}]
    assert [mark["files"] for mark in first] == [
        {"sales": {"1 part.csv": 1}}, {"sales": {"2 part.csv": 3}},
    ]  # fmt: skip
    add(folder, 3, ("a", 2, 30), ("a", 2, 3))
    last = run("--close")
    assert last[:2] == first
    assert last[2]["prefix"] == {"sales": 6}
    assert last[-1] == {
        "stream": "result", "kind": "consistent", "prefix": {"sales": 6}, "closed": True,
    }  # fmt: skip
    shown = [json.loads(line) for line in driftline("state", state).out.splitlines()]
    read = {str(folder / f"{number} part.csv"): rows for number, rows in ((1, 1), (2, 3), (3, 2))}
    assert shown[-1] == {"prefix": {"sales": 6}, "files": {"sales": read}, "closed": True}

    def audit(*more: str) -> tuple[int, str]:
        base = ("audit", out, tmp_path / "q.sql", "-i", f"sales={folder}", "--runner", "spark")
        ran = driftline(*base, *more)
        return ran.code, ran.err

    for number in (1, 2, 3):  # as a copy has it
        os.utime(folder / f"{number} part.csv", (9, 9))
    assert audit() == (0, "")
    wrong = out.read_text().replace('"row":{"k":"a","qty":1}', '"row":{"k":"a","qty":2}')
    out.write_text(wrong)
    code, complaint = audit()
    assert code == 1
    assert "is not the answer for" in complaint
    (folder / "1 part.csv").unlink()
    code, complaint = audit()
    assert (code, len(complaint.splitlines())) == (2, 1)
    assert f"{folder} has no file 1 part.csv" in complaint
    ran = driftline("run", tmp_path / "q.sql", "-i", f"sales={folder}", "--checkpoint", state,
                    "--runner", "spark", "--close")  # fmt: skip
    assert ran.code == 2


def test_a_micro_batch_that_comes_again_has_the_same_mark(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    marks = Marks(place, Count.of(["orders", "payments"]))
    reads = [
        {"orders": Read(3, {"a": 3})},
        {"payments": Read(2, {"b": 1, "c": 1}), "orders": Read(1, {"d": 1})},
        {"orders": Read(closed=True)},
    ]
    found = [marks.mark(number, read) for number, read in enumerate(reads)]
    assert [each.events for each in found] == [
        {"orders": 3, "payments": 0}, {"orders": 4, "payments": 2}, {"orders": 4, "payments": 2},
    ]  # fmt: skip
    assert [each.ended for each in found] == [(), (), ("orders",)]
    again = Marks(place, Count.of(["orders", "payments"]))
    assert again.mark(2, reads[2]) == found[2]
    known = latest(place)
    assert known is not None
    assert known.files == {"orders": {"a": 3, "d": 1}, "payments": {"b": 1, "c": 1}}
    assert again.mark(3, {"payments": Read(closed=True)}).closed
    with pytest.raises(PlanError, match="does not say what had been read before micro-batch 6"):
        again.mark(6, {})
