"""Dead letters of a run: counted, the first unreadable records named, and all collected in a file,
if one is given."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from driftline.cli.resumed import LETTERS
from driftline.event_log.bad import BadEvent, BadInput
from driftline.running.environment import concealed
from driftline.running.problems import one_line

if TYPE_CHECKING:
    from driftline.cli.inputs import Inputs
    from driftline.cli.resumed import Written
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.engine.step_outputs import Outputs
    from driftline.plan.nodes import Source


NAMED = 3
"""How many of the records that could not be read are named at the end."""


class Letters:
    """Dead letters, written as they come. A run that goes on from a checkpoint goes on with the
    file (`so_far`); or, where the checkpoint keeps what was emitted, it receives the dead letters
    of earlier runs again, and begins the file anew. `strict`: the first one ends the run."""

    def __init__(
        self,
        inputs: Inputs,
        sources: dict[str, Source],
        path: str | None,
        *,
        strict: bool = False,
        so_far: Written | None = None,
    ) -> None:
        self.so_far = so_far
        self.inputs, self.sources, self.path, self.strict = inputs, sources, path, strict
        self.counts: dict[str, int] = {} if so_far is None else so_far.letters
        self.unread = 0 if so_far is None else so_far.unread
        self.named: list[BadEvent] = []  # the first that could not be read
        self.file: IO[bytes] | None = None
        self._count_unread(inputs.bad)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self._write({})  # the file is there also if there are none
        if self.file is not None:
            self.file.close()

    def add(self, outputs: Outputs) -> None:
        """Add the dead letters of one step of a run."""
        for name, dead in outputs.dead.items():
            self._count_unread(dead.bad)
            if self.so_far is not None:
                self.so_far.unread += len(dead.bad)
            if len(dead.kind):
                self.counts[name] = self.counts.get(name, 0) + len(dead.kind)
                if self.strict:
                    raise BadInput(next(self._explained(name, dead)))
        self._write(outputs.dead)

    def _count_unread(self, bad: Sequence[BadEvent]) -> None:
        if bad and self.strict:
            raise BadInput(bad[0])
        self.unread += len(bad)
        self.named += bad[: NAMED - len(self.named)]

    def report(self) -> None:
        """Print how many there were, and where they are."""
        where = (
            f"in {self.path}"
            if self.path is not None
            else "left out (--dead-letters FILE collects them, with the reasons)"
        )
        for name, count in self.counts.items():
            what = f"{count:,} event{'s' if count > 1 else ''} of {name}"
            invalid = "are invalid" if count > 1 else "is invalid"
            print(f"driftline: {what} came too late or {invalid}: {where}", file=sys.stderr)
        if self.unread:
            what = f"{self.unread:,} record{'s' if self.unread > 1 else ''}"
            print(f"driftline: {what} could not be read: {where}", file=sys.stderr)
            for bad in self.named:
                print(f"driftline: {one_line(concealed(str(bad)))}", file=sys.stderr)
            if self.unread > len(self.named):
                print(f"driftline: and {self.unread - len(self.named):,} more", file=sys.stderr)

    def _write(self, dead: Mapping[str, DeadLetters]) -> None:
        if self.path is None:
            return
        from driftline.event_log.deadletters import dead_letter

        if self.file is None:  # not earlier: a run that cannot begin leaves the file alone
            if self.so_far is None:
                self.file = Path(self.path).open("wb")  # noqa: SIM115 - it is closed on leaving
            else:
                self.file = self.so_far.file(LETTERS)
            if self.so_far is None or not self.so_far.batches:
                self.file.writelines(map(dead_letter, self.inputs.bad))
        for name, letters in dead.items():
            self.file.writelines(map(dead_letter, letters.bad))
            self.file.writelines(map(dead_letter, self._explained(name, letters)))
        self.file.flush()

    def _explained(self, name: str, dead: DeadLetters) -> Iterator[BadEvent]:
        from driftline.event_log.writer import event_lines
        from driftline.running.letters import letter_events

        stamps = self.sources[name].timestamps
        lines = event_lines(letter_events(name, stamps, dead)).to_pylist()
        places = [self.inputs.places[name].of(int(number)) for number in dead.number]
        reasons = dead.reasons(stamps)[len(dead.bad) :]
        for (file, line), reason, event in zip(places, reasons, lines, strict=True):
            yield BadEvent(file, line, reason, event.strip().encode())
