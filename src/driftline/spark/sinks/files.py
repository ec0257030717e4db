"""Files that are there in full or not at all, in folders that belong to one query."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from driftline.plan.errors import PlanError

OWNER = "_driftline.json"
"""The file that says whose the folder is; readers pass over names that begin with _ or a dot."""

FORMAT = 1


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that is there, and on the disk, when all went well, and not at all else."""
    half = path.with_name(f".{path.name}.half")
    try:
        with half.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class OwnFolder:
    """A folder that one query writes its micro-batches to, a file for each."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.owner: str | None = None

    def claim(self, run: str) -> None:
        """Make the folder that of a query, or refuse because it is another's."""
        if self.owner == run:
            return
        self.path.mkdir(parents=True, exist_ok=True)
        note = self.path / OWNER
        if note.exists():
            owner = json.loads(note.read_text())["run"]
            if owner != run:
                raise PlanError(
                    f"{self.path} holds the results of another query (or of this one from another "
                    "checkpoint): give another directory"
                )
        else:
            with whole_file(note) as file:
                file.write(json.dumps({"format": FORMAT, "run": run}).encode())
        self.owner = run

    def put(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        """Write a file unless it is there."""
        path = self.path / name
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            write(file)


def numbered(number: int, suffix: str) -> str:
    """The name of a micro-batch's file: names sort as numbers do.

    >>> numbered(12, ".jsonl")
    '000000012.jsonl'
    """
    return f"{number:09}{suffix}"
