"""Records and events that are refused, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BadEvent:
    """A record that cannot be read, or an event that its stream may not have: the file in which it
    stood (or what was given instead), the line, why, its text, and which value of which column.

    >>> print(BadEvent("events.jsonl", 17, "an insert needs vs < ve, but vs = 5, ve = 5", b"{}"))
    events.jsonl:17: an insert needs vs < ve, but vs = 5, ve = 5
    """

    source: str
    line: int
    reason: str
    text: bytes
    column: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a row cannot be read: the column, its value as a text (None: null), and the reason."""

    column: str | None
    value: str | None
    reason: str

    def at(self, source: str, line: int, text: bytes) -> BadEvent:
        """The bad record, given where it stood."""
        return BadEvent(source, line, self.reason, text, self.column, self.value)


Misfits = dict[int, Misfit]
"""The rows of a table that cannot be read, by their places."""


class BadInput(ValueError):
    """The input holds a record that cannot be taken."""

    def __init__(self, event: BadEvent) -> None:
        super().__init__(str(event))
        self.event = event


class UnreadableLog(OSError):
    """A log that cannot be opened or read at all."""


class Unsayable(ValueError):
    """A value that an event log cannot hold."""
