"""Errors in plans and expressions."""

from __future__ import annotations

LONGEST = 600
"""So many characters of a message are shown; what is cut out is in its middle."""


def one_line(message: str) -> str:
    r"""A message as a line that people can read, whatever the values are that it names.

    >>> one_line("a\n  b"), len(one_line("x" * 5_000))
    ('a b', 600)
    """
    flat = " ".join(message.split()) if any(mark in message for mark in "\n\r\t\0") else message
    if len(flat) <= LONGEST:
        return flat
    half = (LONGEST - 3) // 2
    return f"{flat[: LONGEST - half - 3]} … {flat[-half:]}"


class ExpressionError(ValueError):
    """An expression that is not valid, with the place in the text where that is known.

    >>> str(ExpressionError("there is no column pric", line=2, column=8))
    'there is no column pric (line 2, column 8)'
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        place = f" (line {line}, column {column})" if line is not None else ""
        message = one_line(message)
        super().__init__(message + place)
        self.message = message
        self.line = line
        self.column = column

    def at(self, line: int | None, column: int | None) -> ExpressionError:
        """The same error with its place, unless it has one already."""
        if self.line is not None or line is None:
            return self
        return ExpressionError(self.message, line, column)


class PlanError(ValueError):
    """A query that cannot be run, and why."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))
