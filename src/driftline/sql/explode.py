"""explode in SQL: LATERAL VIEW, LATERAL explode(…) and UNNEST in FROM, and in the select list.

inline, stack and json_tuple are written with it: each gives the fields of a list of structs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from driftline.plan.errors import PlanError
from driftline.plan.expressions import (
    Call,
    Column,
    Expression,
    FieldAccess,
    Lambda,
    Literal,
    Variable,
)
from driftline.plan.folding import folded
from driftline.plan.functions.base import FUNCTIONS, cast_to
from driftline.plan.functions.collections import struct
from driftline.plan.nodes import Explode, Named, Node, Project
from driftline.plan.resolver import GENERATORS, resolve
from driftline.plan.types import BIGINT, INT, Schema, is_array, is_struct
from driftline.plan.used import uses, uses_all
from driftline.sql.errors import at, refuse
from driftline.sql.scope import Relations, Scope, walked
from driftline.sql.values import one_row

_RANGE, _RANGE_TAKES = "range", 3


@dataclass(frozen=True)
class Generator:
    """What a call of explode and its like is about: the list or map, whether rows without items
    are kept, whether places are given, and whether the columns are the fields of the items."""

    value: exp.Expr
    outer: bool
    position: bool = False
    fields: bool = False


def generator(node: exp.Expr) -> Generator | None:
    """The meaning of a call of explode and its like; None if it is no such call."""
    if not isinstance(node, exp.Anonymous):
        return None
    name, args = str(node.this).lower(), node.expressions
    if name not in GENERATORS:
        return None
    uses(node, "this", "expressions")
    args = [_unnamed(name, each) for each in args]
    if name == "stack":
        return Generator(_stacked(node, args), False, fields=True)
    if name == "json_tuple":
        if len(args) < 2:  # noqa: PLR2004 - the text and a name
            raise refuse("json_tuple takes a text of JSON and names of fields", node)
        values: list[exp.Expr] = [
            exp.Anonymous(this="$json_field", expressions=[args[0], each]) for each in args[1:]
        ]
        return Generator(_rows_of([values], "c"), False, fields=True)
    if len(args) != 1:
        what = "ARRAY of STRUCTs" if name.startswith("inline") else "ARRAY or MAP"
        what = "VARIANT" if name.startswith("variant") else what
        raise refuse(f"{name} takes one {what}", node)
    if name.startswith("variant_explode"):
        entries = exp.Anonymous(this="$variant_entries", expressions=args)
        return Generator(entries, *GENERATORS[name], fields=True)
    return Generator(args[0], *GENERATORS[name], fields=name.startswith("inline"))


def _unnamed(name: str, node: exp.Expr) -> exp.Expr:
    """The argument, written with its name (`collection => value`) or without."""
    if not isinstance(node, exp.Kwarg):
        return node
    uses(node, "this", "expression")
    uses_all(node.this)
    wanted = "input" if name.startswith(("inline", "variant")) else "collection"
    if node.this.name.lower() != wanted:
        raise refuse(f"there is no argument {node.this.name} of {name}", node)
    value: exp.Expr = node.expression
    return value


def _stacked(node: exp.Expr, args: list[exp.Expr]) -> exp.Expr:
    """stack(n, …): values as n rows, the last filled up with nulls."""
    count = args[0] if args else node
    number = int(count.this) if isinstance(count, exp.Literal) and not count.is_string else 0
    if number < 1 or not args[1:]:
        raise refuse("stack takes a constant number of rows, 1 or more, and their values", node)
    uses(count, "this", "is_string")
    width = -(-len(args[1:]) // number)
    values = [*args[1:], *(exp.Null() for _ in range(number * width - len(args[1:])))]
    rows = [values[width * row : width * (row + 1)] for row in range(number)]
    return _rows_of(rows, "col")


def _rows_of(rows: list[list[exp.Expr]], prefix: str) -> exp.Expr:
    """An array of structs with the fields col0, col1, …"""
    structs = [
        exp.Anonymous(
            this="named_struct",
            expressions=[
                part
                for place, value in enumerate(row)
                for part in (exp.Literal.string(f"{prefix}{place}"), value.copy())
            ],
        )
        for row in rows
    ]
    return exp.Anonymous(this="array", expressions=structs)


def exploded(
    scope: Scope,
    node: exp.Expr,
    what: Generator,
    names: Sequence[str] = (),
    qualifier: str | None = None,
) -> Scope:
    """The rows of a scope, each with the items of what it holds."""
    if scope.resolve(what.value).aggregates():
        raise refuse("explode of an aggregate: compute it in a subquery", node)
    try:
        with at(node):
            plan = _explode(scope, what, names, qualifier)
    except PlanError as error:
        raise refuse(str(error), node) from None
    seen: set[str] = {
        each.name.lower()
        for each in scope.schema
        if (each.qualifier or "").lower() == (qualifier or "").lower()
    }
    for each in plan.added:
        if each.name.lower() in seen:
            raise refuse(f"there is a column {each.name} already: give another name", node)
        seen.add(each.name.lower())
    return scope.over(plan)


def only_items(plan: Node, condition: Expression) -> Node:
    """Exploded rows whose items are those alone for which a condition is true; a row without one
    is kept. The items become structs of their columns, of which the others are filtered out."""
    assert isinstance(plan, Explode)
    items = _as_structs(plan)
    item = Variable("$row", items.type.value_type)
    keys = plan.schema.names[len(plan.input.schema) :]
    fields = {key: FieldAccess(item, place) for place, key in enumerate(keys)}
    wanted = condition.transform(
        lambda part: fields.get(part.name, part) if isinstance(part, Column) else part
    )
    kept = Call("filter", (items, Lambda((item,), wanted)), items.type)
    names = tuple(each.name for each in plan.added)
    return Explode(plan.input, kept, names, True, False, plan.qualifier, fields=True)


def _as_structs(plan: Explode) -> Expression:
    """What an explode is about, as a list of structs of the columns that it adds."""
    if plan.fields:
        return plan.value
    items = plan.value
    is_list = is_array(items.type)
    if not is_list:
        items = FUNCTIONS["map_entries"]((items,))
    item, place = Variable("$item", items.type.value_type), Variable("$place", INT)
    values: list[Expression] = [place] if plan.position else []
    values += [item] if is_list else [FieldAccess(item, side) for side in range(2)]
    row = struct([f"c{number}" for number in range(len(values))], tuple(values))
    return Call("transform", (items, Lambda((item, place), row)), pa.list_(row.type))


def added_by(scope: Scope, what: Generator) -> list[str]:
    """The names of the columns that a call adds, if none are given."""
    return [each.name for each in _explode(scope, what).added]


def _explode(
    scope: Scope, what: Generator, names: Sequence[str] = (), qualifier: str | None = None
) -> Explode:
    value = scope.resolve(what.value)
    return Explode(
        scope.plan, value, tuple(names), what.outer, what.position, qualifier, what.fields
    )


def is_table_function(node: exp.Anonymous) -> bool:
    """Whether a call can stand in FROM: explode and its like, or range."""
    return is_range(node) or str(node.this).lower() in GENERATORS


def is_range(node: exp.Anonymous) -> bool:
    """Whether it is a call of range, whose rows are of constants alone."""
    return str(node.this).lower() == _RANGE


def table_function(node: exp.Anonymous, names: Relations) -> Node:
    """The rows of a call in FROM, of constants: `explode(array(1, 2))`, `range(0, 10, 2)`."""
    scope = Scope(one_row(names))
    width = len(scope.schema)
    if is_range(node):
        scope = exploded(scope, node, Generator(_range(node), False), ("id",))
    else:
        what = generator(node)
        assert what is not None
        scope = exploded(scope, node, what)
    schema = scope.schema
    columns = zip(schema.names[width:], schema.fields[width:], strict=True)
    return Project(
        scope.plan, tuple(Named(field.name, Column(key, field.type)) for key, field in columns)
    )


def _range(node: exp.Anonymous) -> exp.Expr:
    """range([start,] end[, step]) as an array; its end is not in it."""
    uses(node, "this", "expressions")
    with at(node):
        given = [folded(cast_to(resolve(each, Schema(())), BIGINT)) for each in node.expressions]
    numbers = [each.value for each in given if isinstance(each, Literal)]
    if not 1 <= len(numbers) <= _RANGE_TAKES or len(numbers) < len(given) or None in numbers:
        raise refuse("range takes an end, or a start and an end, and a step, all constants", node)
    start, end, step = ([0, *numbers] if len(numbers) == 1 else numbers) + [1] * (len(numbers) < 3)  # noqa: PLR2004
    if step == 0:
        raise refuse("the step of range is not 0", node)
    count = len(range(start, end, step))
    array: exp.Expr = exp.Anonymous(this="array")
    if count:
        bounds = (start, start + (count - 1) * step, step)
        parts = [exp.cast(exp.Literal.number(each), "BIGINT") for each in bounds]
        array = exp.Anonymous(this="sequence", expressions=parts)
    return exp.cast(array, "ARRAY<BIGINT>")


def lateral(scope: Scope, node: exp.Expr, *, outer: bool = False) -> Scope:
    """The rows with those of LATERAL VIEW explode(…), LATERAL explode(…) or UNNEST(…)."""
    uses(node, "this", "expressions", "alias", "outer", "view", "offset", "ordinality")
    alias = node.args.get("alias")
    if alias is not None:
        uses(alias, "this", "columns")
    names = [each.name for each in (alias.args.get("columns") if alias else None) or ()]
    qualifier = alias.name if alias is not None and alias.this is not None else None
    if isinstance(node, exp.Unnest):
        return _unnested(scope, node, names, qualifier, outer)
    what = generator(node.this)
    if what is None:
        raise refuse("LATERAL takes explode(…), and no subquery", node)
    keeps = what.outer or outer or bool(node.args.get("outer"))
    return exploded(scope, node, replace(what, outer=keeps), names, qualifier)


def of_constants(node: exp.Unnest) -> bool:
    """Whether a list in FROM is made of constants alone: ARRAY[1, 2] is, and the names of functions
    of its items are no columns."""
    names = {name.name for each in node.find_all(exp.Lambda) for name in each.expressions}
    return all(
        column.name in names
        or (
            isinstance(column.parent, exp.Bracket)
            and column.arg_key == "this"
            and column.name.lower() in ("array", "map")
        )
        for column in node.find_all(exp.Column)
    )


def _unnested(
    scope: Scope, node: exp.Unnest, names: list[str], qualifier: str | None, outer: bool
) -> Scope:
    """UNNEST(list) AS t (item), also with an offset, from 0, or an ordinality, from 1; with as many
    names as they have fields, the fields of structs."""
    if len(node.expressions) != 1:
        raise refuse("UNNEST takes one ARRAY or MAP: join two of them with arrays_zip", node)
    kind = scope.resolve(node.expressions[0]).type
    fields = is_array(kind) and is_struct(kind.value_type) and len(names) == len(kind.value_type)
    offset = node.args.get("offset")
    if not names and qualifier is not None and is_array(kind):
        names = [qualifier]
    if not offset:
        what = Generator(node.expressions[0], outer, fields=fields and len(names) > 1)
        return exploded(scope, node, what, names, qualifier)
    if not is_array(kind) or len(names) > 1:
        raise refuse("UNNEST with places takes an ARRAY, and one name for its items", node)
    first = int(bool(node.args.get("ordinality")))
    place = offset.name if isinstance(offset, exp.Expr) else ("offset", "ordinality")[first]
    items = _numbered(node.expressions[0], names[0] if names else "col", place, first)
    return exploded(scope, node, Generator(items, outer, fields=True), (), qualifier)


def _numbered(items: exp.Expr, name: str, place: str, first: int) -> exp.Expr:
    """A list of structs: every item, and its place, from 0 or 1 on."""
    item, number = (
        exp.column(exp.to_identifier(each, quoted=True)) for each in ("$item", "$number")
    )
    counted = exp.Add(this=number, expression=exp.Literal.number(first))
    struct = exp.Anonymous(
        this="named_struct",
        expressions=[exp.Literal.string(name), item, exp.Literal.string(place), counted],
    )
    names = [exp.to_identifier(each, quoted=True) for each in ("$item", "$number")]
    function = exp.Lambda(this=struct, expressions=names)
    return exp.Anonymous(this="transform", expressions=[items.copy(), function])


def of_select_list(scope: Scope, items: Sequence[exp.Expr]) -> tuple[Scope, list[exp.Expr]]:
    """The rows with the items of an explode(…) in the select list, and the list with columns in its
    place."""
    found: list[exp.Expr] = []
    for item in items:
        names: list[str] = []
        call = item
        if isinstance(item, exp.Alias):
            uses(item, "this", "alias")
            call, names = item.this, [item.alias]
        elif isinstance(item, exp.Aliases):
            uses(item, "this", "expressions")
            call, names = item.this, [each.name for each in item.expressions]
        what = generator(call)
        if what is None:
            for part in walked(item):
                if part is not call and generator(part) is not None:
                    raise refuse(f"{part.name} stands alone in the select list", part)
            found.append(item)
            continue
        width = len(scope.schema)
        if any(each.name.startswith("$explode") for each in scope.schema):
            raise refuse("one explode in a select list: use LATERAL VIEW for more", item)
        with at(call):
            plain = added_by(scope, what)
        given = names or plain
        if len(given) != len(plain):
            raise refuse(
                f"{call.name} gives {len(plain)} columns, and has {len(given)} names", item
            )
        inside = [f"$explode{place}" for place in range(len(given))]
        scope = exploded(scope, item, what, inside)
        keys = scope.schema.names[width:]
        scope = Scope(scope.plan, scope.merged, scope.hidden | frozenset(keys))
        for name, own in zip(given, inside, strict=True):
            column = exp.column(exp.to_identifier(own, quoted=True))
            column.this.meta.update(call.meta)
            found.append(exp.alias_(column, name, quoted=True))
    return scope, found
