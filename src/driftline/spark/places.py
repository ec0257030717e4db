"""Directories that drivers and workers both reach: a path, or a URI that Arrow and Spark know."""

from __future__ import annotations

import atexit
import shutil
import tempfile

from pyarrow import fs


def folder_for_now() -> str:
    """A directory that is there as long as this process."""
    folder = tempfile.mkdtemp(prefix="driftline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class Place:
    """A directory. Files appear whole or not at all, as far as its filesystem can do that."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/")
        if "://" in place:
            self.files, self.root = fs.FileSystem.from_uri(self.place)
        else:
            self.files, self.root = fs.LocalFileSystem(), self.place

    def __str__(self) -> str:
        return self.place

    @property
    def is_on_disk(self) -> bool:
        """Whether it is a directory of this machine."""
        return isinstance(self.files, fs.LocalFileSystem)

    def write(self, name: str, data: bytes) -> None:
        path = f"{self.root}/{name}"
        self.files.create_dir(path.rsplit("/", 1)[0], recursive=True)
        with self.files.open_output_stream(f"{path}.half") as file:
            file.write(data)
        self.files.move(f"{path}.half", path)

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        path = f"{self.root}/{name}"
        if self.files.get_file_info(path).type == fs.FileType.NotFound:
            return None
        with self.files.open_input_stream(path) as file:
            return bytes(file.read())
