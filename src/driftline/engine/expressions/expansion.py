"""A limit to what a batch may become: expanding is refused before the memory for it is taken.

Windows that overlap a million times, a sequence of a billion numbers, a text repeated without end
or a join of everything with everything can make more of a few rows than any memory holds. Whatever
makes much of little estimates first how many bytes that is, and `check` refuses what is above the
limit of the query that is being run: `max_expansion`, for each operator or function and each batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.limits import limits
from driftline.plan.sizes import next_size, shown

TOO_LARGE = "EXPANSION_TOO_LARGE"
LONGEST_COLUMN = (1 << 31) - 1
"""A column of texts or lists has at most so many bytes or items in one batch."""


def check(what: str, nbytes: float, advice: str) -> None:
    """An error if it is more than the limit. `what` makes it, such as "HOP makes 3,000 rows of 3";
    `advice`: what to change, apart from the limit itself."""
    most = limits().max_expansion
    if nbytes > most:
        raise too_large(
            f"{what}, about {shown(int(nbytes))}, and max_expansion is {shown(most)}: {advice}, or "
            f"SET max_expansion = '{next_size(nbytes)}'"
        )


def check_texts(what: str, nbytes: float) -> None:
    """An error if texts are more than the limit, or than a column can hold. They are there twice
    while they are made: as they are written, and as a column."""
    check(f"{what} makes strings", 2 * nbytes, "make shorter ones")
    if nbytes > LONGEST_COLUMN:
        raise full_column(what)


def full_column(what: str) -> EvaluationError:
    """The error for texts that no column can hold, to be raised."""
    return too_large(
        f"{what} makes strings of more than {shown(LONGEST_COLUMN)} in one batch, which is what a "
        "column holds: make shorter ones, or smaller batches (--batch)"
    )


class TooLarge(EvaluationError):
    """What would become too large; of an operator that `expands` a smaller batch may not be."""

    def __init__(self, message: str) -> None:
        super().__init__(TOO_LARGE, message)


def too_large(message: str) -> EvaluationError:
    """The error, to be raised."""
    return TooLarge(message)


@contextmanager
def refused_at_once() -> Iterator[None]:
    """Where a state is being changed, nothing can be tried again with a smaller batch."""
    try:
        yield
    except TooLarge as error:
        raise EvaluationError(error.condition, error.message) from None


def row_bytes(payload: Any) -> float:
    """About how many bytes a row has, with its lifetime."""
    return 24 + (payload.nbytes / len(payload) if len(payload) else 0)


def total(counts: Any) -> int:
    """A sum of numbers from 0 that does not overflow."""
    return int(np.sum(counts, dtype=np.float64)) if len(counts) else 0
