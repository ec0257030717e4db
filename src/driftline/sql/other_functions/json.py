"""JSON as texts, which Spark's functions make and read.

json_object('a' VALUE x)          to_json(named_struct('a', x)), with nulls
json_array(x, y)                  '[' || … || ']', without nulls
jsonb_agg(x ORDER BY y)           to_json(array_agg(x ORDER BY y)), nulls included; null of nothing
jsonb_object_agg(k, v)            to_json(map_from_entries(…)), the last of equal keys
x -> 'a', x::jsonb                the text of a part, and of the whole, as VARIANT has it
FROM t, jsonb_array_elements(x)   an explode of the items, as texts
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.json_grammar import WITH_NULLS, WITHOUT_NULLS, WRAPPED
from driftline.sql.other_functions.aggregates import ordered_list
from driftline.sql.other_functions.syntax import ITEM, PAIR, called, function, name_of, put

_NO_VALUE = "^(OBJECT|ARRAY)"
_IS_JSON = "is JSON"
"""In the meta of an expression: that it is a text of JSON, and a value in another one."""
_ENTRY, _OTHER, _PLACE = "$entry", "$other", "$place"
_KINDS = {"OBJECT": "object", "ARRAY": "array", "STRING": "string", "BOOLEAN": "boolean"}
_TYPES = (exp.DataType.Type.JSON, exp.DataType.Type.JSONB)


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _json(made: exp.Expr) -> exp.Expr:
    made.meta[_IS_JSON] = True
    return made


def _inside(value: exp.Expr) -> exp.Expr:
    """A value as it stands inside of a struct or list: JSON is no text there."""
    value = value.copy()
    if not value.meta.get(_IS_JSON):
        return value
    is_struct = isinstance(value, exp.Anonymous) and value.this == "to_json"
    return value.expressions[0] if is_struct else called("parse_json", value)


def value_at(node: exp.Anonymous) -> exp.Expr | None:
    """json_value(text, path): a text or number at a path, and null where there is a list or an
    object, which get_json_object gives, too."""
    return _one_of(node, is_value=True)


def query_at(node: exp.Anonymous) -> exp.Expr | None:
    """json_query(text, path): the list or object at a path."""
    if len(node.expressions) != PAIR:
        return None
    if str(node.this).lower().endswith(WRAPPED):
        return _json(called("concat", _text("["), called("to_json", _at(node)), _text("]")))
    made = _one_of(node, is_value=False)
    return None if made is None else _json(made)


def _one_of(node: exp.Anonymous, *, is_value: bool) -> exp.Expr | None:
    if len(node.expressions) != PAIR:
        return None
    text, path = (each.copy() for each in node.expressions)
    nested = called("rlike", called("schema_of_variant", _at(node)), _text(_NO_VALUE))
    found = called("get_json_object", text, path)
    branches = (exp.Null(), found) if is_value else (found, exp.Null())
    return exp.Case(ifs=[exp.If(this=nested, true=branches[0])], default=branches[1])


def has(node: exp.Anonymous) -> exp.Expr | None:
    """json_exists(text, path): whether there is something at a path, if only null."""
    if len(node.expressions) != PAIR:
        return None
    return exp.paren(exp.not_(exp.Is(this=_at(node), expression=exp.Null())))


def _at(node: exp.Anonymous) -> exp.Expr:
    text, path = (each.copy() for each in node.expressions)
    return called("try_variant_get", called("try_parse_json", text), path, _text("variant"))


def is_json(node: exp.Is) -> None:
    """x IS JSON."""
    what = node.expression
    if not isinstance(what, exp.JSON):
        return
    kind = what.this if isinstance(what.this, str) else "VALUE"
    if what.args.get("unique") or kind not in ("VALUE", "OBJECT", "ARRAY", "SCALAR"):
        raise refuse("IS JSON may be followed by VALUE, OBJECT, ARRAY or SCALAR", node)
    uses(node, "this", "expression")
    uses(what, "this", "unique")
    variant = called("try_parse_json", node.this.copy())
    known: exp.Expr = exp.not_(exp.Is(this=variant, expression=exp.Null()))
    if kind != "VALUE":
        pattern = _NO_VALUE if kind == "SCALAR" else f"^{kind}"
        like: exp.Expr = called(
            "rlike", called("schema_of_variant", variant.copy()), _text(pattern)
        )
        known = exp.and_(known, exp.not_(like) if kind == "SCALAR" else like)
    put(node, exp.paren(known))


def object_of(node: exp.Anonymous) -> exp.Expr | None:
    """json_object('a' VALUE x, …) and jsonb_build_object('a', x, …)."""
    keys, values = node.expressions[::2], node.expressions[1::2]
    if not keys:
        return _json(_text("{}"))
    if len(keys) != len(values):
        raise refuse("an object of JSON has a value for every key", node)
    parts: list[exp.Expr] = []
    for key, value in zip(keys, values, strict=True):
        if not isinstance(key, exp.Literal) or not key.is_string:
            raise refuse("a key of such an object is a constant text: to_json(map(k, v))", key)
        parts += [key.copy(), _inside(value)]
    options = called("map", _text("ignoreNullFields"), _text("false"))
    without = str(node.this).lower().endswith(WITHOUT_NULLS)
    return _json(called("to_json", called("named_struct", *parts), *([] if without else [options])))


def array_of(node: exp.Anonymous) -> exp.Expr | None:
    """json_array(x, …), without nulls unless they are asked for, and jsonb_build_array(x, …)."""
    name = str(node.this).lower()
    keeps = name.endswith((WITH_NULLS, "build_array"))
    items = []
    for value in node.expressions:
        item = _as_json(value)
        if not keeps:
            is_null = exp.Is(this=exp.paren(value.copy()), expression=exp.Null())
            item = called("if", is_null, exp.Null(), item)
        items.append(item)
    between = called("concat_ws", _text(","), *items) if items else _text("")
    return _json(called("concat", _text("["), between, _text("]")))


def text_of(node: exp.Anonymous) -> exp.Expr | None:
    """to_jsonb(x), json_string(x) and json_quote(x)."""
    if len(node.expressions) != 1:
        return None
    value = node.expressions[0]
    known = exp.not_(exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))
    return _json(called("if", known, _as_json(value), exp.Null()))


def _as_json(value: exp.Expr) -> exp.Expr:
    """Any value as JSON: to_json takes only those that hold others."""
    listed = called("to_json", called("array", _inside(value)))
    size = exp.Sub(this=called("length", listed.copy()), expression=exp.Literal.number(2))
    return called("substring", listed, exp.Literal.number(2), size)


def list_of_rows(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_agg(x ORDER BY y), which FILTER may follow, and json_arrayagg(x)."""
    if len(node.expressions) != 1:
        return None
    name = str(node.this).lower()
    value, order = node.expressions[0].copy(), None
    if isinstance(value, exp.Order):
        order, value = value, value.this.copy()
    distinct = isinstance(value, exp.Distinct)
    if distinct:
        (value,) = (each.copy() for each in value.expressions)
    without = name.startswith("json_arrayagg") and not name.endswith(WITH_NULLS)
    item: exp.Expr = called("named_struct", _text("value"), _inside(value))
    if without:
        known = exp.not_(exp.Is(this=exp.paren(value), expression=exp.Null()))
        item = called("if", known, item, exp.Null())
    if distinct:
        item = exp.Distinct(expressions=[item])
    if order is not None:
        items = [each.copy() for each in order.expressions]
        item = exp.Order(this=item, expressions=items)
    field = exp.Dot(this=name_of(ITEM), expression=exp.to_identifier("value"))

    def listed(rows: exp.Expr) -> exp.Expr:
        whole = called("to_json", called("transform", rows, function(field, ITEM)))
        return whole if name.startswith("json_arrayagg") else called("nullif", whole, _text("[]"))

    return _over_rows(node, called("array_agg", item), listed)


def object_of_rows(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_object_agg(k, v ORDER BY y) and json_objectagg(k VALUE v): of rows with the same key
    the last one counts."""
    if len(node.expressions) != PAIR:
        return None
    key, value = (each.copy() for each in node.expressions)
    order = value if isinstance(value, exp.Order) else None
    if order is not None:
        value = order.this.copy()
    item: exp.Expr = called(
        "named_struct", _text("key"), exp.cast(key, "STRING"), _text("value"), _inside(value)
    )
    if order is not None:
        item = exp.Order(this=item, expressions=[each.copy() for each in order.expressions])

    def listed(rows: exp.Expr) -> exp.Expr:
        of_entry, of_other = (
            exp.Dot(this=name_of(each), expression=exp.to_identifier("key"))
            for each in (_ENTRY, _OTHER)
        )
        place = exp.Add(this=name_of(_PLACE), expression=exp.Literal.number(2))
        later = called("slice", rows.copy(), place, called("size", rows.copy()))
        same = function(exp.EQ(this=of_other, expression=of_entry), _OTHER)
        is_last = function(exp.not_(called("exists", later, same)), _ENTRY, _PLACE)
        last = called("array_sort", called("filter", rows, is_last))
        return called("nullif", called("to_json", called("map_from_entries", last)), _text("{}"))

    return _over_rows(node, called("array_agg", item), listed)


def _over_rows(
    node: exp.Anonymous, rows: exp.Expr, listed: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr | None:
    """What `listed` makes of the rows of an aggregate, which FILTER may follow."""
    if isinstance(node.parent, exp.Window):
        raise refuse(
            f"{str(node.this).lower()} has no OVER (…): write to_json(array_agg(x) OVER …)", node
        )
    around = node.parent
    if isinstance(around, exp.Filter):
        uses(around, "this", "expression")
        uses(node, "this", "expressions")
        put(around, _json(listed(_in_order(exp.Filter(this=rows, expression=around.expression)))))
        return None
    return _json(listed(_in_order(rows)))


def _in_order(rows: exp.Expr) -> exp.Expr:
    """An array_agg, perhaps with FILTER, whose ORDER BY is written with Spark's functions."""
    around = exp.Paren(this=rows.copy())
    call = around.find(exp.Anonymous)
    assert isinstance(call, exp.Anonymous)
    ordered_list(call)
    made: exp.Expr = around.this
    return made


def cast(node: exp.Cast) -> bool:
    """x::jsonb: the text as VARIANT has it, or x itself where only a part of it is asked for."""
    if node.to.this not in _TYPES:
        return False
    uses(node, "this", "to")
    around = node.parent
    part = isinstance(around, (exp.JSONExtract, exp.JSONExtractScalar)) and around.this is node
    if isinstance(around, exp.Anonymous):
        part = str(around.this).lower().startswith(("json", "get_json"))
    if part or node.this.meta.get(_IS_JSON):
        put(node, node.this.copy())
    else:
        put(node, _json(called("to_json", called("parse_json", node.this.copy()))))
    return True


def kind_of(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_typeof(x)."""
    if len(node.expressions) != 1:
        return None
    kind = called("schema_of_variant", called("try_parse_json", node.expressions[0].copy()))
    ifs = [
        exp.If(this=called("startswith", kind.copy(), _text(each)), true=_text(word))
        for each, word in {**_KINDS, "VOID": "null"}.items()
    ]
    known = exp.not_(exp.Is(this=kind.copy(), expression=exp.Null()))
    ifs.append(exp.If(this=known, true=_text("number")))
    return exp.Case(ifs=ifs)


def part_and_no_function(node: exp.Lambda) -> None:
    """f(x -> 'a'), where f takes no function: a part of JSON."""
    body = step = node.this
    while isinstance(step, (exp.JSONExtract, exp.JSONExtractScalar)):
        step = step.this
    if len(node.expressions) != 1 or not isinstance(step, exp.Literal):
        return
    uses(node, "this", "expressions")
    part = _part(
        exp.column(node.expressions[0].copy()), step.this if step.is_string else int(step.this)
    )
    if step is body:
        put(node, part)
    else:
        step.replace(part)
        put(node, body.copy())


def text_at(node: exp.JSONExtractScalar) -> None:
    """x ->> 'a': the text of a part."""
    if not isinstance(node.expression, exp.JSONPath):
        return
    uses(node, "this", "expression")
    _, step = node.expression.expressions
    is_key = isinstance(step, exp.JSONPathKey)
    path = f"$['{step.this}']" if is_key else f"$[{step.this}]"
    put(node, called("get_json_object", node.this.copy(), _text(path)))


def _part(whole: exp.Expr, key: str | int) -> exp.JSONExtract:
    kind = exp.JSONPathKey if isinstance(key, str) else exp.JSONPathSubscript
    path = exp.JSONPath(expressions=[exp.JSONPathRoot(), kind(this=key)])
    return exp.JSONExtract(this=whole, expression=path)


def along(node: exp.Expr) -> None:
    """x #>> '{a,b}' and x #> '{a,b}'."""
    path = node.expression
    steps = path.this.strip("{}").split(",") if isinstance(path, exp.Literal) else None
    if steps is None or not path.is_string or "'" in path.this or '"' in path.this:
        raise refuse("a path after #> is a constant text, '{a,b}': x -> 'a' -> 'b'", node)
    uses(node, "this", "expression")
    found: exp.Expr = node.this.copy()
    for step in map(str.strip, steps):
        found = _part(found, int(step) if step.isdigit() else step)
    if isinstance(node, exp.JSONBExtractScalar):
        found = exp.JSONExtractScalar(this=found.this, expression=found.expression)
    put(node, found)


def along_names(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_extract_path(x, 'a', 'b') and jsonb_extract_path_text(x, 'a', 'b')."""
    whole, *names = node.expressions
    if not names or not all(isinstance(each, exp.Literal) and each.is_string for each in names):
        raise refuse("a path here is of constant strings: x -> 'a' -> 'b'", node)
    found: exp.Expr = whole.copy()
    for name in names:
        found = _part(found, int(name.this) if name.this.isdigit() else name.this)
    if str(node.this).lower().endswith("text"):
        return exp.JSONExtractScalar(this=found.this, expression=found.expression)
    return found


def items(node: exp.Anonymous) -> exp.Expr | None:
    """The items of a list in JSON, as texts: jsonb_array_elements(x), and the same of _text."""
    if len(node.expressions) != 1:
        return None
    variants = exp.TryCast(
        this=called("try_parse_json", node.expressions[0].copy()),
        to=exp.DataType.build("ARRAY<VARIANT>", dialect="spark"),
        safe=True,
    )
    item: exp.Expr = called("to_json", name_of(ITEM))
    if str(node.this).lower().endswith("text"):
        item = exp.cast(name_of(ITEM), "STRING")
    return called("transform", variants, function(item, ITEM))


ELEMENTS = tuple(
    f"{kind}_array_elements{text}" for kind in ("json", "jsonb") for text in ("", "_text")
)


def explode_items(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_array_elements(x) in the select list."""
    if isinstance(node.parent, (exp.Table, exp.Lateral)):
        return None
    made = items(node)
    return None if made is None else called("explode", made)


def explode_keys(node: exp.Anonymous) -> exp.Expr | None:
    """jsonb_object_keys(x) in the select list, which gives rows."""
    return called(
        "explode", called("json_object_keys", *(each.copy() for each in node.expressions))
    )


def rows_of_items(node: exp.Expr) -> None:
    """FROM t, jsonb_array_elements(x) AS item, whose column is called value, or item."""
    call = node.this
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() not in ELEMENTS:
        return
    made, alias = items(call), node.args.get("alias")
    if made is None or (isinstance(node, exp.Lateral) and node.args.get("view")):
        return
    uses(node, "this", "alias")
    uses(call, "this", "expressions")
    alias = (
        exp.TableAlias(this=exp.to_identifier(str(call.this))) if alias is None else alias.copy()
    )
    select = node.find_ancestor(exp.Select)
    named = select is not None and any(
        column.name.lower() == "value" for column in select.find_all(exp.Column)
    )
    if not alias.args.get("columns"):
        alias.set("columns", [exp.to_identifier("value") if named else alias.this.copy()])
    put(node, exp.Unnest(expressions=[made], alias=alias))
