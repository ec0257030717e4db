"""PIVOT and UNPIVOT after a table, as Spark has them.

t PIVOT (f(y) FOR k IN (a, b))       GROUP BY all other columns; for each value of k a column,
                                     f(y) FILTER (WHERE k <=> a), null where no row has it
t UNPIVOT (v FOR n IN (x, y))        every row once for each column: its name, and its value,
                                     without those that are null (INCLUDE NULLS: with them)
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.expressions import AggregateCall, Case, Column, Expression, Literal
from driftline.plan.functions import aggregate
from driftline.plan.functions.base import cast_to, same_type
from driftline.plan.functions.collections import array, field, struct
from driftline.plan.functions.operators import compare, is_not_null, logical
from driftline.plan.types import BIGINT, BOOLEAN, STRING
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Scope

_ITEM = "$unpivoted"
_FORMS = ("default_on_null", "columns", "identify_pivot_strings", "prefixed_pivot_columns")
_SET_BY_PARSER = (*_FORMS, "pivot_column_naming", "value_columns_first", "unpivot")


def pivoted(scope: Scope, node: exp.Pivot) -> Scope:
    """The rows of a PIVOT or UNPIVOT of a table."""
    uses(node, "expressions", "fields", "include_nulls", "alias", *_SET_BY_PARSER)
    if len(node.args.get("fields") or ()) != 1 or not node.expressions:
        raise refuse("PIVOT takes aggregates and one FOR column IN (…)", node)
    wanted = node.args["fields"][0]
    uses(wanted, "this", "expressions")
    with at(node):
        return _unpivot(scope, node, wanted) if node.args.get("unpivot") else _pivot(scope, node)


def _parts(node: exp.Expr) -> list[exp.Expr]:
    """(a, b), or a single one."""
    if isinstance(node, exp.Paren):
        uses(node, "this")
        return _parts(node.this)
    if isinstance(node, exp.Tuple):
        uses(node, "expressions")
        return list(node.expressions)
    return [node]


def _aliased(node: exp.Expr) -> tuple[exp.Expr, str | None]:
    if isinstance(node, (exp.PivotAlias, exp.Alias)):
        uses(node, "this", "alias")
        return node.this, node.args["alias"].name
    return node, None


# PIVOT


def _pivot(scope: Scope, node: exp.Pivot) -> Scope:
    wanted = node.args["fields"][0]
    if not wanted.expressions:
        raise refuse("IN of PIVOT has no values", wanted)
    keys = [scope.resolve(each) for each in _parts(wanted.this)]
    calls = [_aggregate(scope, each) for each in node.expressions]
    used = {name for _, value in calls for name in value.columns()}
    used |= {name for key in keys for name in key.columns()}
    groups = [each for each in scope.star() if not used & each.value.columns()]
    aggregates: dict[Expression, str] = {}
    outputs = [nodes.Named(each.name, Column(each.name, each.value.type)) for each in groups]

    def over_groups(value: Expression, test: Expression) -> Expression:
        def computed(part: Expression) -> Expression:
            if not isinstance(part, AggregateCall):
                return part
            kept = test if part.filter is None else logical("and", part.filter, test)
            call = aggregate(part.function, part.args, part.distinct, kept, part.ignore_nulls)
            return Column(aggregates.setdefault(call, f"${len(aggregates)}"), call.type)

        return value.transform(computed)

    for each in wanted.expressions:
        written, alias = _aliased(each)
        values = [scope.resolve(part) for part in _parts(written)]
        if len(values) != len(keys):
            raise refuse(f"FOR names {len(keys)} columns, and this has {len(values)} values", each)
        for value in values:
            if value.columns() or value.aggregates():
                raise refuse("IN of PIVOT takes constants", each)
        tests = [
            compare("null_safe_equal", key, value) for key, value in zip(keys, values, strict=True)
        ]
        test = together(tests)
        assert test is not None
        count = aggregate("count", (), False, test)
        rows = Column(aggregates.setdefault(count, f"${len(aggregates)}"), BIGINT)
        some = compare("greater", rows, Literal(0, BIGINT))
        label = alias or _label(_parts(written), values)
        for name, value in calls:
            whole = over_groups(value, test)
            output = Case(((some, whole),), Literal(None, whole.type), whole.type)
            outputs.append(nodes.Named(f"{label}_{name}" if len(calls) > 1 else label, output))
    named = tuple(nodes.Named(name, call) for call, name in aggregates.items())
    _refuse_twice(outputs, node)
    return Scope(nodes.Project(nodes.Aggregate(scope.plan, tuple(groups), named), tuple(outputs)))


def _aggregate(scope: Scope, node: exp.Expr) -> tuple[str, Expression]:
    """An aggregate of PIVOT, and its name."""
    written, alias = _aliased(node)
    value = scope.resolve(written)
    if not value.aggregates():
        raise refuse("PIVOT takes aggregates before FOR", node)
    return alias or written.sql("spark"), value


def _label(nodes_: list[exp.Expr], values: list[Expression]) -> str:
    """What a column is called after its value, as Spark writes it as a text."""
    texts = [
        str(node.this).lower()
        if isinstance(node, (exp.Literal, exp.Boolean))
        else node.sql("spark")
        for node in nodes_
    ]
    texts = [
        str(node.this) if isinstance(node, exp.Literal) and node.is_string else text
        for node, text in zip(nodes_, texts, strict=True)
    ]
    shown = [
        "null" if isinstance(value, Literal) and value.value is None else text
        for value, text in zip(values, texts, strict=True)
    ]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


def _refuse_twice(outputs: list[nodes.Named], node: exp.Expr) -> None:
    seen: set[str] = set()
    for each in outputs:
        if each.name.lower() in seen:
            raise refuse(f"two columns would have the name {each.name}: give one an alias", node)
        seen.add(each.name.lower())


# UNPIVOT


def _unpivot(scope: Scope, node: exp.Pivot, wanted: exp.Expr) -> Scope:
    names = [each.name for each in _parts(node.expressions[0])]
    rows = []
    used: set[str] = set()
    for each in wanted.expressions:
        written, alias = _aliased(each)
        parts = _parts(written)
        if len(parts) != len(names):
            raise refuse(f"there are {len(names)} value columns, and this has {len(parts)}", each)
        values = tuple(scope.resolve(part) for part in parts)
        for part, value in zip(parts, values, strict=True):
            if not isinstance(value, Column):
                raise refuse("IN of UNPIVOT takes columns", part)
            used |= value.columns()
        rows.append((alias or "_".join(part.name for part in parts), values))
    columns = [
        same_type(tuple(values[place] for _, values in rows), "UNPIVOT", promote_strings=False)
        for place in range(len(names))
    ]
    fields = [f"v{place}" for place in range(len(names))]
    listed = tuple(
        struct(["name", *fields], (Literal(name, STRING), *(column[row] for column in columns)))
        for row, (name, _) in enumerate(rows)
    )
    exploded = nodes.Explode(scope.plan, array(listed), (_ITEM,))
    item = Column(_ITEM, exploded.added.fields[0].type)
    kept: nodes.Node = exploded
    found = [field(item, each) for each in fields]
    if not node.args.get("include_nulls"):
        some = found[0]
        test = is_not_null((some,))
        for each in found[1:]:
            test = logical("or", test, is_not_null((each,)))
        kept = nodes.Select(exploded, cast_to(test, BOOLEAN))
    outputs = [each for each in scope.star() if not used & each.value.columns()]
    outputs.append(nodes.Named(wanted.this.name, field(item, "name")))
    outputs += [nodes.Named(name, value) for name, value in zip(names, found, strict=True)]
    _refuse_twice(outputs, node)
    return Scope(nodes.Project(kept, tuple(outputs)))
