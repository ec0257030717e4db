"""Parts of the syntax tree that calls are written with."""

from __future__ import annotations

from sqlglot import exp

PAIR, TRIPLE = 2, 3
ITEM = "$item"
"""The name of an item of a list in a function."""


def put(node: exp.Expr, new: exp.Expr) -> None:
    """An expression in the place of another, with its text and place."""
    for key, value in node.meta.items():
        new.meta.setdefault(key, value)
    node.replace(new)


def called(name: str, *args: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(args))


def number(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def name_of(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def function(body: exp.Expr, *names: str) -> exp.Lambda:
    return exp.Lambda(
        this=body, expressions=[exp.to_identifier(name, quoted=True) for name in names]
    )
