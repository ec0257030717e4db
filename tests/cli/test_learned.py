"""A word about what was learned of the time of streams that nobody has declared bounds for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import driftline as dl
from driftline.cli.learned import Learning
from driftline.engine.core.operator import OperatorKey
from driftline.plan.nodes import Source
from driftline.running.learned import Learned
from tests.cli.run import driftline


def records(count: int) -> Iterator[dict[str, object]]:
    """Every tenth is four late, of two sources that are one apart."""
    for n in range(count):
        yield {"id": "ab"[n % 2], "t": n - (4 if n % 10 == 9 else 0), "got": n}


def emitted(folder: Path, bounds: str, *options: str | Path, count: int = 300) -> str:
    lines = "\n".join(json.dumps(each) for each in records(count))
    (folder / "s.jsonl").write_text(lines, encoding="utf-8")
    (folder / "q.sql").write_text(
        f"CREATE STREAM s (id STRING, t BIGINT, got BIGINT) WITH (time = 't'{bounds});"
        "SELECT id, count(*) AS n FROM s WHERE got >= 0 GROUP BY id;",
        encoding="utf-8",
    )
    done = driftline("run", folder / "q.sql", "--input", f"s={folder / 's.jsonl'}", *options)
    assert done.code == 0, done.err
    return done.err


WORD = (
    "driftline: the time of s was guessed: records are about 4 out of order, and 4 behind the "
    "latest, learned from 300. Declare disorder to be sure, or heartbeats = 'none' to wait\n"
)


def test_on_every_run_that_waits_for_guesses(tmp_path: Path) -> None:
    assert emitted(tmp_path, "", "--block", "20") == WORD
    assert emitted(tmp_path, ", heartbeats = 'estimate'", "--batch", "7", "--block", "20") == WORD


@pytest.mark.parametrize("block", ["0", "inf"])
def test_where_nothing_waits_for_guesses_there_are_none(tmp_path: Path, block: str) -> None:
    assert emitted(tmp_path, "", "--block", block).count("guessed") == 0


@pytest.mark.parametrize("bounds", [", heartbeats = 'none'", ", disorder = 9"])
def test_where_nothing_is_guessed_nothing_is_said(tmp_path: Path, bounds: str) -> None:
    assert emitted(tmp_path, bounds, "--block", "20") == ""


def test_too_few_records_tell_nothing(tmp_path: Path) -> None:
    assert emitted(tmp_path, "", "--block", "20", count=50) == ""


@pytest.mark.spark
def test_on_spark(tmp_path: Path) -> None:
    """In a micro-batch all comes at one moment, which hides some of the disorder."""
    told = emitted(tmp_path, "", "--runner", "spark", "--batch", "100", "--block", "20")
    assert told.startswith("driftline: the time of s was guessed: records are about ")
    assert "learned from 300." in told


def test_what_goes_on_says_so_meanwhile_and_when_it_has_changed_much(
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = dl.stream("s", {"t": "BIGINT"}, time="t").plan.sources()["s"]
    assert isinstance(source, Source)
    learning = Learning({"s": source})
    for disorder, skew, count in ((0, 0, 0), (4, 6, 100), (5, 7, 200), (5, 12, 300), (2, 12, 400)):
        counted = {"guessed_disorder": disorder, "guessed_skew": skew, "learned_from": count}
        learning.take({OperatorKey("finalize", "s", "s"): counted})
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == WORD.strip().replace("was", "is").replace("4 behind", "6 behind").replace(
        "300", "100"
    )
    assert second.endswith("12 behind the latest, learned from 300")
    assert third.endswith("about 2 out of order, and 12 behind the latest, learned from 400")
    assert learning.said == {"s": Learned(2, 12, 400)}


def test_a_replay_says_it_meanwhile(tmp_path: Path) -> None:
    told = emitted(tmp_path, "", "--pace", "1000000x", "--now", "--batch", "150", "--block", "20")
    assert told.count("the time of s is guessed: ") == 1
    assert told.startswith("driftline: the time of s is guessed: ")


def test_a_run_that_follows_says_it_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("driftline.running.local.sleep", stop)
    folder = tmp_path / "incoming"
    folder.mkdir()
    for part in range(3):
        some = list(records(300))[100 * part : 100 * part + 100]
        (folder / f"{part}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in some))
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (id STRING, t BIGINT, got BIGINT) WITH (time = 't'); SELECT t FROM s;"
    )
    done = driftline(
        "run", tmp_path / "q.sql", "-i", f"s={folder}", "--follow", "--batch", "150", "--block",
        "20",
    )  # fmt: skip
    assert done.code == 130, done.err
    first, last = done.err.splitlines()
    # While few have come, the estimate reaches beyond what was seen: it is about twice as much.
    assert first.startswith("driftline: the time of s is guessed: records are about 9 out of order")
    assert first.endswith(WORD.partition("300")[2].strip())
    assert last == WORD.partition(". ")[0].replace("was", "is")
