"""Inputs that the local runner follows: what comes into files, directories and topics.

a file         its lines, each when it has been ended
a directory    its files, each when it is there
a topic        its messages
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from driftline.engine.readers.csv_records import CsvFile, records_of
from driftline.engine.readers.growing import Growing
from driftline.engine.readers.inputs import RawEvents, events_from, json_records, log_events
from driftline.running import kafka
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, files_of, read_file

if TYPE_CHECKING:
    from driftline.plan.nodes import Source


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
    """A file that grows. `at`: how many bytes of it have been read, `line`: and how many lines;
    `header`: the first line of CSV. One that has become shorter was begun anew."""

    def __init__(self, source: Source, given: Streamed) -> None:
        super().__init__(source, given)
        self.path, self.at, self.line, self.header = Path(given.place), 0, 0, b""
        given.places.begin(self.path)

    def new(self) -> Iterator[RawEvents]:
        if not self.path.is_file():
            return
        if self.path.stat().st_size < self.at:
            self.at, self.line, self.header = 0, 0, b""
        with self.path.open("rb") as file:
            file.seek(self.at)
            text = file.read()
        text = text[: text.rfind(b"\n") + 1]
        if self.given.form == "csv":
            text = self._whole_records(text)
        if not text:
            return
        before = self.line - self.header.count(b"\n")
        if self.given.form == "csv":
            for part in CsvFile(
                self.source, io.BytesIO(self.header + text), str(self.path)
            ).parts():
                yield self._noted(events_from(self.source, part), before)
            self.header = self.header or text[: text.find(b"\n") + 1]
        else:
            yield self._noted(self._of_text(text, str(self.path)), before)
        self.at += len(text)
        self.line += text.count(b"\n")

    def _whole_records(self, text: bytes) -> bytes:
        """The text up to the last record that has been ended: lines may end inside quotes."""
        if b'"' not in text:
            return text
        starts, _, _, _, is_open = records_of(np.frombuffer(text, np.uint8))
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
            for part in read_file(self.source, path, self.given.form):
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
