"""Errors that a user can put right."""

from __future__ import annotations


class Problem(Exception):
    """Something that the user can put right; the message says what."""


def one_line(text: str) -> str:
    """A message without its line breaks, and not too long.

    >>> one_line("no such\\n  file")
    'no such file'
    """
    from driftline.plan.errors import one_line as shortened  # loads much, for a message

    return shortened(" ".join(text.split()))
