"""No two runs write one place at the same time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftline.event_log.apart import Used
from driftline.running.locks import InUse, locked
from tests.cli.run import COMMAND, driftline

HOLD = """
import sys, time
from driftline.event_log.apart import Used
from driftline.running.locks import locked
with locked([Used("--output", sys.argv[1])]):
    print("held", flush=True)
    time.sleep(60)
"""


def holding(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of a place."""
    made = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "held\n"
    return made


@pytest.mark.parametrize("how", ["path", "link", "uri", "relative"])
def test_the_second_is_refused_with_the_process_of_the_first_until_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    path = tmp_path / "answers.jsonl"
    path.touch()
    (tmp_path / "link").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, str | Path] = {"path": path, "link": tmp_path / "link", "uri": f"file:{path}"}
    again = Used("--output", names.get(how, "answers.jsonl"))
    first = holding(path)
    said = rf"--output .* is being written by another run \(process {first.pid}\): wait for it"
    with pytest.raises(InUse, match=said), locked([again]):
        pass
    first.kill()
    first.wait()
    with locked([again]):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["answers.jsonl", "link"]


def test_what_is_no_file_has_no_lock(tmp_path: Path) -> None:
    for place in ("/dev/null", "s3://bucket/x", 1):
        with locked([Used("--output", place)]), locked([Used("--output", place)]):
            pass


def test_all_or_none_is_held(tmp_path: Path) -> None:
    one, two = (Used("--output", tmp_path / name) for name in "ab")
    with locked([two]), pytest.raises(InUse), locked([one, two]):
        pass
    with locked([one, two]):
        pass


def test_processes_that_come_go_and_are_killed_never_hold_it_together(tmp_path: Path) -> None:
    log, place = tmp_path / "log", Used("--output", tmp_path / "x")

    def work(seed: int) -> None:
        luck = random.Random(seed)
        end = time.monotonic() + 1
        with log.open("ab", buffering=0) as file:
            while time.monotonic() < end:
                try:
                    with locked([place]):
                        file.write(f"{os.getpid()} ".encode())
                        time.sleep(luck.random() / 500)
                        if luck.random() < 0.02:
                            file.write(f"{os.getpid()}\n".encode())
                            os.kill(os.getpid(), signal.SIGKILL)
                        file.write(f"{os.getpid()}\n".encode())
                except InUse:
                    time.sleep(luck.random() / 1000)

    children = []
    for seed in range(4):
        child = os.fork()
        if child == 0:
            try:
                work(seed)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    lines = log.read_text().splitlines()
    assert len(lines) > 20
    assert all(len(set(line.split())) == 1 and len(line.split()) == 2 for line in lines)


def test_the_command_refuses_an_output_that_another_run_writes(tmp_path: Path) -> None:
    """Before anything is written: the file of the first is as it was."""
    script = tmp_path / "q.sql"
    script.write_text("CREATE STREAM s (x BIGINT) WITH (time = 'x'); SELECT x FROM s;")
    data = tmp_path / "s.csv"
    data.write_text("x\n1\n")
    out, letters = tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    asked: list[str | Path] = [
        "run",
        script,
        "--input",
        f"s={data}",
        "--output",
        out,
        "--dead-letters",
        letters,
    ]
    follow = [*COMMAND, *map(str, asked), "--follow"]
    first = subprocess.Popen(follow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if out.exists() and out.stat().st_size:
                break
            time.sleep(0.1)
        before = out.read_bytes()
        assert before
        ran = driftline(*asked)
        assert (ran.code, out.read_bytes()) == (2, before)
        assert f"--output {out} is being written by another run (process {first.pid})" in ran.err
        ran = driftline(*asked[:-4], "--output", tmp_path / "o.jsonl", *asked[-2:])
        assert f"--dead-letters {letters} is being written by another run" in ran.err
        assert not (tmp_path / "o.jsonl").exists()
    finally:
        first.kill()
        first.wait()
    assert driftline(*asked).code == 0
