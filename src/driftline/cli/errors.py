"""Errors of a command: one clear line, exit code 2, and a stack trace only on request."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from driftline.running.environment import concealed
from driftline.running.problems import Problem, one_line

P = ParamSpec("P")
T = TypeVar("T")

EXIT_FAILED = 1
EXIT_BAD = 2
EXIT_INTERRUPTED = 130
_NO_MEMORY = "driftline: there is not enough memory"


class Terminated(KeyboardInterrupt):
    """SIGTERM has come, with which a service is stopped."""


class ReaderLeft(Exception):
    """The reader of our output is gone, as `head` is after its last line."""


def heeding_the_reader(command: Callable[P, T]) -> Callable[P, T]:
    """A command that ends quietly when its reader leaves (Typer would make it a failure)."""

    @wraps(command)
    def guarded_command(*args: P.args, **options: P.kwargs) -> T:
        try:
            return command(*args, **options)
        except BrokenPipeError:
            raise ReaderLeft from None

    return guarded_command


class BadScript(Exception):
    """A script that cannot be run: where, why, and the place in its text."""

    def __init__(self, path: str, line: int, column: int, message: str, pointed: str) -> None:
        super().__init__(f"{path}:{line}:{column}: {message}")
        self.pointed = pointed


def guarded(command: Callable[[], object], *, debug: bool) -> int:
    """Runs a command, prints on stderr what went wrong, and returns the exit code."""
    try:
        result = command()
        sys.stdout.flush()
    except (BrokenPipeError, ReaderLeft):
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        if debug:
            raise
        return EXIT_INTERRUPTED
    except Exception as error:
        if debug:
            print(concealed(traceback.format_exc()), end="", file=sys.stderr)
            return EXIT_FAILED
        try:
            shown = _shown(error)
        except (MemoryError, ImportError, OSError):  # there is not even enough to tell more
            shown = _NO_MEMORY
        print(concealed(shown), file=sys.stderr)
        return EXIT_BAD
    return result if isinstance(result, int) else 0


def _forget_stdout() -> None:
    """The reader of our output has left (as head does): nothing more is to be written to it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shown(error: Exception) -> str:
    from driftline.event_log.apart import SameFile
    from driftline.event_log.bad import BadInput, UnreadableLog

    if isinstance(error, (BadInput, UnreadableLog)):
        return one_line(str(error))
    if isinstance(error, BadScript):
        return "\n".join(filter(None, (one_line(str(error)), error.pointed)))
    if isinstance(error, (Problem, SameFile)):
        return f"driftline: {one_line(str(error))}"
    if isinstance(error, OSError) and error.strerror:
        shown = f"driftline: {error.filename or ''}: {error.strerror}".replace(": : ", ": ")
        return one_line(shown)
    if isinstance(error, MemoryError) or str(error) == "can't start new thread":
        return _NO_MEMORY
    if is_about_the_query(error):
        return f"driftline: {one_line(str(error))}"
    kind = type(error).__name__
    return f"driftline: unexpected {kind}: {one_line(str(error))} (--debug shows where)"


def is_about_the_query(error: Exception) -> bool:
    """Whether a query or its data caused an error, rather than a fault of the program."""
    from driftline.event_log.bad import Unsayable
    from driftline.plan.errors import ExpressionError, PlanError

    # An OverflowError is a sum, or a time of a window, that 64 bits do not hold.
    if isinstance(error, (ExpressionError, PlanError, Unsayable, OverflowError)):
        return True
    from driftline.engine.expressions.errors import EvaluationError

    return isinstance(error, EvaluationError)
