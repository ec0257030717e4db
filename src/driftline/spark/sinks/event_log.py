"""Results as event logs (JSON Lines): the output of a query is another query's input.

    EventLogFiles   a directory with one file for every micro-batch
    EventLog        one file, to which every micro-batch is appended; a note beside it has its
                    length and the last micro-batch, and what is longer is cut off

The result is final up to its last cti line. Where outputs are marked, every micro-batch ends with
its mark. With the view "now" a line is a change of the answer
now: {"stream":"result","op":"+","at":5,"row":{…}}.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

from driftline.engine.core.output_events import output_lines
from driftline.engine.tables import now_json
from driftline.event_log.atomic import atomic_file
from driftline.event_log.writer import mark_line
from driftline.model.time import BEGINNING
from driftline.plan.errors import PlanError
from driftline.running.notes import note, noted
from driftline.spark.sinks.files import OwnFolder, numbered
from driftline.spark.views import kept_now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from driftline.spark.update import SparkUpdate

LogView = Literal["changes", "now"]

NOTE = ".progress"
"""The suffix of the note about an event log."""


class EventLogFiles:
    """Writes DIR/000000012.jsonl for micro-batch 12, with the events of all results. Spark, or
    another query of Driftline, can read the directory as a stream."""

    def __init__(self, path: str | Path, view: LogView = "changes") -> None:
        self.folder, self.view = OwnFolder(path), log_view(view)

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [self.folder.path]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse the folder of another query."""
        self.folder.check(about.run)

    def __call__(self, update: SparkUpdate) -> None:
        self.folder.claim(update.run)

        def write(file: IO[bytes]) -> None:
            write_events(file, update, {}, self.view)

        self.folder.put(numbered(update.batch_id, ".jsonl"), write)


class EventLog:
    """Appends to one file. `final`: how far each result was final at its end."""

    def __init__(self, path: str | Path, view: LogView = "changes") -> None:
        self.path, self.view = Path(path), log_view(view)
        self.note = self.path.with_name(self.path.name + NOTE)
        self.run = ""
        self.batch, self.length = -1, 0
        self.final: dict[str, int] = {}

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [str(self.path), str(self.note)]

    def __call__(self, update: SparkUpdate) -> None:
        if self.run != update.run:
            self.claim(update.run)
        if update.batch_id <= self.batch:
            return
        with self.path.open("r+b" if self.path.exists() else "w+b") as file:
            file.truncate(self.length)
            file.seek(self.length)
            write_events(file, update, self.final, self.view)
            file.flush()
            os.fsync(file.fileno())
            self.length = file.tell()
        self.batch = update.batch_id
        for name, batch in update.batches.items():
            self.final[name] = max(batch.cti, self.final.get(name, BEGINNING))
        self._write_note()

    def _write_note(self) -> None:
        said = {"run": self.run, "batch": self.batch, "length": self.length, "final": self.final}
        with atomic_file(self.note) as file:
            file.write(note(said))

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse the log of another query."""
        self._known(about.run)

    def claim(self, run: str) -> None:
        """Go on from where an earlier process has stopped, or begin."""
        known = self._known(run)
        if known is not None:
            self.batch, self.length, self.final = known["batch"], known["length"], known["final"]
        self.run = run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write_note()  # before anything is in the log

    def _known(self, run: str) -> dict[str, Any] | None:
        """What an earlier process of the query has noted."""
        if not self.note.exists():
            if self.path.exists() and self.path.stat().st_size:
                raise PlanError(f"{self.path} is there already: give another file")
            return None
        known = noted(self.note.read_bytes(), str(self.note))
        if known["run"] != run:
            raise PlanError(
                f"{self.path} is the event log of another query (or of this one from another "
                "checkpoint): give another file"
            )
        if not self.path.exists() or self.path.stat().st_size < known["length"]:
            raise PlanError(f"{self.path} is shorter than {self.note.name} says: it was changed")
        return known


def log_view(view: LogView) -> LogView:
    """The view, if an event log can have it."""
    if view not in get_args(LogView):
        raise PlanError(f"an event log has the view changes or now, not {view!r}")
    return view


def write_events(
    file: IO[bytes], update: SparkUpdate, final: Mapping[str, int], view: LogView = "changes"
) -> None:
    """The events of all results, with a cti where a result is final further than before; or the
    changes of the answers now."""
    for name, batch in update.batches.items():
        if view == "now":
            changes = kept_now(update.micro_batch(name))
            file.write(now_json(name, changes, timestamps=name in update.timestamps))
            continue
        advanced = batch.cti > final.get(name, BEGINNING)
        lines = output_lines(
            name,
            batch,
            timestamps=name in update.timestamps,
            cti=batch.cti if advanced else None,
        )
        if len(lines):
            file.write(lines)
        if update.prefix is not None:
            file.write(mark_line(name, update.prefix))
