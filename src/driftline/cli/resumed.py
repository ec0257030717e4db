"""What a run on Spark has written so far, so that the next one from its checkpoint goes on there.

    DIR/output.json   after the last whole micro-batch: its number (of each group of queries), the
                      files of answers and of dead letters, how long they were, and how far answers
                      were final

Answers are appended. A run that was killed in the middle of a micro-batch has written more than it
noted: that is cut off, and the micro-batch comes again, with the same contents. So a checkpoint
keeps nothing of what was emitted, and a restart costs what the state costs.

An output that is written whole (--table, CSV, Parquet, compressed logs) cannot be appended to: for
these the checkpoint keeps what was emitted (`driftline.spark.emitted`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from driftline.event_log.atomic import atomic_file
from driftline.running.problems import Problem

NOTE = "output.json"
OUTPUT, LETTERS = "--output", "--dead-letters"
STANDARD_OUTPUT = "-"


@dataclass
class Written:
    """`folder`: the checkpoint; `files`: by option, the path (None: no such output, "-": standard
    output); `batches`: by group, the last micro-batch; `lengths`: of the files; `final`: of every
    query; `letters`: how many of each stream were dead; `unread`: how many records no reader could
    read."""

    folder: Path
    files: Mapping[str, str | None]
    batches: dict[int, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    final: dict[str, int] = field(default_factory=dict)
    letters: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    opened: dict[str, GrowingFile] = field(default_factory=dict)

    @classmethod
    def so_far(cls, checkpoint: str, output: str | None, letters: str | None) -> Written:
        """What earlier runs have noted, if the files are as they left them."""
        folder = Path(checkpoint)
        made = cls(folder, {OUTPUT: output, LETTERS: letters})
        if kept_in(folder):
            raise Problem(
                f"--checkpoint: {checkpoint} keeps its answers for an output that is written "
                "whole (--table, CSV, Parquet): give such a one again, or another directory"
            )
        known = _read(folder)
        if known is None:
            return made
        for option, path in made.files.items():
            before = known["files"].get(option)
            if before is not None and path != before:
                raise Problem(
                    f"--checkpoint: the answers so far are in {before}, as {option}: give it "
                    f"again, or --checkpoint another directory"
                )
        made.batches = {int(group): batch for group, batch in known["batches"].items()}
        made.lengths, made.final = known["lengths"], known["final"]
        made.letters, made.unread = known["letters"], known["unread"]
        for option, length in made.lengths.items():
            path = made.files[option]
            if path is not None and _size(Path(path)) < length:
                raise Problem(
                    f"{option}: {path} is shorter than when {folder} was left: it was changed"
                )
        return made

    def file(self, option: str) -> IO[bytes]:
        """A file that goes on where it was when the last whole micro-batch was."""
        path = self.files[option]
        assert path is not None
        made = GrowingFile(Path(path), self.lengths.get(option))
        self.opened[option] = made
        return cast("IO[bytes]", made)

    def commit(self, group: int, batch: int, final: Mapping[str, int | None]) -> None:
        """Note that a micro-batch is written."""
        self.batches[group] = batch
        self.final |= {name: cti for name, cti in final.items() if cti is not None}
        self.lengths |= {option: file.settled() for option, file in self.opened.items()}
        note = {
            "files": {**self.files},
            "batches": self.batches,
            "lengths": self.lengths,
            "final": self.final,
            "letters": self.letters,
            "unread": self.unread,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.folder / NOTE) as stream:
            stream.write(json.dumps(note).encode())
            stream.flush()
            os.fsync(stream.fileno())


class GrowingFile:
    """A file that can be read while it is written. It is opened when something is written to it, so
    that a run that fails before leaves the old one as it was; `length`: how much of it stays."""

    def __init__(self, path: Path, length: int | None = None) -> None:
        self.path, self.length = path, length
        self.stream: IO[bytes] | None = None

    def open(self) -> IO[bytes]:
        if self.stream is None:
            if self.length is None or not self.path.is_file():
                self.stream = self.path.open("wb")
            else:
                self.stream = self.path.open("r+b")
                self.stream.truncate(self.length)
                self.stream.seek(self.length)
        return self.stream

    def write(self, data: Any) -> int:
        return self.open().write(data)

    def writelines(self, lines: Any) -> None:
        self.open().writelines(lines)

    def flush(self) -> None:
        self.open().flush()

    def settled(self) -> int:
        """How long it is, when all of that is on the disk."""
        stream = self.open()
        stream.flush()
        if not self.path.is_file():  # a pipe
            return 0
        os.fsync(stream.fileno())
        return stream.tell()

    def close(self) -> None:
        if self.stream is not None:
            self.stream.close()


def need_kept(checkpoint: str) -> None:
    """Refuses a checkpoint that has not kept what an output that is written whole needs."""
    known = _read(Path(checkpoint))
    if known is None:
        return
    where = known["files"].get(OUTPUT)
    log = where not in (None, STANDARD_OUTPUT)
    hint = f"; driftline history {where} prints their table" if log else ""
    raise Problem(
        f"--checkpoint: {checkpoint} does not keep the answers so far, which an output that is "
        f"written whole (--table, CSV, Parquet) needs: give the output of before{hint}"
    )


def kept_in(folder: Path) -> bool:
    """Whether a checkpoint keeps what was emitted."""
    return any(folder.glob("emitted/*")) or any(folder.glob("[0-9]*/emitted/*"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


_NOTED = frozenset(["files", "batches", "lengths", "final", "letters", "unread"])


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / NOTE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= _NOTED:
        raise Problem(
            f"{folder / NOTE} is damaged: it does not say what has been written: give --checkpoint "
            "another directory, and the query reads its inputs anew"
        )
    return found
