"""Ctrl-C: a run that follows a directory stops at once, leaves no process, and can go on; on a
terminal it shows how far it has come."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import Terminal, driftline

QUERY = """
CREATE STREAM trades (symbol STRING, qty INT, ts BIGINT)
  WITH (time = 'ts', disorder = 20, timeout = '2s');
SELECT symbol, sum(qty) AS qty FROM trades WHERE qty > 0 GROUP BY symbol;
"""
PATIENCE = 200  # seconds


def command(folder: Path, *more: str) -> list[str]:
    base = [sys.executable, "-m", "driftline.cli.main", "run", str(folder / "query.sql")]
    base += ["--input", f"trades={folder / 'trades'}", "--runner", "spark"]
    return [*base, "--checkpoint", str(folder / "checkpoint"), *more]


def add(folder: Path, name: str, text: str) -> None:
    """A file that is there in full or not at all."""
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.1)


def alive(group: int) -> list[str]:
    """The processes of a group."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
            if int(stat.rsplit(") ", 1)[1].split()[2]) == group:
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.spark
@pytest.mark.slow
def test_a_run_is_stopped_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(QUERY)
    trades, out, dead = tmp_path / "trades", tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    trades.mkdir()
    add(trades, "1.csv", "symbol,qty,ts\nA,3,1\nB,-1,2\nA,5,7\n")
    running = subprocess.Popen(
        command(tmp_path, "--follow", "--output", str(out), "--dead-letters", str(dead)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        wait_for(
            lambda: running.poll() is not None or (out.exists() and '"qty":8' in out.read_text())
        )
        add(trades, "2.csv", "symbol,qty,ts\nC,4,9\nD,many,9\n")
        wait_for(lambda: running.poll() is not None or '"qty":4' in out.read_text())
        wait_for(lambda: running.poll() is not None or '"t":10' in out.read_text())  # all is final
        assert dead.read_text().count("\n") == 1  # while it runs
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        emitted, complained = running.communicate(timeout=PATIENCE)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert (running.returncode, emitted) == (130, b"")
    assert complained.decode().splitlines() == [
        f"driftline: 1 record could not be read: in {dead}",
        f"driftline: {trades / '2.csv'}:3: 'many' in the column qty is not an INT",
    ]
    wait_for(lambda: not alive(running.pid))

    add(trades, "3.csv", "symbol,qty,ts\nA,1,11\n")
    before = out.read_text()
    with out.open("a") as file:
        file.write("what a run that was killed has written and not noted")
    more = ("--output", str(out), "--dead-letters", str(dead))
    shown = driftline(*command(tmp_path, *more)[3:], err=Terminal()).err
    assert dead.read_text().count("\n") == 1  # again, and not a second time
    for part in ("events ·", "taken back", "rows held"):
        assert part in shown, shown
    assert out.read_text().startswith(before)
    assert driftline("history", out).out.splitlines() == [
        '{"stream":"result","vs":1,"ve":7,"row":{"symbol":"A","qty":3}}',
        '{"stream":"result","vs":7,"ve":11,"row":{"symbol":"A","qty":8}}',
        '{"stream":"result","vs":9,"ve":null,"row":{"symbol":"C","qty":4}}',
        '{"stream":"result","vs":11,"ve":null,"row":{"symbol":"A","qty":9}}',
    ]
    assert not (tmp_path / "checkpoint" / "emitted").exists()
    refused = driftline(*command(tmp_path, "--table")[3:])
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert f"driftline history {out} prints their table" in refused.err
