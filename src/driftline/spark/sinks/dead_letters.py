"""Dead letters as JSON Lines: the events that were no part of their stream, and why."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from driftline.event_log.deadletters import dead_letter
from driftline.event_log.text import joined, quoted
from driftline.event_log.writer import event_lines, text_bytes
from driftline.running.letters import letter_events
from driftline.spark.sinks.files import OwnFolder, numbered

if TYPE_CHECKING:
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.spark.update import SparkUpdate
    from driftline.spark.written import Targets


class DeadLetterFiles:
    """Writes DIR/000000012.jsonl for micro-batch 12 if it has dead letters: which event of the
    stream each was, counted from 0, the reason, and the event; of a record that could not be read
    where it stood, the column and its value, the reason, and its text."""

    def __init__(self, path: str | Path) -> None:
        self.folder = OwnFolder(path)

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [self.folder.path]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse the folder of another query."""
        self.folder.check(about.run)

    def targets(self, about: SparkUpdate) -> Targets:
        """The rows of results are not wanted."""
        return {}

    def __call__(self, update: SparkUpdate) -> None:
        self.folder.claim(update.run)
        dead = {name: letters for name, letters in update.dead_letters.items() if len(letters)}
        if not dead:
            return

        def write(file: IO[bytes]) -> None:
            for name, letters in dead.items():
                stamps = name in update.timestamps
                file.writelines(map(dead_letter, letters.bad))
                file.write(text_bytes(letter_lines(name, letters, timestamps=stamps)))

        self.folder.put(numbered(update.batch_id, ".jsonl"), write)


def letter_lines(name: str, letters: DeadLetters, *, timestamps: bool) -> pa.Array:
    """The events among dead letters as lines of JSON."""
    events = letter_events(name, timestamps, letters)
    reasons = pa.array(
        [quoted(reason) for reason in letters.reasons(timestamps)[len(letters.bad) :]],
        pa.large_string(),
    )
    numbers = pa.array(letters.number).cast(pa.large_string())
    whole = pa.compute.utf8_rtrim(event_lines(events), "\n").cast(pa.large_string())
    return joined(['{"number":', numbers, ',"reason":', reasons, ',"event":', whole, "}\n"])
