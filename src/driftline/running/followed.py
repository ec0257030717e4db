"""Inputs that the local runner follows: what comes into files, directories and topics.

a file         its lines, each when it has been ended
a directory    its files, each when it is there
a topic        its messages
"""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from driftline.engine.readers.csv_records import CsvFile, records_of
from driftline.engine.readers.growing import Growing
from driftline.engine.readers.inputs import RawEvents, events_from, json_records, log_events
from driftline.running import kafka
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, csv_form, files_of, read_file

if TYPE_CHECKING:
    from driftline.plan.nodes import Source

KNOWN = 1024
"""So many bytes of the beginning of a file, and before the place up to which it was read, tell
whether it is still the same."""


def followed(source: Source, given: Streamed) -> Growing:
    """An input that is followed in this process."""
    if given.kind == "kafka":
        return FollowedTopic(source, given)
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"--input {source.name}={given.shown} is for --runner spark")
    if Path(given.place).is_dir():
        return FollowedFolder(source, given)
    return FollowedFile(source, given)


class Followed(Growing):
    """An input of a stream; where its records stand is noted in the places of what was given."""

    def __init__(self, source: Source, given: Streamed) -> None:
        self.source, self.given = source, given
        self.is_log = given.form == "log"
        given.places.__init__()  # type: ignore[misc]  # start again

    def _noted(self, events: RawEvents, shift: int = 0) -> RawEvents:
        """Events that stand so many lines further on than they were read."""
        lines = events.lines
        if lines is not None:
            lines = lines + shift
            self.given.places.lines.add(lines)
        elif len(events):
            self.given.places.lines.add(np.zeros(len(events), np.int64))
        bad = tuple(replace(each, line=each.line + shift) for each in events.bad)
        return replace(events, lines=lines, bad=bad)

    def _of_text(self, text: bytes, name: str) -> RawEvents:
        """Lines of JSON, or of an event log."""
        lines = io.BytesIO(text)
        lines.name = name
        if self.is_log:
            return log_events(lines, self.source, self.given.stream or self.source.name)
        return events_from(self.source, json_records(self.source, lines).records)


class FollowedFile(Followed):
    """A file that grows, and that may be rotated. It stays open: when another one has its name, it
    is read to its end, and then the other from its beginning. One that was truncated, and perhaps
    filled again, begins otherwise, or has other bytes before the place up to which it was read;
    what stood there meanwhile is gone, and a warning says so.

    `file`: what is open; `at`: how many bytes of it have been read, and `line`: how many lines;
    `head`, `tail`: the first bytes of these, and the last; `header`: the first line of CSV."""

    def __init__(self, source: Source, given: Streamed) -> None:
        super().__init__(source, given)
        self.path, self.csv = Path(given.place), csv_form(given.csv)
        self.file: IO[bytes] | None = None

    def new(self) -> Iterator[RawEvents]:
        while True:
            if self.file is None and not self._opens():
                return
            assert self.file is not None
            if self._was_begun_anew():
                logging.getLogger("driftline").warning(
                    "%s was truncated and begun anew: what was written to it after line %d and "
                    "before that cannot be read any more; rotate files by renaming them",
                    self.path,
                    self.line,
                )
                self._begin()
            is_last = self._was_replaced()  # before it is read: nothing is written to it after
            yield from self._rest(is_last)
            if not is_last:
                return
            self.file.close()
            self.file = None

    def _opens(self) -> bool:
        with suppress(FileNotFoundError, IsADirectoryError):
            self.file = self.path.open("rb")
            self._begin()
        return self.file is not None

    def _begin(self) -> None:
        self.at, self.line, self.header, self.head, self.tail = 0, 0, b"", b"", b""
        self.given.places.begin(self.path)

    def _was_begun_anew(self) -> bool:
        assert self.file is not None
        return any(
            self._read(place, len(known)) != known
            for place, known in ((0, self.head), (self.at - len(self.tail), self.tail))
        )

    def _was_replaced(self) -> bool:
        """Whether its name is that of another file by now."""
        assert self.file is not None
        try:
            now = self.path.stat()
        except FileNotFoundError:
            return False  # it may be written to until another one is there
        own = os.fstat(self.file.fileno())
        return (now.st_dev, now.st_ino) != (own.st_dev, own.st_ino)

    def _read(self, start: int, count: int = -1) -> bytes:
        assert self.file is not None
        self.file.seek(start)
        return self.file.read(count)

    def _rest(self, is_last: bool) -> Iterator[RawEvents]:
        """The lines that have been ended since; in the end also one that has not."""
        text = self._read(self.at)
        if not is_last:
            text = text[: text.rfind(b"\n") + 1]
            if self.given.form == "csv":
                text = self._whole_records(text)
        if not text:
            return
        before = self.line - self.header.count(b"\n")
        if self.given.form == "csv":
            written = io.BytesIO(self.header + text)
            for part in CsvFile(self.source, written, str(self.path), self.csv).parts():
                yield self._noted(events_from(self.source, part), before)
            self.header = self.header or text[: text.find(b"\n") + 1]
        else:
            yield self._noted(self._of_text(text, str(self.path)), before)
        self.at += len(text)
        self.line += text.count(b"\n")
        self.head = (self.head + text)[:KNOWN] if len(self.head) < KNOWN else self.head
        self.tail = (self.tail + text)[-KNOWN:]

    def _whole_records(self, text: bytes) -> bytes:
        """The text up to the last record that has been ended: lines may end inside quotes."""
        if b'"' not in text:
            return text
        delimiter = self.csv.delimiter.encode()[0]
        starts, _, _, _, is_open = records_of(np.frombuffer(text, np.uint8), delimiter)
        return text[: int(starts[-1])] if is_open else text


class FollowedFolder(Followed):
    """A directory into which files are put; `done`: those that were read."""

    def __init__(self, source: Source, given: Streamed) -> None:
        super().__init__(source, given)
        self.done: set[Path] = set()

    def new(self) -> Iterator[RawEvents]:
        for path in files_of(Path(self.given.place)):
            if path in self.done:
                continue
            self.done.add(path)
            self.given.places.begin(path)
            if self.is_log:
                stream = self.given.stream or self.source.name
                yield self._noted(log_events(path, self.source, stream))
                continue
            for part in read_file(self.source, path, self.given):
                yield self._noted(events_from(self.source, part))


class FollowedTopic(Followed):
    """A topic; `position`: the messages that come next, by partition; None: before it was read."""

    def __init__(self, source: Source, given: Streamed) -> None:
        super().__init__(source, given)
        self.topic = kafka.topic_of(given)
        self.position: kafka.Position | None = None
        given.places.begin(given.shown)

    def new(self) -> Iterator[RawEvents]:
        first, after = self.topic.ends()
        if self.position is None:
            self.position = dict(after if self.topic.start == "latest" else first)
        after = kafka.limited(self.position, after, self.topic.most)
        start = {number: self.position.get(number, first[number]) for number in after}
        messages = list(kafka.merged(self.topic, start, after))
        if messages:
            yield self._noted(self._of_text(kafka.lines(messages), self.given.shown))
        self.position = after
