"""`driftline audit`: answers that someone acted on, checked afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftline.engine.by_rows import over
from tests.cli.run import Ran, driftline

QUERY = """
CREATE STREAM orders (k STRING, qty INT);
CREATE STREAM payments (k STRING, paid INT);
SELECT o.k, sum(qty) AS qty, sum(paid) AS paid
FROM orders [RANGE 4] o JOIN payments [RANGE 4] p ON o.k = p.k GROUP BY o.k;
"""


def event(stream: str, vs: int, **row: object) -> str:
    named = {"stream": stream, "kind": "insert", "vs": vs, "ve": None, "row": row}
    return json.dumps(named) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.sql").write_text(QUERY)
    lines = [event("orders", n, k="ab"[n % 2], qty=n) for n in range(9)]
    lines += [event("payments", n - n % 3, k="ba"[n % 2], paid=10 * n) for n in range(9)]
    (tmp_path / "in.jsonl").write_text("".join(lines[::2] + lines[1::2]))
    return tmp_path


def marked(folder: Path, *arguments: str, batch: int = 2) -> Path:
    out = folder / "out.jsonl"
    ran = driftline(
        "run", folder / "q.sql", "-i", folder / "in.jsonl", "-o", out, "--runner", "local",
        "--outputs", "marked", "--batch", f"{batch}", *arguments,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return out


def audited(folder: Path, *arguments: str) -> Ran:
    return driftline(
        "audit", folder / "out.jsonl", folder / "q.sql", "-i", folder / "in.jsonl", *arguments
    )


@pytest.mark.parametrize(
    "how",
    [
        (),
        ("--scheduler", "round-robin", "--tokens", "3", "--emit", "perfect"),
        ("--scheduler", "round-robin", "--heeding", "multiset", "--emit", "eager"),
    ],
)
def test_what_was_marked_follows_from_the_inputs(folder: Path, how: tuple[str, ...]) -> None:
    marked(folder, *how)
    emit = how[how.index("--emit") :] if "--emit" in how else ()
    ran = audited(folder, *emit)
    assert (ran.code, ran.err) == (0, "")
    assert "all are what follows from the inputs" in ran.out


def test_a_wrong_answer_is_found_and_shown(folder: Path) -> None:
    out = marked(folder)
    lines = out.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"insert"' in line)
    lines[place] = lines[place].replace('"paid":', '"paid":7')
    out.write_text("\n".join(lines) + "\n")
    ran = audited(folder)
    assert ran.code == 1
    assert "is not the answer for" in ran.err
    assert "missing: " in ran.err
    assert "too much: " in ran.err


FIRST = """
CREATE STREAM orders (k STRING, qty INT);
SELECT k, qty, first_value(k) OVER (
  ORDER BY qty ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
) AS f FROM orders;
"""


def test_when_nothing_is_to_come_batches_do_not_excuse_an_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an operator that is right only if all rows come in one batch."""
    (folder / "q.sql").write_text(FIRST)
    orders = [event("orders", 1, k="abcde"[n], qty=n) for n in range(5)]
    (folder / "in.jsonl").write_text("".join(orders))
    marked(folder, batch=1)
    assert audited(folder).code == 0
    monkeypatch.setattr(over, "_reach_of_nth", lambda reach, *_: reach._replace(head=1))
    marked(folder, batch=1)
    ran = audited(folder)
    assert ran.code == 1
    assert "is not the answer for 5 of orders" in ran.err


def test_an_answer_for_another_prefix_is_wrong(folder: Path) -> None:
    out = marked(folder)
    text = out.read_text()
    out.write_text(text.replace('"prefix":{"orders":9', '"prefix":{"orders":1'))
    assert audited(folder).code == 1


def test_a_sample_of_the_marks(folder: Path) -> None:
    marked(folder)
    assert ": 3 marks checked" in audited(folder, "--sample", "3").out
    assert ": 1 mark checked" in audited(folder, "--sample", "1").out


def test_what_cannot_be_audited_is_told_in_one_line(folder: Path) -> None:
    out = marked(folder)
    (folder / "in.jsonl").write_text(event("orders", 1, k="a", qty=1))
    ran = audited(folder)
    assert ran.code == 2
    assert "give the input that the log was made from" in ran.err
    out.write_text("".join(event("result", 1, k="a", qty=1, paid=2)))
    ran = audited(folder)
    assert ran.code == 2
    assert "has no marks: write them with" in ran.err


CHAINED = """
CREATE STREAM orders (k STRING, qty INT);
CREATE VIEW sums AS SELECT k, sum(qty) AS qty FROM orders GROUP BY k;
CREATE VIEW counts AS SELECT k, count(*) AS n FROM orders GROUP BY k;
SELECT sum(qty) AS most, sum(n) AS n FROM sums s FULL JOIN counts c ON s.k = c.k;
"""


def test_what_could_not_be_checked_is_not_called_right(folder: Path) -> None:
    """Of shards that may be behind nothing is known before the first cti; of the local runner
    all is."""
    (folder / "q.sql").write_text(CHAINED)
    orders = [event("orders", n, k="ab"[n % 2], qty=n + 1) for n in range(6)]
    (folder / "in.jsonl").write_text("".join(orders))
    out = marked(folder, "--keep-open")
    lines = out.read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if '"insert"' in line)
    lines[place] = lines[place].replace('"most":', '"most":7')
    out.write_text("\n".join(lines) + "\n")
    ran = audited(folder, "--runner", "spark")
    assert ran.code == 0
    assert "none is known to be wrong" in ran.out
    assert "could be checked only as far as shards of Spark had come" in ran.out
    assert audited(folder, "--runner", "local").code == 1
