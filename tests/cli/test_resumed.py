from __future__ import annotations

from pathlib import Path

import pytest

from driftline.cli.resumed import LETTERS, OUTPUT, Written, need_kept
from driftline.plan.errors import PlanError
from driftline.running.problems import Problem


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def so_far(output: str | None = "out.jsonl", letters: str | None = "dead.jsonl") -> Written:
    return Written.so_far("state", output, letters)


def write(batch: int, *, noted: bool = True) -> None:
    """A run that writes one micro-batch, and is killed after or before it has noted that."""
    written = so_far()
    assert written.batches == ({0: batch - 1} if batch else {})
    files = [written.file(OUTPUT), written.file(LETTERS)]
    for file in files:
        file.write(f"{batch}\n".encode())
        file.flush()
    if noted:
        written.commit(0, batch, {"result": batch, "other": None})
    for file in files:
        file.close()


def test_what_was_not_noted_is_cut_off_and_comes_again() -> None:
    Path("out.jsonl").write_text("of another query\n")
    write(0)
    write(1)
    write(2, noted=False)
    assert Path("out.jsonl").read_text() == "0\n1\n2\n"
    write(2)
    write(3)
    assert Path("out.jsonl").read_text() == Path("dead.jsonl").read_text() == "0\n1\n2\n3\n"
    assert so_far().final == {"result": 3}
    assert sum(path.stat().st_size for path in Path("state").iterdir()) < 500


def test_a_run_that_writes_nothing_leaves_the_file_alone() -> None:
    write(0)
    so_far().file(OUTPUT).close()
    assert Path("out.jsonl").read_text() == "0\n"


def test_what_is_refused() -> None:
    write(0)
    with pytest.raises(Problem, match=r"the answers so far are in out.jsonl, as --output: give it"):
        so_far("another.jsonl")
    with pytest.raises(Problem, match="driftline history out.jsonl prints their table"):
        need_kept("state")
    Path("out.jsonl").write_text("")
    with pytest.raises(Problem, match=r"--output: out.jsonl is shorter than when state was left"):
        so_far()
    Path("state/output.json").write_text("{")
    with pytest.raises(
        PlanError, match="is damaged, or was changed: put the whole checkpoint back"
    ):
        so_far()
    Path("kept/emitted").mkdir(parents=True)
    Path("kept/emitted/000000000.arrow").touch()
    need_kept("kept")
    with pytest.raises(Problem, match="keeps its answers for an output that is written whole"):
        Written.so_far("kept", "out.jsonl", None)


def test_several_groups_of_queries_have_their_own_numbers() -> None:
    written = so_far(None, None)
    written.commit(0, 4, {})
    written.commit(1, 2, {})
    assert so_far(None, None).batches == {0: 4, 1: 2}
