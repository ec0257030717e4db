"""The prefix of the inputs that each micro-batch stands for, counted in its checkpoint.

    prefix(n) = prefix(n - 1), and what micro-batch n has read

    DIR/prefix.json            before the last micro-batch that was begun, and after it
    DIR/files/000000012.json   the files that micro-batch 12 has read, and how many rows of each

Both are written before the micro-batch is given to a sink. One that comes again after a crash reads
the same, and begins from the same prefix: so it has the same mark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftline.engine.shards.reads import Read
from driftline.model.prefix import Prefix
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Constant, Source
from driftline.spark.places import Place

FILE, FOLDER = "prefix.json", "files"


def inputs_of(sources: Mapping[str, Source]) -> list[str]:
    """The streams that have a part in a prefix: not the rows that a query brings itself."""
    return [name for name, source in sources.items() if not isinstance(source, Constant)]


@dataclass(frozen=True)
class Count:
    """So many events of each input, and the inputs that have been closed."""

    events: Mapping[str, int]
    closed: frozenset[str] = frozenset()

    @staticmethod
    def of(inputs: Iterable[str], tables: Iterable[str] = ()) -> Count:
        """At the beginning; `tables`: the inputs to which nothing is ever added."""
        return Count(dict.fromkeys(inputs, 0), frozenset(tables))

    def after(self, reads: Mapping[str, Read]) -> Count:
        events = {
            name: count + (reads[name].events if name in reads else 0)
            for name, count in self.events.items()
        }
        return Count(events, self.closed | {name for name, read in reads.items() if read.closed})

    def prefix(self, reads: Mapping[str, Read]) -> Prefix:
        """As a mark names it, with the files that came last."""
        files = {name: read.files for name, read in reads.items() if read.files}
        ended = [name for name in self.events if name in self.closed]
        closed = len(ended) == len(self.events)
        return Prefix(self.events, closed, files, () if closed else tuple(ended))

    def to_json(self) -> dict[str, Any]:
        return {"events": dict(self.events), "closed": sorted(self.closed)}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Count:
        return Count(found["events"], frozenset(found["closed"]))


class Marks:
    """The marks of a query, in the place of its checkpoint. `start`: before anything is read."""

    def __init__(self, place: Place, start: Count) -> None:
        self.place, self.start = place, start

    def mark(self, batch_id: int, reads: Mapping[str, Read]) -> Prefix:
        """The prefix that a micro-batch stands for."""
        before = self._before(batch_id)
        after = before.after(reads)
        prefix = after.prefix(reads)
        if prefix.files:
            name = f"{FOLDER}/{batch_id:09}.json"
            self.place.write_note(name, {"files": prefix.files})
        counts = {"batch": batch_id, "before": before.to_json(), "after": after.to_json()}
        self.place.write_note(FILE, counts)
        return prefix

    def _before(self, batch_id: int) -> Count:
        known = self.place.read_note(FILE) or {}
        if not known and batch_id == 0:
            return self.start
        for name, number in (("before", batch_id), ("after", batch_id - 1)):
            if known.get("batch") == number:
                return Count.from_json(known[name])
        raise PlanError(
            f"{self.place}/{FILE} does not say what had been read before micro-batch {batch_id}: "
            "it was changed, or is that of another checkpoint"
        )


def latest(place: Place) -> Prefix | None:
    """The prefix that a checkpoint has come to, with all files; None: nothing was counted."""
    found = place.read_note(FILE)
    if found is None:
        return None
    count = Count.from_json(found["after"])
    files: dict[str, dict[str, int]] = {}
    for name in place.names(FOLDER):
        for stream, read in ((place.read_note(f"{FOLDER}/{name}") or {}).get("files", {})).items():
            files.setdefault(stream, {}).update(read)
    return replace(count.prefix({}), files=files)
