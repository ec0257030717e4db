"""Columns by the names they are written with."""

from __future__ import annotations

from difflib import get_close_matches

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Column
from driftline.plan.types import Field, Schema


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
    known = [str(each) for each in schema] if "." in written else [each.name for each in schema]
    by_lower_case = {name.lower(): name for name in known}
    near = get_close_matches(written.lower(), by_lower_case, n=3, cutoff=0.6)
    if near:
        hint = f"; did you mean {' or '.join(by_lower_case[name] for name in near)}?"
    else:
        hint = f"; there are {', '.join(known) or 'none'}"
    return ExpressionError(f"there is no column {written}{hint}")
