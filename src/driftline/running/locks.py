"""Locks on what a run writes: no two runs write one file, directory or table at the same time.

    DIR/.answers.jsonl.lock   beside DIR/answers.jsonl: its lock, with the id of the process

The operating system holds the lock (flock) as long as the process is there, so that a kill frees
it; the file itself goes with the run, and one that a kill has left means nothing. Places that are
no files of this machine, and pipes and devices, have no lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from driftline.event_log.apart import Used, local_path
from driftline.running.problems import Problem

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None  # type: ignore[assignment]


class InUse(Problem):
    """Another run writes there."""


@contextmanager
def locked(written: Iterable[Used]) -> Iterator[None]:
    """Hold the locks of what is written, all of them; refused at once if another run has one."""
    with ExitStack() as held:
        for each in written:
            held.enter_context(_locked(each))
        yield


@contextmanager
def _locked(used: Used) -> Iterator[None]:
    path = _lock_of(used)
    if path is None:
        yield
        return
    file = _opened(path, used)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is held: see `_opened`
        os.close(file)


def _lock_of(used: Used) -> Path | None:
    """The file with the lock of a place; None: there is none."""
    if fcntl is None:
        return None
    if isinstance(used.path, int) or "://" in str(used.path):
        return None
    given = Path(local_path(used.path))
    if given.exists() and not (given.is_file() or given.is_dir()):
        return None
    place = Path(os.path.realpath(given))  # a link is what it leads to
    return place.with_name(f".{place.name}.lock") if place.name else None


def _opened(path: Path, used: Used) -> int:
    """The file of a lock, which is held. One that went while it was waited for is made anew."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(file, 20).decode(errors="replace").strip() or "another"
            os.close(file)
            raise InUse(
                f"{used} is being written by another run (process {holder}): wait for it, stop it, "
                "or give another place"
            ) from None
        with suppress(FileNotFoundError):
            if os.fstat(file).st_ino == path.stat().st_ino:
                os.ftruncate(file, 0)
                os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
                return file
        os.close(file)
