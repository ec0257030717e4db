"""What the processes of a run hold: the JVM, the driver in Python, and the workers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

JVM, DRIVER, WORKERS = "JVM", "driver", "workers"

PATIENCE = 60


@dataclass(frozen=True)
class Held:
    """Bytes in memory: of all processes of each kind, with pages that several share divided among
    them; and what is alive in the heap of the JVM, if that could be asked for."""

    memory: dict[str, int]
    heap: int | None


def held(session: int) -> Held:
    """What the processes of a session hold. The JVM collects its garbage for that."""
    memory = {JVM: 0, DRIVER: 0, WORKERS: 0}
    heap = None
    for pid, command in processes(session):
        kind = _kind(command)
        heap = live_heap(pid) if kind == JVM else heap
        memory[kind] += _share(pid)
    return Held(memory, heap)


def processes(session: int) -> Iterator[tuple[int, bytes]]:
    """The processes of a session, and how each was started."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text().rsplit(") ", 1)[1].split()
            if int(stat[3]) == session:
                yield int(place.name), (place / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue


def kill(session: int) -> None:
    """Kill all processes of a session at once."""
    for pid, _ in list(processes(session)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def live_heap(pid: int) -> int | None:
    """The bytes of all objects that a JVM can reach; None: there is no jcmd to ask it, or no answer
    in time."""
    jcmd = _jcmd(pid)
    if jcmd is None:
        return None
    try:
        asked = subprocess.run(
            [jcmd, str(pid), "GC.class_histogram"],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:  # on a busy machine
        return None
    found = re.search(r"^Total +\d+ +(\d+)", asked.stdout, re.MULTILINE)
    return None if found is None else int(found[1])


def _jcmd(pid: int) -> str | None:
    """The jcmd of the Java that runs, or the one on the path."""
    try:
        own = Path(f"/proc/{pid}/exe").readlink().with_name("jcmd")
    except OSError:
        return None
    return str(own) if own.is_file() else shutil.which("jcmd")


def _kind(command: bytes) -> str:
    program = command.split(b"\0")[0].rsplit(b"/", 1)[-1]
    if program == b"java":
        return JVM
    return WORKERS if b"daemon" in command else DRIVER


def _share(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
    return 0 if found is None else 1024 * int(found[1])
