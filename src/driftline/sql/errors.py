"""Errors of a script: what is wrong, and where in the text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import combining, east_asian_width

from sqlglot import exp

from driftline.plan.dialect import deepest
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.used import place_of

FIRST_PLACE = (1, 1)
TOO_DEEP = "the script is nested too deeply: take parts out, into views"


class SqlError(PlanError):
    """A script that cannot be run, with the line and the column (from 1) where that shows.

    >>> error = SqlError("there is no column pric", 1, 8, "SELECT pric FROM trades")
    >>> print(error)
    there is no column pric (line 1, column 8)
    >>> print(error.pointed())
    SELECT pric FROM trades
           ^
    """

    def __init__(self, message: str, line: int, column: int, text: str = "") -> None:
        super().__init__(f"{message} (line {line}, column {column})")
        self.message = message
        self.line = line
        self.column = column
        self.text = text

    def pointed(self) -> str:
        """The line of the script, and below it a caret under the place; of a long line the part
        around it."""
        lines = self.text.split("\n")
        if not 1 <= self.line <= len(lines):
            return ""
        line = lines[self.line - 1].rstrip("\r")
        before = line[: self.column - 1].ljust(self.column - 1)
        after = line[self.column - 1 :]
        if len(line) > _WIDEST:
            before = f"… {before[-_AROUND:]}" if len(before) > _AROUND else before
            after = f"{after[:_AROUND]} …" if len(after) > _AROUND else after
        return f"{before.rstrip() if not after else before}{after}\n{''.join(map(_blank, before))}^"


_WIDEST, _AROUND = 200, 60


def _blank(character: str) -> str:
    """White space as wide as a character is drawn."""
    if character == "\t":
        return "\t"
    if combining(character):
        return ""
    return "  " if east_asian_width(character) in "WF" else " "


@contextmanager
def at(node: exp.Expr) -> Iterator[None]:
    """Gives errors without a place that of a node."""
    try:
        yield
    except ExpressionError as error:
        raise error.at(*place_of(node)) from None
    except PlanError as error:
        raise ExpressionError(str(error), *place_of(node)) from None
    except RecursionError:
        raise ExpressionError(TOO_DEEP, *place_of(node)) from None


@contextmanager
def in_text(text: str) -> Iterator[None]:
    """Turns errors into errors of a script, with its text."""
    try:
        yield
    except SqlError:
        raise
    except ExpressionError as error:
        line, column = (error.line or 1, error.column or 1)
        raise SqlError(error.message, line, column, text) from None
    except PlanError as error:
        raise SqlError(str(error), *FIRST_PLACE, text) from None
    except RecursionError:
        raise SqlError(TOO_DEEP, *deepest(text), text) from None


def refuse(message: str, node: exp.Expr) -> ExpressionError:
    """The error for a part of a script, to be raised."""
    return ExpressionError(message, *place_of(node))
