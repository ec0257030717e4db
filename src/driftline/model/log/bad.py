"""Events that cannot be taken, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BadEvent:
    """One line of a log that is no event, or an event that its stream may not have.

    >>> print(BadEvent("events.jsonl", 17, "an insert needs vs < ve, but vs = 5, ve = 5", b"{}"))
    events.jsonl:17: an insert needs vs < ve, but vs = 5, ve = 5
    """

    source: str
    line: int
    reason: str
    text: bytes

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


class BadInput(ValueError):
    """The log holds an event that cannot be taken."""

    def __init__(self, event: BadEvent) -> None:
        super().__init__(str(event))
        self.event = event


class UnreadableLog(OSError):
    """A log that cannot be opened or read at all."""


class Unsayable(ValueError):
    """A value that an event log cannot hold."""
