"""Refuses to write a file that is also read, or that is written twice.

Files are compared by what they are, and not by how their paths are spelled: a link, `./x` and `x`,
and a second name of one file are the same. A file that does not exist yet is known by the folder
that it will be in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

HIDDEN = ("_", ".")
"""The first characters of names of files that are not data, as in Spark."""

FILE_SCHEME = "file:"
STANDARD_INPUT, STDIN, STDOUT = "-", 0, 1

Identity = tuple[int | str, ...]


class SameFile(ValueError):
    """An output would overwrite something that is read or written as well."""


@dataclass(frozen=True)
class Used:
    """A file that is read or written, or a folder with all that is in it: what it is to the user
    (`--output`), and its path, or the number of a file that is open."""

    what: str
    path: str | Path | int

    def __str__(self) -> str:
        return self.what if isinstance(self.path, int) else f"{self.what} {self.path}"


def need_apart(written: Sequence[Used], read: Sequence[Used] = ()) -> None:
    """Refuses a file that would be written over something that is read or written as well."""
    for number, one in enumerate(written):
        for other in (*read, *written[:number]):
            if is_same(one.path, other.path):
                raise SameFile(f"{one} is the same file as {other}: give another one")
            if is_in(one.path, other.path):
                raise SameFile(f"{one} is in {other}: give another place")
            if is_in(other.path, one.path):
                raise SameFile(f"{other} is in {one}: give it a directory of its own")


def is_there(path: str | Path) -> bool:
    """Whether there is such a file; a name that no file can have is none."""
    try:
        return Path(path).exists()
    except OSError:
        return False


def files_of(inputs: Iterable[object]) -> list[Used]:
    """The files among inputs: paths, `-`, and what is open."""
    found = []
    for each in inputs:
        if each == STANDARD_INPUT:
            found.append(Used("standard input", STDIN))
        elif isinstance(each, (str, Path)):
            found.append(Used("the input", each))
        elif hasattr(each, "fileno"):
            with suppress(OSError):  # it is in memory
                found.append(Used("the input", each.fileno()))
    return found


def is_same(one: str | Path | int, other: str | Path | int) -> bool:
    """Whether two are the same file, or will be; pipes and devices never are.

    >>> is_same("new.csv", "./new.csv"), is_same("new.csv", "old.csv")
    (True, False)
    >>> is_same("/dev/null", "/dev/null")
    False
    """
    mine = _identity(one)
    return mine is not None and mine == _identity(other)


def is_in(path: str | Path | int, folder: str | Path | int) -> bool:
    """Whether a file, or a second name of it, is in a folder and not hidden from readers there."""
    around = _identity(folder)
    if around is None or isinstance(folder, int):
        return False
    inside: list[str] = []
    for each in _upwards(local_path(path)) if not isinstance(path, int) else ():
        if inside and _identity(each) == around:
            return not any(name.startswith(HIDDEN) for name in inside)
        inside.append(each.name)
    return any(is_same(path, each) for each in _second_names(path, Path(local_path(folder))))


def _second_names(path: str | Path | int, folder: Path) -> Iterator[Path]:
    """The files of a folder, if one of them may be another name of a file."""
    try:
        status = _status(path)
        if stat.S_ISREG(status.st_mode):
            any_name = isinstance(path, int) or status.st_nlink > 1
            found = (each for each in folder.rglob("*") if any_name or each.is_symlink())
            yield from (each for each in found if each.is_file())
    except OSError:
        return  # it is new


def _identity(path: str | Path | int) -> Identity | None:
    """The identity of a file; None if writing to it can lose nothing."""
    try:
        return _of(_status(path))
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        return None  # opening it will raise the right error
    new: list[str] = []
    for each in _upwards(local_path(path)) if not isinstance(path, int) else ():
        if each.exists():
            around = _of(each.stat())
            named = map(str.casefold, new) if _ignores_case(each) else new
            return None if around is None else (*around, *named)
        new.append(each.name)
    return None


def _status(path: str | Path | int) -> os.stat_result:
    return os.fstat(path) if isinstance(path, int) else Path(local_path(path)).stat()


def _of(status: os.stat_result) -> Identity | None:
    lasting = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return (status.st_dev, status.st_ino) if lasting else None


def _upwards(path: str) -> Iterator[Path]:
    """A path without links, and the folders that it is in."""
    real = Path(os.path.realpath(path))
    yield real
    yield from real.parents


def local_path(path: str | Path) -> str:
    """A path, also where it is written as a URI."""
    text = str(path)
    if not text.startswith(FILE_SCHEME):
        return text
    return "/" + unquote(text.removeprefix(FILE_SCHEME)).lstrip("/")


def _ignores_case(folder: Path) -> bool:
    other = folder.with_name(folder.name.swapcase()) if folder.name else folder
    return other != folder and other.exists() and other.samefile(folder)
