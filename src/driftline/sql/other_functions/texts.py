"""JSON, and texts like a pattern."""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import PAIR, called, put

_NO_VALUE = "^(OBJECT|ARRAY)"


def json_value(node: exp.Anonymous) -> exp.Expr | None:
    """json_value(text, path): a text or number at a path, and null where there is a list or an
    object, which get_json_object gives, too."""
    if len(node.expressions) != PAIR:
        return None
    text, path = (each.copy() for each in node.expressions)
    kind = called("schema_of_variant", _at(node))
    return exp.Case(
        ifs=[exp.If(this=called("rlike", kind, exp.Literal.string(_NO_VALUE)), true=exp.Null())],
        default=called("get_json_object", text, path),
    )


def has_json(node: exp.Anonymous) -> exp.Expr | None:
    """json_exists(text, path): whether there is something at a path, if only null."""
    if len(node.expressions) != PAIR:
        return None
    return exp.paren(exp.not_(exp.Is(this=_at(node), expression=exp.Null())))


def _at(node: exp.Anonymous) -> exp.Expr:
    text, path = (each.copy() for each in node.expressions)
    whole = called("try_parse_json", text)
    return called("try_variant_get", whole, path, exp.Literal.string("variant"))


def similar(node: exp.SimilarTo) -> None:
    """x SIMILAR TO 'pattern': the whole text is like a pattern with % and _, and with the |, *, +,
    ?, {…}, (…) and […] of rlike."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or "\\" in pattern.this:
        raise refuse("SIMILAR TO takes a text without \\; another pattern is one of rlike", node)
    uses(node, "this", "expression")
    signs = {"%": ".*", "_": ".", ".": r"\.", "^": r"\^", "$": r"\$"}
    parts = re.findall(r"(\[[^\]]*\])|(.)", pattern.this, re.DOTALL)
    inside = "".join(listed or signs.get(sign, sign) for listed, sign in parts)
    whole = exp.Literal.string(f"(?s)^(?:{inside})$")
    put(node, called("rlike", node.this.copy(), whole))
