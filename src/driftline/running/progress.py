"""How far a run has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.model.time import BEGINNING

if TYPE_CHECKING:
    from driftline.engine.core.operator import OperatorKey
    from driftline.engine.step_outputs import Counted, Outputs


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come, in sums from its beginning.

    `watermark`: how far the answers have come in application time, those of the slowest query;
    `retractions`: how many answers were taken back or shortened; `state_rows`: what is held now;
    `late`: how many rows came after a later one, if a clock is looked at; `dead_letters`: how many.
    `events_per_second`: 0 where the runner does not measure it; `drawn` then measures it itself.
    """

    batches: int = 0
    events: int = 0
    events_per_second: float = 0.0
    watermark: int = BEGINNING
    retractions: int = 0
    state_rows: int = 0
    timestamps: bool = False
    late: int = 0
    dead_letters: int = 0


class Tally:
    """Adds up what the steps of a run emit, whichever runner takes them."""

    def __init__(self, names: Iterable[str], *, timestamps: bool) -> None:
        self.timestamps = timestamps
        self.watermarks = dict.fromkeys(names, BEGINNING)
        self.batches, self.retractions, self.late, self.dead_letters = 0, 0, 0, 0
        self._counters: dict[OperatorKey, Mapping[str, int]] = {}
        self._latest: Counted = {}

    def add(self, outputs: Outputs) -> None:
        """Take in what another step emits."""
        from driftline.engine.core.batch import added_and_removed
        from driftline.engine.step_outputs import Counts

        self.batches += 1
        if not isinstance(outputs.counters, Counts):  # some operators alone, as Spark has them
            self._counters |= outputs.counters
        self._latest = outputs.counters
        self.late = max(self.late, outputs.late)
        self.dead_letters += sum(len(letters) for letters in outputs.dead.values())
        for name, batch in outputs.batches.items():
            self.watermarks[name] = max(self.watermarks[name], batch.high, batch.cti)
            self.retractions += added_and_removed(batch.weight)[1]

    @property
    def counters(self) -> Counted:
        """What every operator has counted last."""
        return {**self._counters, **self._latest}

    def progress(self) -> RunProgress:
        """How far the run has come."""
        counters = self.counters
        return RunProgress(
            batches=self.batches,
            events=_events(counters),
            watermark=min(self.watermarks.values(), default=BEGINNING),
            retractions=self.retractions,
            state_rows=sum(counted["state_rows"] for counted in counters.values()),
            timestamps=self.timestamps,
            late=self.late,
            dead_letters=self.dead_letters,
        )


def _events(counters: Counted) -> int:
    """How many inserts and retracts have come: those of all shards, if these do not all get the
    same, and of a stream that several ports or runs read those of the one that has come
    farthest."""
    by_port: dict[OperatorKey, int] = {}
    for key, counted in counters.items():
        if "dead_letters" in counted:  # of Finalize, which stands at a source
            port = key._replace(shard=0)
            before, here = by_port.get(port, 0), counted["changes_in"]
            by_port[port] = max(before, here) if "copied" in counted else before + here
    most: dict[str, int] = {}
    for port, count in by_port.items():
        most[port.source] = max(most.get(port.source, 0), count)
    return sum(most.values())
