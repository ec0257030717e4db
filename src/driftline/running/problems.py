"""Errors that a user can put right."""

from __future__ import annotations


class Problem(Exception):
    """Something that the user can put right; the message says what."""


def one_line(text: str) -> str:
    """A message without its line breaks.

    >>> one_line("no such\\n  file")
    'no such file'
    """
    return " ".join(text.split())
