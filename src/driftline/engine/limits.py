"""The limits of the query that is being run: what its operators may make of a batch.

max_expansion   bytes that a batch may become (see `expressions.expansion`)
max_steps       steps that one attempt to match a pattern may take (see `match.search_kernel`)
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from driftline.plan.sizes import DEFAULT_EXPANSION, DEFAULT_STEPS, size_of, steps_of


@dataclass(frozen=True)
class Limits:
    """See the head of this file."""

    max_expansion: int = size_of(DEFAULT_EXPANSION)
    max_steps: int = steps_of(DEFAULT_STEPS)


DEFAULT_LIMITS = Limits()
_limits: ContextVar[Limits] = ContextVar("limits", default=DEFAULT_LIMITS)


class limited:
    """While a batch is worked off, the limits of its query."""

    def __init__(self, given: Limits) -> None:
        self.given = given

    def __enter__(self) -> None:
        self.before = _limits.set(self.given)

    def __exit__(self, *_: object) -> None:
        _limits.reset(self.before)


def limits() -> Limits:
    """The limits of the query whose batch is worked off."""
    return _limits.get()
