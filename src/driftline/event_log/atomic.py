"""Files that are there in full or not at all, and on the disk when they are."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_READABLE_BY_ALL = 0o666


@contextmanager
def atomic_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write, which appears at the path when all went well, and not at all otherwise.

    What is no regular file (a pipe, /dev/stdout) is written directly.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = Path(os.path.realpath(path))  # a link stays: what it points to is written
    mode = path.stat().st_mode if path.exists() else None
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream  # which a consumer may close
        sync(Path(temporary))
        if mode is None:
            mask = os.umask(0)
            os.umask(mask)
            mode = _READABLE_BY_ALL & ~mask
        Path(temporary).chmod(stat.S_IMODE(mode))
        Path(temporary).replace(path)
        sync(path.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
