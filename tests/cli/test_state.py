from pathlib import Path

import pytest

import driftline as dl
from driftline.engine.core.operator import Counters
from driftline.engine.options import Options
from driftline.spark.checkpoint import FORMAT, Checkpoint
from tests.cli.run import driftline, driftline_on_a_terminal

TRADES = dl.stream("trades", {"symbol": "STRING", "qty": "INT"})
QUERY = TRADES.group_by("symbol").agg("sum(qty) AS qty")
HELD = {**Counters(4, 3, 1, 0, 0, 7, 560, 9).as_dict(), "oldest": 3, "newest": 1_200}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    kept = Checkpoint(str(tmp_path))
    kept.claim({"result": QUERY.plan}, Options(), 2)
    operators = [
        ["align", "trades", "trades", Counters().as_dict()],
        ["0 group by", "result", "", HELD],
    ]
    head = {"version": 5, "snapshot": 0, "size": 0, "logged": 420, "counters": operators}
    kept.report({(1, 0): head})
    return tmp_path


def test_a_line_for_every_operator(checkpoint: Path) -> None:
    done = driftline("state", checkpoint)
    assert done.code == 0
    first, second = done.out.splitlines()
    assert first.startswith('{"stage": 1, "shard": 0, "operator": "trades: align"')
    assert '"watermark": null' in first
    assert '"state_rows": 7, "state_bytes": 560, "watermark": 9' in second
    assert '"oldest": 3, "newest": 1200' in second


def test_a_table_on_a_terminal(checkpoint: Path) -> None:
    shown = driftline_on_a_terminal("state", checkpoint)
    assert "micro-batches" in shown
    assert all(name in shown for name in ("rows", "bytes", "oldest", "newest", "1,200"))


def test_a_checkpoint_of_another_format(checkpoint: Path) -> None:
    path = checkpoint / "driftline.json"
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', '"format": 2'))
    done = driftline("state", checkpoint)
    assert (done.code, done.out) == (2, "")
    assert f"another version of Driftline (format 2, now {FORMAT}): give" in done.err


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    assert "it is not a checkpoint of a query" in driftline("state", tmp_path).err
    assert "there is no such path" in driftline("state", tmp_path / "x").err


def test_a_query_that_has_just_begun(tmp_path: Path) -> None:
    Checkpoint(str(tmp_path)).claim({"result": QUERY.plan}, Options(), 2)
    (tmp_path / "state.json.half").write_text("{")  # as a crash leaves it
    done = driftline("state", tmp_path)
    assert (done.code, done.out) == (0, "")
    what = "no micro-batch has been completed yet, or its state.json is damaged"
    assert done.err == f"driftline: {tmp_path}: {what}\n"


def test_what_is_near_a_checkpoint(
    checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (checkpoint / "spark").mkdir()
    foreign, several = tmp_path_factory.mktemp("foreign"), tmp_path_factory.mktemp("several")
    (foreign / "offsets").mkdir()
    (foreign / "metadata").write_text('{"id":"1"}')
    for number in ("0", "1"):  # of queries with different settings
        Checkpoint(str(several / number)).claim({"result": QUERY.plan}, Options(), 2)
    for place, emitted in (
        (checkpoint / "driftline.json", "it is a file: give the directory that --checkpoint was"),
        (checkpoint / "spark", f"it is a part of a checkpoint: give {checkpoint}"),
        (several, f"it holds several checkpoints: give one of {several}/0, {several}/1"),
        (foreign, "it is the checkpoint of another query of Spark, not of Driftline"),
    ):
        done = driftline("state", place)
        assert (done.code, done.out, done.err) == (2, "", f"driftline: {place}: {emitted}\n")


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_a_damaged_checkpoint(checkpoint: Path, text: str) -> None:
    (checkpoint / "state.json").write_text(text)  # which is for people: a query goes on
    done = driftline("state", checkpoint)
    assert (done.code, done.out) == (0, "")
    assert "or its state.json is damaged" in done.err
    (checkpoint / "driftline.json").write_text(text)
    done = driftline("state", checkpoint)
    emitted = f"driftline: {checkpoint}/driftline.json is damaged: it is not a JSON object\n"
    assert (done.code, done.out, done.err) == (2, "", emitted)


def test_a_closed_checkpoint_says_so(checkpoint: Path) -> None:
    assert driftline("state", checkpoint).err == ""
    Checkpoint(str(checkpoint)).close()
    done = driftline("state", checkpoint)
    assert (done.code, done.err) == (
        0,
        f"driftline: {checkpoint} is closed: nothing new can come\n",
    )
