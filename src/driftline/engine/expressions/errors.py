"""The error messages of expressions that have no value for some row."""

from __future__ import annotations


class EvaluationError(ValueError):
    """An expression that fails on the data. `condition` is Spark's name of the error.

    >>> str(EvaluationError("DIVIDE_BY_ZERO", "division by zero; use try_divide to get NULL"))
    '[DIVIDE_BY_ZERO] division by zero; use try_divide to get NULL'
    """

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition
        self.message = message
