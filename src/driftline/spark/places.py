"""Directories that drivers and workers both reach: a path, or a URI that Arrow and Spark know."""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from driftline.event_log.atomic import atomic_file
from driftline.plan.errors import PlanError
from driftline.running.notes import note, noted


def folder_for_now() -> str:
    """A directory that is there as long as this process."""
    folder = tempfile.mkdtemp(prefix="driftline-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def place_of(path: str | Path) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path there. Spark's names for S3 are Arrow's, too.

    >>> place_of("file:/tmp/x/")[1], place_of("/tmp/x")[1], place_of("memo:1")[1]
    ('/tmp/x', '/tmp/x', './memo:1')
    """
    text = str(path)
    scheme, sign, rest = text.partition(":/")
    if not sign or not scheme.isalnum():
        # Arrow takes what has a colon before the first slash for a URI.
        text = f"./{text}" if ":" in text.partition("/")[0] else text
        return fs.LocalFileSystem(), text.rstrip("/")
    if scheme == "file":
        return fs.LocalFileSystem(), "/" + rest.strip("/")
    try:
        files, root = fs.FileSystem.from_uri(f"{_SAME_AS.get(scheme, scheme)}:/{rest}")
    except pa.ArrowInvalid:
        raise PlanError(
            f"{text}: there is no way to {scheme}: from here; give a path that all machines reach, "
            "or a URI of s3, gs, hdfs or abfs"
        ) from None
    return files, root.rstrip("/")


def address_of(place: str) -> str:
    """A path as Spark and Arrow do not mistake it for a URI: in one that is relative, what stands
    before a colon would be taken for a scheme. A URI is left as it is.

    >>> address_of("s3://bucket/x"), address_of("file:/tmp/x"), address_of("/tmp/a:b")
    ('s3://bucket/x', 'file:/tmp/x', '/tmp/a:b')
    """
    return place if ":/" in place else str(Path(place).absolute())


_SAME_AS = {"s3a": "s3", "s3n": "s3"}


def file_name(name: str) -> str:
    """What a stream is called on disk: its name, or, of one that Spark or a file system would read
    in another way, the letters of it and a digest.

    >>> file_name("trades"), file_name("a/b *")
    ('trades', 'ab-1da429f28d234ef1')
    """
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_]{0,99}", name):
        return name
    letters = re.sub(r"[^A-Za-z0-9]", "", name)[:50]
    return f"{letters}-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


class Place:
    """A directory. Files appear whole or not at all, as far as its filesystem can do that."""

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/")
        self.files, self.root = place_of(self.place)

    def __str__(self) -> str:
        return self.place

    @property
    def is_on_disk(self) -> bool:
        """Whether it is a directory of this machine."""
        return isinstance(self.files, fs.LocalFileSystem)

    def write(self, name: str, data: bytes) -> None:
        """Write a file, which is on the disk in full, or not there at all."""
        path = f"{self.root}/{name}"
        self.files.create_dir(path.rsplit("/", 1)[0], recursive=True)
        if self.is_on_disk:
            with atomic_file(path) as whole:
                whole.write(data)
            return
        with self.files.open_output_stream(f"{path}.half") as file:
            file.write(data)
        self.files.move(f"{path}.half", path)

    def write_note(self, name: str, content: Mapping[str, Any]) -> None:
        self.write(name, note(content))

    def read_note(self, name: str) -> dict[str, Any] | None:
        """What a note says, which is as it was written; None if there is none."""
        data = self.read(name)
        return None if data is None else noted(data, f"{self}/{name}")

    def clear(self, folder: str, *, before: str) -> None:
        """Delete the files of a folder whose names come before one."""
        for info in self.files.get_file_info(fs.FileSelector(f"{self.root}/{folder}")):
            if f"{folder}/{info.base_name}" < before:
                self.files.delete_file(info.path)

    def names(self, folder: str) -> list[str]:
        """The whole files of a folder, in order."""
        found = self.files.get_file_info(
            fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)
        )
        return sorted(
            each.base_name
            for each in found
            if not each.base_name.startswith(".") and not each.base_name.endswith(".half")
        )

    def read(self, name: str) -> bytes | None:
        """The contents of a file; None if there is none."""
        path = f"{self.root}/{name}"
        if self.files.get_file_info(path).type == fs.FileType.NotFound:
            return None
        with self.files.open_input_stream(path) as file:
            return bytes(file.read())
