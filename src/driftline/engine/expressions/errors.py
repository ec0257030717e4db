"""The error messages of expressions that have no value for some row."""

from __future__ import annotations

from collections.abc import Callable


class EvaluationError(ValueError):
    """An expression that fails on the data. `condition` is Spark's name of the error; `place` finds
    out where it is, when its text is asked for.

    >>> str(EvaluationError("DIVIDE_BY_ZERO", "division by zero; use try_divide to get NULL"))
    '[DIVIDE_BY_ZERO] division by zero; use try_divide to get NULL'
    """

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition
        self.message = message
        self.place: Callable[[], str] | None = None

    def __str__(self) -> str:
        if self.place is not None:
            place, self.place = self.place, None
            self.args = (f"{self.args[0]} ({place()})",)
        return super().__str__()
