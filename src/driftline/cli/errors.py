"""What becomes of errors: one clear line, exit code 2, and a stack trace only on request."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

EXIT_BAD = 2
EXIT_INTERRUPTED = 130


class Problem(Exception):
    """Something that the user can put right; the message says what."""


def guarded(command: Callable[[], object], *, debug: bool) -> int:
    """Runs a command and gives the exit code, having said on stderr what went wrong."""
    try:
        result = command()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return 0
    except KeyboardInterrupt:
        if debug:
            raise
        return EXIT_INTERRUPTED
    except Exception as error:
        if debug:
            raise
        print(_one_line(error), file=sys.stderr)
        return EXIT_BAD
    return result if isinstance(result, int) else 0


def _forget_stdout() -> None:
    """The reader of our output has left (as head does): nothing more is to be written to it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(error: Exception) -> str:
    from driftline.model.log.bad import BadInput, UnreadableLog

    if isinstance(error, (BadInput, UnreadableLog)):
        return _flat(str(error))
    if isinstance(error, Problem):
        return f"driftline: {_flat(str(error))}"
    if isinstance(error, OSError) and error.strerror:
        return f"driftline: {error.filename or ''}: {error.strerror}".replace(": : ", ": ")
    if isinstance(error, MemoryError):
        return "driftline: not enough memory for this log"
    kind = type(error).__name__
    return f"driftline: unexpected {kind}: {_flat(str(error))} (--debug shows where)"


def _flat(text: str) -> str:
    return " ".join(text.split())
