"""As-of joins: ASOF JOIN … MATCH_CONDITION (…) ON …, and JOIN … FOR SYSTEM_TIME AS OF …."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Expression
from driftline.plan.facts import Facts
from driftline.plan.nodes.as_of import as_of, versions
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Scope


def as_of_join(
    left: Scope,
    right: Scope,
    how: str,
    node: exp.Join,
    conditions: Sequence[exp.Expr],
    version: exp.Expr | None,
) -> Scope:
    """For each row of the left the latest row of the right. `version`: the time of the left that
    FOR SYSTEM_TIME AS OF names."""
    right = right.over(versions(right.plan))
    if how not in ("inner", "left"):
        raise refuse("an as-of join is ASOF JOIN or ASOF LEFT JOIN, with ON", node)
    both = left.beside(nodes.Join(left.plan, right.plan, "inner", None), right)

    def resolved(part: exp.Expr) -> Expression:
        return both.resolve(part)

    parts: list[Expression] = []
    for part in conditions:
        with at(part):
            parts += conjuncts(resolved(part))
    if version is not None:
        with at(version):
            parts.append(
                resolved(exp.GTE(this=version.copy(), expression=_time_of(right, version)))
            )
    try:
        kind = cast("Literal['inner', 'left']", how)
        return left.beside(as_of(left.plan, right.plan, kind, together(parts)), right)
    except PlanError as error:
        raise refuse(str(error), node) from None


def _time_of(right: Scope, node: exp.Expr) -> exp.Expr:
    """The column that has the time of a stream."""
    plan = right.plan
    facts = Facts(plan.sources())
    for place, field in enumerate(plan.schema):
        if facts.after_vs(plan, place) == 0:
            qualifier = (
                None if field.qualifier is None else exp.to_identifier(field.qualifier, True)
            )
            return exp.column(exp.to_identifier(field.name, quoted=True), qualifier)
    raise refuse(
        "FOR SYSTEM_TIME AS OF is about a stream with a time, CREATE STREAM … WITH (time = …): "
        "write ASOF JOIN … MATCH_CONDITION (l.ts >= r.ts)",
        node,
    )
