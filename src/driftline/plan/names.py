"""Columns by the names they are written with.

Several columns of a query may have one name, as long as nothing asks for it: inside a plan each is
called by its place, too (`$twice 0 k`), and in an answer by a number (`k`, `k_2`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Column
from driftline.plan.types import Field, Schema

_TWICE = "$twice "


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of which each is there once, inside a plan.

    >>> told_apart(["k", "x", "K"])
    ['$twice 0 k', 'x', '$twice 2 K']
    """
    times = Counter(name.lower() for name in names)
    return [
        f"{_TWICE}{place} {name}" if times[name.lower()] > 1 else name
        for place, name in enumerate(names)
    ]


def shown(names: Sequence[str]) -> list[str]:
    """Names of which each is there once, in an answer.

    >>> shown(["$twice 0 k", "k_2", "$twice 2 K"])
    ['k', 'k_2', 'K_3']
    """
    taken = {name.lower() for name in names if not name.startswith(_TWICE)}
    found = []
    for name in names:
        plain = as_written(name)
        chosen, number = plain, 1
        while name.startswith(_TWICE) and chosen.lower() in taken:
            number += 1
            chosen = f"{plain}_{number}"
        taken.add(chosen.lower())
        found.append(chosen)
    return found


def as_written(name: str) -> str:
    """The name that a column was given, which others may have, too."""
    return name.split(" ", 2)[2] if name.startswith(_TWICE) else name


def find_column(schema: Schema, names: list[str]) -> tuple[Column, list[str]]:
    """The column that `a.b.c` begins with, and the names that are left, which are fields.

    >>> trades = Schema.of({"price": "INT"}, qualifier="t")
    >>> find_column(trades, ["T", "Price", "x"])
    (Column(name='price', kind=DataType(int32), qualifier='t'), ['x'])
    """
    if len(names) > 1:
        qualified = schema.find(names[1], names[0])
        if qualified:
            return _only(schema, qualified, ".".join(names[:2])), names[2:]
    plain = schema.find(names[0])
    if not plain:
        raise _unknown(schema, ".".join(names))
    return _only(schema, plain, names[0]), names[1:]


def _only(schema: Schema, fields: tuple[Field, ...], written: str) -> Column:
    if len(fields) > 1:
        listed = ", ".join(str(each) for each in fields)
        raise ExpressionError(f"the column {written} is ambiguous: it may be {listed}")
    found = fields[0]
    return Column(schema.key(found), found.type, found.qualifier)


def _unknown(schema: Schema, written: str) -> ExpressionError:
    """The error for a name that no column has, with names that are nearly it."""
    last = written.rsplit(".", 1)[-1].lower()
    alike = [each.name for each in schema if as_written(each.name).lower() == last]
    if len(alike) > 1 and any(name.startswith(_TWICE) for name in alike):
        return ExpressionError(f"the column {written} is ambiguous: name each of them with AS")
    own = [each for each in schema if not str(each).lstrip("`").startswith("$")]
    known = [str(each) for each in own] if "." in written else [each.name for each in own]
    by_lower_case = {name.lower(): name for name in known}
    near = get_close_matches(written.lower(), by_lower_case, n=3, cutoff=0.6)
    if near:
        hint = f"; did you mean {' or '.join(by_lower_case[name] for name in near)}?"
    else:
        hint = f"; there are {', '.join(known) or 'none'}"
    return ExpressionError(f"there is no column {written}{hint}")
