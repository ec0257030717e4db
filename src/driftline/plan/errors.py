"""What is said when an expression cannot be understood."""

from __future__ import annotations


class ExpressionError(ValueError):
    """An expression that is not valid, with the place in the text where that is known.

    >>> str(ExpressionError("there is no column pric", line=2, column=8))
    'there is no column pric (line 2, column 8)'
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        place = f" (line {line}, column {column})" if line is not None else ""
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
