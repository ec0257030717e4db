"""A checkpoint belongs to one query."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import driftline as dl
from driftline.engine.limits import Limits
from driftline.engine.options import Options
from driftline.plan.errors import PlanError
from driftline.running.notes import note
from driftline.spark.checkpoint import FILE, FORMAT, Checkpoint, CheckpointProgress, describe
from driftline.spark.pipeline import OWN_STEPS

S = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
PLANS = {"result": S.where("x > 0").plan}
OPTIONS = Options(block=5)
LAG = "SELECT lag(x{}) OVER (ORDER BY x) AS w FROM s"
FIRST = "SELECT k FROM s ORDER BY x {}"
RECURSIVE = (
    "WITH RECURSIVE r (n) MAX RECURSION LEVEL {} AS (SELECT x FROM s UNION SELECT n + 1 FROM r "
    "WHERE n < 3) SELECT * FROM r"
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"block": 6}, "its block was 5 and is 6 now"),
        ({"remember": 7}, "its remember was inf and is 7 now"),
        ({"heartbeat": "query"}, "its heartbeat was source and is query now"),
    ],
)
def test_another_consistency_is_another_query(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(PLANS, OPTIONS, 2)
    checkpoint.claim(PLANS, OPTIONS, 2)
    with pytest.raises(PlanError, match=said):
        checkpoint.claim(PLANS, replace(OPTIONS, **change), 2)


@pytest.mark.parametrize("written", [None, 1, FORMAT - 1, FORMAT + 1])
def test_a_checkpoint_of_another_format_is_refused(tmp_path: Path, written: int | None) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(PLANS, OPTIONS, 2)
    file = tmp_path / FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": written}))
    what_to_do = "give --checkpoint another directory, and the query reads its inputs anew"
    said = rf"another version of Driftline \(format {written}, now {FORMAT}\): {what_to_do}$"
    with pytest.raises(PlanError, match=said):
        checkpoint.claim(PLANS, OPTIONS, 2)


def test_reported_estimates_make_no_other_query(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(PLANS, OPTIONS, 2)


def test_another_plan_is_shown(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(PLANS, OPTIONS, 2)
    with pytest.raises(PlanError, match="the plan of result had .*x > 0.* and has .*x > 1"):
        checkpoint.claim({"result": S.where("x > 1").plan}, OPTIONS, 2)
    # Only what is new is shown, not all that stands further to the right.
    with pytest.raises(PlanError, match="the plan of result has “distinct” now"):
        checkpoint.claim({"result": S.where("x > 0").distinct().plan}, OPTIONS, 2)
    with pytest.raises(PlanError, match="the plan of result had “select .*” and has not now"):
        checkpoint.claim({"result": S.plan}, OPTIONS, 2)


def test_other_bounds_are_another_query(tmp_path: Path) -> None:
    def plans(**bounds: Any) -> dict[str, Any]:
        return {"result": dl.stream("s", {"k": "STRING", "x": "BIGINT"}, time="x", **bounds).plan}

    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(plans(disorder=3), OPTIONS, 2)
    checkpoint.claim(plans(disorder=3), OPTIONS, 2)
    said = "the bounds of s were disorder 3, .* and are disorder 3, timeout 5000, .* now"
    with pytest.raises(PlanError, match=said):
        checkpoint.claim(plans(disorder=3, timeout="5s"), OPTIONS, 2)
    with pytest.raises(PlanError, match="and are not known now"):
        checkpoint.claim(plans(), OPTIONS, 2)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("records", "events", "s was read as records and is read as events now"),
        (f"records {OWN_STEPS}", "records", "Spark ran the first steps of s in UTC and in ANSI"),
        (f"records {OWN_STEPS}", "a table", "s was read as records with .* as a table now"),
    ],
)
def test_another_reading_is_another_query(tmp_path: Path, before: str, now: str, said: str) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    assert checkpoint.has_own_steps()
    checkpoint.claim(PLANS, OPTIONS, 2, {"s": before})
    assert checkpoint.has_own_steps() == (OWN_STEPS in before)
    with pytest.raises(PlanError, match=said):
        checkpoint.claim(PLANS, OPTIONS, 2, {"s": now})
    with pytest.raises(PlanError, match="the plan of result had .*x > 0.* and has .*x > 1"):
        checkpoint.claim({"result": S.where("x > 1").plan}, OPTIONS, 2, {"s": now})


def test_what_other_versions_wrote_is_refused(tmp_path: Path) -> None:
    known = {**describe(PLANS, OPTIONS, 2), "progress": asdict(CheckpointProgress())}
    (tmp_path / "driftline.json").write_bytes(note(known))
    with pytest.raises(PlanError, match="it was written by another version of Driftline"):
        Checkpoint(str(tmp_path)).claim(PLANS, OPTIONS, 2, {"s": "records"})


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (LAG.format(""), LAG.format(", 1, 0")),
        (FIRST.format("LIMIT 1"), FIRST.format("FETCH FIRST 1 ROWS WITH TIES")),
    ],
)
def test_a_detail_that_the_tree_does_not_show_is_another_query(
    tmp_path: Path, before: str, now: str
) -> None:
    checkpoint = Checkpoint(str(tmp_path))
    plans = [{"result": dl.sql(text, s=S).plan} for text in (before, now)]
    checkpoint.claim(plans[0], OPTIONS, 2)
    with pytest.raises(PlanError, match="the plan of result .*; give --checkpoint another"):
        checkpoint.claim(plans[1], OPTIONS, 2)


def test_limits_and_batches_make_no_other_query(tmp_path: Path) -> None:
    """A query that a limit has stopped goes on with a greater one."""
    recursive = Checkpoint(str(tmp_path / "recursive"))
    for limit in (10, 11):
        recursive.claim({"result": dl.sql(RECURSIVE.format(limit), s=S).plan}, OPTIONS, 2)
    checkpoint = Checkpoint(str(tmp_path))
    checkpoint.claim(PLANS, OPTIONS, 2)
    checkpoint.claim(PLANS, replace(OPTIONS, batch=7, limits=Limits(1, 1), strict=True), 2)
    with pytest.raises(PlanError, match="one of its options has changed"):
        checkpoint.claim(PLANS, replace(OPTIONS, clock="latest"), 2)


def test_states_that_were_never_committed_go(tmp_path: Path) -> None:
    """The micro-batch comes again, and its state would not take the place of the one before."""
    spark = tmp_path / "spark"
    names = [f"{n}.{kind}" for n in (4, 5) for kind in ("changelog", "zip")]
    states = (f"state/0/0/{name}" for each in names for name in (each, f".{each}.crc"))
    for name in ("commits/3", "state/0/_metadata/5", *states):
        (spark / name).parent.mkdir(parents=True, exist_ok=True)
        (spark / name).touch()
    Checkpoint(str(tmp_path)).drop_leftovers()
    left = sorted(path.name for path in (spark / "state" / "0" / "0").iterdir())
    assert left == [".4.changelog.crc", ".4.zip.crc", "4.changelog", "4.zip"]
    assert (spark / "state/0/_metadata/5").exists()
