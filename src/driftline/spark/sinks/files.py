"""Files that are there in full or not at all, in folders that belong to one query."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from pyarrow import fs

from driftline.event_log.atomic import atomic_file, sync
from driftline.plan.errors import PlanError
from driftline.spark.places import place_of

OWNER = "_driftline.json"
"""The file that names the owner of the folder; readers pass over names with _ or a dot in front."""

FORMAT = 1


class OwnFolder:
    """A folder that one query writes its micro-batches to, a file for each: a path, or a URI that
    Arrow knows (s3://, gs://, hdfs://, …)."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.files, self.root = place_of(path)
        self.owner: str | None = None

    def claim(self, run: str) -> None:
        """Make a query the owner of the folder, or refuse if it has another owner."""
        if self.owner == run:
            return
        if not self.check(run):
            text = json.dumps({"format": FORMAT, "run": run}).encode()
            self.put(OWNER, lambda file: file.write(text))
        self.owner = run

    def check(self, run: str) -> bool:
        """Whether a query is the owner of the folder, which has no other."""
        note = f"{self.root}/{OWNER}"
        if self.files.get_file_info(self.root).type == fs.FileType.File:
            raise PlanError(f"{self.path} is a file: give a directory")
        if not self._is_there(note):
            return False
        with self.files.open_input_stream(note) as file:
            owner = json.loads(file.read())["run"]
        if owner != run:
            raise PlanError(
                f"{self.path} holds the results of another query (or of this one from another "
                "checkpoint): give another directory"
            )
        return True

    def put(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        """Write a file unless it is there."""
        place = f"{self.root}/{name}"
        if self._is_there(place):
            return
        folder, _, last = place.rpartition("/")
        self.files.create_dir(folder, recursive=True)
        if isinstance(self.files, fs.LocalFileSystem):
            with atomic_file(Path(place)) as file:
                write(file)
        else:
            half = f"{folder}/.{last}.half"
            with self.files.open_output_stream(half) as file:
                write(file)
            self.files.move(half, place)

    def adopt(self, moved: Mapping[str, str], staged: str) -> None:
        """Give files that are there in full their names, unless files have these already; then the
        folder in which they were goes."""
        for old, new in moved.items():
            if not self._is_there(f"{self.root}/{new}"):
                self.files.move(f"{self.root}/{old}", f"{self.root}/{new}")
        if moved and isinstance(self.files, fs.LocalFileSystem):
            sync(Path(self.root, next(iter(moved.values()))).parent)
        if self._is_there(f"{self.root}/{staged}".rstrip("/")):
            self.files.delete_dir(f"{self.root}/{staged}".rstrip("/"))

    def has(self, beginning: str) -> bool:
        """Whether there is a file whose name begins so."""
        folder, _, start = f"{self.root}/{beginning}".rpartition("/")
        found = self.files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return any(info.base_name.startswith(start) for info in found)

    def _is_there(self, place: str) -> bool:
        return bool(self.files.get_file_info(place).type != fs.FileType.NotFound)


def numbered(number: int, suffix: str) -> str:
    """The name of a micro-batch's file: names sort as numbers do.

    >>> numbered(12, ".jsonl")
    '000000012.jsonl'
    """
    return f"{number:09}{suffix}"
