"""The clauses of MATCH_RECOGNIZE as Python gives them: texts by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from sqlglot import exp

from driftline.model.patterns import To
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.naming import parse_aliased
from driftline.plan.nodes import OrderItem, RowsPerMatch
from driftline.plan.patterns.building import MatchClauses, in_units
from driftline.plan.patterns.reading import parse_pattern

_SKIPS: dict[tuple[str, ...], To] = {
    ("past", "last", "row"): "past last",
    ("to", "next", "row"): "next",
}
_SKIPS_TO: dict[tuple[str, ...], To] = {("to", "first"): "first", ("to", "last"): "last"}
PAST_LAST_ROW = "past last row"


def clauses(
    pattern: str,
    define: Mapping[str, str] | None,
    measures: Mapping[str, str] | Sequence[str] | str,
    order: Sequence[OrderItem],
    *,
    rows: RowsPerMatch = "one",
    skip: str = PAST_LAST_ROW,
    within: Duration | None = None,
    subsets: Mapping[str, Sequence[str]] | None = None,
) -> MatchClauses:
    """The clauses, read."""
    if rows not in get_args(RowsPerMatch):
        raise PlanError(f"rows is {', '.join(map(repr, get_args(RowsPerMatch)))}, not {rows!r}")
    to, variable = _skip(skip)
    return MatchClauses(
        parse_pattern(pattern),
        _by_name(define or {}, "define"),
        _measures(measures),
        [
            (_identifier(name), _names(members))
            for name, members in _mapping(subsets or {}, "subsets").items()
        ],
        rows,
        to,
        variable,
        None
        if within is None or not order
        else in_units(order[0].value.type, lambda stamps: ticks(within, stamps)),
    )


def _mapping(given: object, what: str) -> Mapping[str, object]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise PlanError(f"{what} is a mapping from names, such as {{'A': …}}, not {given!r}")
    return given


def _by_name(texts: object, what: str) -> list[tuple[exp.Expr, exp.Expr]]:
    found: list[tuple[exp.Expr, exp.Expr]] = []
    for name, text in _mapping(texts, what).items():
        if not isinstance(text, str):
            raise PlanError(f"{what}: {name} is written as text, not {text!r}")
        node, alias = parse_aliased(text)
        if alias is not None:
            raise PlanError(f"{what}: {text!r} has the name {name} already: leave out AS {alias}")
        found.append((_identifier(name), node))
    return found


def _measures(
    measures: Mapping[str, str] | Sequence[str] | str,
) -> list[tuple[exp.Expr, exp.Expr]]:
    if isinstance(measures, Mapping):
        return _by_name(measures, "measures")
    found: list[tuple[exp.Expr, exp.Expr]] = []
    for text in [measures] if isinstance(measures, str) else measures:
        node, name = parse_aliased(text)
        if name is None:
            raise PlanError(f"a measure needs a name: write '{text} AS name'")
        found.append((_identifier(name), node))
    return found


def _names(members: object) -> list[exp.Expr]:
    texts = [members] if isinstance(members, str) else members
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise PlanError(f"a subset is a list of variables, ['A', 'B'], not {members!r}")
    return [_identifier(text) for text in texts]


def _skip(text: str) -> tuple[To, exp.Expr | None]:
    """Where the search goes on: `past last row`, `to next row`, `to first A`, `to last A`."""
    words = tuple(str(text).split())
    lower = tuple(word.lower() for word in words)
    if lower in _SKIPS:
        return _SKIPS[lower], None
    if lower[:-1] in _SKIPS_TO:
        return _SKIPS_TO[lower[:-1]], _identifier(words[-1])
    raise PlanError(
        f"skip is 'past last row', 'to next row', 'to first A' or 'to last A', not {text!r}"
    )


def _identifier(name: str) -> exp.Expr:
    return exp.Identifier(this=name, quoted=True)
