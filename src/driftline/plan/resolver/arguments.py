"""Arguments that are written with their names: mask(text, digitChar => '#').

Spark has names for the arguments of some functions alone; explode and its like read their own.
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.errors import ExpressionError
from driftline.plan.used import place_of, uses, uses_all

_NEEDED = None
_NAMES: dict[str, dict[str, exp.Expr | None]] = {
    "mask": {
        "str": _NEEDED,
        "upperChar": exp.Literal.string("X"),
        "lowerChar": exp.Literal.string("x"),
        "digitChar": exp.Literal.string("n"),
        "otherChar": exp.Null(),
    },
    "count_min_sketch": dict.fromkeys(("column", "epsilon", "confidence", "seed"), _NEEDED),
}
"""The names of arguments in their order, and what stands for those that are left out."""


def in_order(function: str, args: list[exp.Expr]) -> list[exp.Expr]:
    """The arguments of a call, each at its place, whether it is written with its name or not."""
    first = next((place for place, each in enumerate(args) if isinstance(each, exp.Kwarg)), None)
    if first is None:
        return args
    if function not in _NAMES:
        raise ExpressionError(f"{function} takes its arguments by their places, without names").at(
            *place_of(args[first])
        )
    names = list(_NAMES[function])
    known = {name.lower(): name for name in names}
    found = dict(zip(names, args[:first], strict=False))
    for each in args[first:]:
        if not isinstance(each, exp.Kwarg):
            problem = "takes no argument without a name after one with a name"
        elif (name := known.get(each.this.name.lower())) is None:
            problem = f"has no argument {each.this.name}: there are {', '.join(names)}"
        elif name in found:
            problem = f"has two arguments {name}"
        else:
            uses(each, "this", "expression")
            uses_all(each.this)
            found[name] = each.expression
            continue
        raise ExpressionError(f"{function} {problem}").at(*place_of(each))
    last = max(names.index(name) for name in found)
    values = {**{name: value and value.copy() for name, value in _NAMES[function].items()}, **found}
    for name in names[: last + 1]:
        if values[name] is _NEEDED:
            raise ExpressionError(f"{function} needs the argument {name}")
    return [value for name in names[: last + 1] if (value := values[name]) is not None]
