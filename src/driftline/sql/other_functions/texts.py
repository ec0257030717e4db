"""Texts like a pattern."""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import PAIR, called, put

_NO_GROUP = r"\\.|\[\^?\]?[^\]]*\]|\(\?"
"""Parts of a pattern in which a bracket is no group."""


def group_of_match(node: exp.Bracket) -> exp.Expr | None:
    """(regexp_match(text, pattern))[n]: the group n of the first match, counted from 1, or null."""
    call, place = node.this.unnest(), node.expressions[0]
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() != "regexp_match":
        return None
    given = [each.this for each in (*call.expressions[1:], place) if isinstance(each, exp.Literal)]
    if len(call.expressions) != PAIR or len(given) != PAIR or not _has_all_groups(given[0]):
        raise refuse("regexp_match is written regexp_extract(text, pattern, n) here", node)
    text, pattern = (each.copy() for each in call.expressions)
    number = int(given[1])
    if number == 1 and "(" not in re.sub(_NO_GROUP, "", given[0]):
        number = 0  # without groups it is the whole match
    group = called("regexp_extract", text, pattern, exp.Literal.number(number))
    uses(call, "this", "expressions")
    found = called("rlike", text.copy(), pattern.copy())
    return exp.Case(ifs=[exp.If(this=found, true=group)])


def _has_all_groups(pattern: str) -> bool:
    """Whether every match has all groups: none is optional, or in one of several alternatives."""
    plain = re.sub(_NO_GROUP, lambda found: "<" if found[0] == "(?" else "", pattern)
    levels = [(False, [False], [False])]  # is it a group; are there some in it, and alternatives
    for place, sign in enumerate(plain):
        if sign in "(<":
            for _, has_groups, _ in levels:
                has_groups[0] |= sign == "("
            levels.append((sign == "(", [False], [False]))
        elif sign == "|":
            levels[-1][2][0] = True
        elif sign == ")" and len(levels) > 1:
            is_group, (has_groups_inside,), (alternatives,) = levels.pop()
            is_optional = re.match(r"[?*]|\{0", plain[place + 1 :]) is not None
            if (is_optional and (is_group or has_groups_inside)) or (
                alternatives and has_groups_inside
            ):
                return False
    return not (levels[0][1][0] and levels[0][2][0])


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
