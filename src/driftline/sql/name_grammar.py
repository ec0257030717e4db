"""IDENTIFIER('name'): a name that is written as a constant text, wherever a name can stand.

SELECT IDENTIFIER('t.' || 'price') FROM IDENTIFIER('trades') AS t
=    SELECT t.price FROM trades AS t
"""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from driftline.plan.dialect import DriftlineSpark
from driftline.plan.errors import ExpressionError

_SHORTEST = 4  # IDENTIFIER, (, a text, )


def with_names(tokens: list[Any]) -> list[Any]:
    """The tokens, with those of the name in the place of every IDENTIFIER('name')."""
    found: list[Any] = []
    place = 0
    while place < len(tokens):
        end = _end(tokens, place)
        if end is None:
            found.append(tokens[place])
        else:
            is_called = end < len(tokens) and tokens[end].token_type == TokenType.L_PAREN
            found += _name(tokens[place:end], is_called)
        place = place + 1 if end is None else end
    return found


def _end(tokens: list[Any], place: int) -> int | None:
    """The place after the clause that begins here; None if none does."""
    first = tokens[place]
    if first.token_type != TokenType.VAR or first.text.upper() != "IDENTIFIER":
        return None
    if place + 1 == len(tokens) or tokens[place + 1].token_type != TokenType.L_PAREN:
        return None
    for end in range(place + 2, len(tokens)):
        if tokens[end].token_type == TokenType.R_PAREN:
            return end + 1
    return None


def _name(clause: list[Any], is_called: bool) -> list[Any]:
    """The tokens of the name that 'a' || 'b' …, in the brackets of a clause, says."""
    inside = clause[2:-1]
    if len(clause) < _SHORTEST or any(
        each.token_type != (TokenType.DPIPE if place % 2 else TokenType.STRING)
        for place, each in enumerate(inside)
    ):
        _refuse(clause[0], "IDENTIFIER takes the constant text of a name: IDENTIFIER('t.price')")
    text = "".join(each.text for each in inside[::2])
    try:
        parts = DriftlineSpark().tokenize(text)
    except TokenError:
        parts = []
    if not len(parts) % 2 or any(
        each.token_type == TokenType.STRING or (each.token_type == TokenType.DOT) != bool(place % 2)
        for place, each in enumerate(parts)
    ):
        _refuse(clause[0], f"{text!r} is not a name: what is not a word stands in backquotes")
    first, last = clause[0], clause[-1]
    return [
        Token(
            _kind(each, is_called and each is parts[-1]),
            each.text,
            line=first.line,
            col=last.col if each is parts[-1] else first.col,
            start=first.start,
            end=last.end if each is parts[-1] else first.end,
        )
        for each in parts
    ]


def _kind(part: Any, is_called: bool) -> Any:
    """The kind of a part of a name: that of a function is a word, any other could be quoted."""
    if part.token_type == TokenType.DOT:
        return TokenType.DOT
    return TokenType.VAR if is_called else TokenType.IDENTIFIER


def _refuse(token: Any, message: str) -> NoReturn:
    column = max(1, token.col - (token.end - token.start))
    raise ExpressionError(message, token.line, column)
