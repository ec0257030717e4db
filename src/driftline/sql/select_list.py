"""The select list: its items, their names, and what these names stand for elsewhere in a SELECT.

A name that the list gives is known to GROUP BY, HAVING and ORDER BY, and to later items of the
list, as in Spark; a column of the input goes before such a name, except in ORDER BY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.scope import OWN_COLUMN, Scope, is_star, names_in_star, replaced, starred
from driftline.sql.strict_grammar import TEXT

_OF_NAME = 2  # parts of name.field


@dataclass(frozen=True)
class SelectItem:
    """One item of a select list: its name, and either how it was written or its columns."""

    name: str
    node: exp.Expr
    star: tuple[nodes.Named, ...] = ()

    @property
    def alias(self) -> str | None:
        """The name that AS gives it."""
        return self.node.alias if isinstance(self.node, exp.Alias) else None


class SelectList:
    """The items of a SELECT over the rows of a scope."""

    def __init__(self, scope: Scope, listed: Sequence[exp.Expr], select: exp.Select) -> None:
        self.scope = scope
        self.items = [_item(scope, node) for node in listed]
        if not self.items:
            raise refuse("the select list is empty: say which columns, or *", select)
        self.aliases = {
            item.name.lower(): item.node
            for item in self.items
            if item.alias is not None and not item.star
        } | {
            given.alias.lower(): given
            for item in self.items
            if item.star
            for given in names_in_star(item.node)
        }

    def __iter__(self) -> Iterator[SelectItem]:
        return iter(self.items)

    @property
    def is_star(self) -> bool:
        """Whether it is a plain *: the rows as they are."""
        return (
            len(self.items) == 1
            and isinstance(self.items[0].node, exp.Star)
            and not any(self.items[0].node.args.values())
            and self.scope.is_plain
        )

    def item_at(self, node: exp.Expr) -> SelectItem | None:
        """The item that a number in GROUP BY means."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        uses(node, "this")
        place = int(node.this) if node.this.isdigit() else 0
        if not 1 <= place <= len(self.items):
            raise refuse(
                f"there is no item {node.this} in the select list: it has {len(self.items)}", node
            )
        return self.items[place - 1]

    def place_of(self, node: exp.Expr) -> int | None:
        """The place of the one item that a name in ORDER BY is the name of, if there is one: it
        goes before columns of the input, of which several may have that name."""
        if not isinstance(node, exp.Column) or len(node.parts) > 1:
            return None
        if any(item.star for item in self.items):
            return None
        names = [
            item.name.lower() if item.alias or isinstance(item.node, exp.Column) else ""
            for item in self.items
        ]
        wanted = node.name.lower()
        return names.index(wanted) if names.count(wanted) == 1 else None

    def written_out(self, node: exp.Expr, first: bool = False) -> exp.Expr:
        """An expression with what names of the list stand for; `first`: before columns."""

        def meaning(column: exp.Column) -> exp.Expr | None:
            name = column.name.lower()
            whole = (
                self.aliases.get(column.table.lower()) if len(column.parts) == _OF_NAME else None
            )
            if whole is not None and not self.scope.has(column):  # a field of what has a name
                return exp.Dot(
                    this=exp.Paren(this=whole.this.copy()), expression=column.this.copy()
                )
            if column.table or name not in self.aliases or (not first and self.scope.has(column)):
                return None
            return exp.Paren(this=self.aliases[name].this.copy())

        for _ in range(len(self.aliases)):  # a name may be given with another one
            changed = replaced(node, meaning)
            if changed == node:
                break
            node, first = changed, False
        return node


def _item(scope: Scope, node: exp.Expr) -> SelectItem:
    if is_star(node):
        return SelectItem("*", node, tuple(starred(scope, node)))
    if isinstance(node, exp.Aliases):
        raise refuse("an item of the select list has one name", node)
    if isinstance(node, exp.Alias):
        uses(node, "this", "alias")
    return SelectItem(_name_of(node), node)


def _name_of(node: exp.Expr) -> str:
    """The name of an item: the given one, the column's, or else how it is written."""
    if isinstance(node, exp.Alias):
        return node.alias
    if isinstance(node, (exp.Column, exp.Dot)) and not node.name.startswith(OWN_COLUMN):
        name = node.name or (node.expression.name if isinstance(node, exp.Dot) else "")
        if name:
            return name
    text: str = node.meta.get(TEXT) or node.sql("spark")
    return " ".join(text.split())
