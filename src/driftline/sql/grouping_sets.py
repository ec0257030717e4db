"""GROUPING SETS, ROLLUP and CUBE: several groupings of the same rows.

    the answer is that of GROUP BY each of the sets, all of them one after the other (UNION ALL),
    with null in the place of every key that a set leaves out

    ROLLUP (a, b)  =  GROUPING SETS ((a, b), (a), ())
    CUBE (a, b)    =  GROUPING SETS ((a, b), (a), (b), ())

Beside each other in GROUP BY they stand for every combination of their sets.
"""

from __future__ import annotations

from itertools import combinations, product

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse

Keys = tuple[exp.Expr, ...]

MOST_SETS = 256
"""A CUBE of more keys than give so many sets is a slip, or asks for too much."""

_SEVERAL = (exp.Rollup, exp.Cube, exp.GroupingSets)


def grouping_sets(group: exp.Group) -> tuple[Keys, list[Keys]] | None:
    """All keys of a GROUP BY as they are written, and its sets of them; None: it has one set."""
    parts = list(group.expressions)
    after = [
        each for key in ("rollup", "cube", "grouping_sets") for each in group.args.get(key, ())
    ]
    if after:  # GROUP BY a, b WITH ROLLUP, GROUP BY a, b GROUPING SETS (…)
        uses(after[0], "expressions")
        whole = after[0].copy()
        if not whole.expressions:
            whole.set("expressions", [each.copy() for each in parts])
        if len(after) > 1 or any(isinstance(each, _SEVERAL) for each in parts):
            raise refuse("GROUP BY takes one of GROUPING SETS, ROLLUP and CUBE after it", group)
        return _limited(_flat(parts), _sets(whole), group)
    if not any(isinstance(each, _SEVERAL) for each in parts):
        return None
    count = 1
    for each in parts:
        count *= _count(each)
    if count > MOST_SETS:
        raise _too_many(group)
    combined = [tuple(key for keys in each for key in keys) for each in product(*map(_sets, parts))]
    return _limited(_flat(parts), combined, group)


def _limited(keys: Keys, sets: list[Keys], group: exp.Group) -> tuple[Keys, list[Keys]]:
    if len(sets) > MOST_SETS:
        raise _too_many(group)
    return keys, sets


def _too_many(group: exp.Group) -> Exception:
    return refuse(f"these are more than {MOST_SETS} grouping sets: name those you want", group)


def _count(node: exp.Expr) -> int:
    """How many sets a part of GROUP BY stands for."""
    if isinstance(node, exp.Cube):
        return 1 << len(node.expressions)
    if isinstance(node, exp.Rollup):
        return len(node.expressions) + 1
    if isinstance(node, exp.GroupingSets):
        return sum(map(_count, node.expressions))
    return 1


def _sets(node: exp.Expr) -> list[Keys]:
    if _count(node) > MOST_SETS:
        return [()] * (MOST_SETS + 1)
    if isinstance(node, exp.GroupingSets):
        return [keys for each in node.expressions for keys in _sets(each)]
    if isinstance(node, exp.Rollup):
        parts = node.expressions
        return [_flat(parts[:size]) for size in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = node.expressions
        sizes = range(len(parts), -1, -1)
        return [_flat(list(some)) for size in sizes for some in combinations(parts, size)]
    return [_flat([node])]


def _flat(parts: list[exp.Expr]) -> Keys:
    """The keys of parts, which may be in brackets."""
    found: list[exp.Expr] = []
    for each in parts:
        if isinstance(each, (exp.Tuple, *_SEVERAL)):
            uses(each, "expressions")
            found += _flat(each.expressions)
        elif isinstance(each, exp.Paren):
            uses(each, "this")
            found += _flat([each.this])
        else:
            found.append(each)
    return tuple(found)
