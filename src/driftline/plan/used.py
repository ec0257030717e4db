"""Every part of a syntax tree is used, or refused.

The parser reads more than has a meaning here, and what is read and then forgotten gives a wrong
answer without a word. So every handler of a node declares which of its arguments it gives a meaning
to:

    uses(node, "this", "expression")    refuses every other argument that is set

and a tree that was marked before (`mark`) is searched afterwards for nodes that nothing handled
(`refuse_unused`). A new feature that forgets `uses` is refused by the second, one that forgets an
argument by the first. A copy of a node is the same node to both.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from driftline.plan.errors import ExpressionError

_MARK = "used"
_LONGEST = 40
_LEAVES: dict[type, tuple[str, ...]] = {exp.Identifier: ("this", "quoted")}
"""Nodes that are used together with the node above them."""
_WRITTEN = {
    "alias": "a name (AS …)",
    "connect": "CONNECT BY",
    "db": "a name of several parts",
    "exclude": "EXCLUDE",
    "materialized": "MATERIALIZED",
    "null_order": "NULLS FIRST or LAST",
    "on": "ON",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "symmetric": "SYMMETRIC or ASYMMETRIC",
    "totals": "WITH TOTALS",
    "version": "AS OF",
    "when": "AT",
    "with_": "WITH",
    "with_fill": "WITH FILL",
}
"""How an argument is written in SQL, where its name is another."""


class _Mark:
    """Whether a node was used, in one for all copies of it."""

    def __init__(self) -> None:
        self.used = False

    def __deepcopy__(self, memo: object) -> _Mark:
        return self


def place_of(node: exp.Expr) -> tuple[int | None, int | None]:
    """Line and column where a node starts in the text, as far as the parser has kept them."""
    places = [part.meta for part in node.walk() if "line" in part.meta]
    if not places:
        return None, None
    meta = min(places, key=lambda place: place["start"])
    return meta["line"], meta["col"] - (meta["end"] - meta["start"])


def uses(node: exp.Expr, *arguments: str) -> None:
    """Says that a node is used, and which of its arguments are; any other that is set is refused.

    >>> uses(exp.column("a", "t"), "this", "table")
    >>> uses(exp.column("a", "t"), "this")
    Traceback (most recent call last):
    driftline.plan.errors.ExpressionError: TABLE is not supported here: leave it out
    """
    mark = node.meta.get(_MARK)
    if mark is not None:
        mark.used = True
    for key, value in node.args.items():
        if value and key not in arguments:
            written = _WRITTEN.get(key) or key.strip("_").replace("_", " ").upper()
            raise _refused(f"{written} is not supported here: leave it out", value, node)


def uses_all(tree: exp.Expr) -> None:
    """Says that a node and everything below it is used, as what it is written out as."""
    for node in tree.walk():
        uses(node, *node.args)


def mark(tree: exp.Expr) -> None:
    """Prepares a tree for `refuse_unused`."""
    for node in tree.walk():
        if type(node) not in _LEAVES:
            node.meta.setdefault(_MARK, _Mark())


def refuse_unused(tree: exp.Expr) -> None:
    """An error for the first node of a marked tree that nothing has used."""
    for node in tree.walk():
        leaf = _LEAVES.get(type(node))
        if leaf is not None:
            uses(node, *leaf)
            continue
        found = node.meta.get(_MARK)
        if found is not None and not found.used:
            text = " ".join(node.sql("spark").split())
            short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
            raise _refused(f"{short} has no meaning here: leave it out", node, node)


def _refused(message: str, value: Any, node: exp.Expr) -> ExpressionError:
    """The error at the place of a value, or else of what is above it."""
    first = value[0] if isinstance(value, list) else value
    above: exp.Expr | None = first if isinstance(first, exp.Expr) else node
    while above is not None:
        place = place_of(above)
        if place[0] is not None:
            return ExpressionError(message, *place)
        above = above.parent
    return ExpressionError(message)
