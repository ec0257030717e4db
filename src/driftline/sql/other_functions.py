"""Functions of other engines, written with Spark's.

countif(c), arg_max(x, y)            count_if(c), max_by(x, y): the same under another name
array_agg(x ORDER BY y LIMIT n)      the values of a sorted list of structs; nulls are left out, as
                                     in Spark's array_agg
first_value(x ORDER BY y)            min_by(x, struct(y)), where all keys have one direction
any_value(x HAVING MAX y)            max_by(x, y)
timestamp_trunc(t, HOUR)             date_trunc('HOUR', t)
timestamp_add(t, INTERVAL …)         t + INTERVAL …
timestamp_diff(a, b, MINUTE)         timestampdiff(MINUTE, b, a)
x IN UNNEST(a), x = ANY (ARRAY[…])   exists(a, y -> x = y)
a[OFFSET(i)], a[ORDINAL(i)]          a[i], element_at(a, i)
TUMBLE(t, d), TUMBLE_START(t, d)     window(t, d), window.start
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from driftline.plan.dialect import parse_sql
from driftline.plan.functions import AGGREGATES, FUNCTIONS
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.syntax import WindowTable

_SAME = {
    "approx_distinct": "approx_count_distinct",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "argmax": "max_by",
    "argmin": "min_by",
    "array_cat": "concat",
    "array_concat": "concat",
    "array_length": "array_size",
    "array_reverse": "reverse",
    "array_to_string": "array_join",
    "byte_length": "octet_length",
    "countif": "count_if",
    "ends_with": "endswith",
    "list_agg": "array_agg",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
    "regexp_contains": "regexp_like",
    "regexp_matches": "regexp_like",
    "row": "struct",
    "safe_add": "try_add",
    "safe_divide": "try_divide",
    "safe_multiply": "try_multiply",
    "safe_subtract": "try_subtract",
    "starts_with": "startswith",
    "strpos": "instr",
    "to_json_string": "to_json",
}
_UNITS = (
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "MONTH", "QUARTER", "YEAR"),
)
_DATE_UNITS = ("MONTH", "QUARTER", "YEAR")
_PLACES = {
    "safe_offset": "get",
    "ordinal": "element_at",
    "safe_ordinal": "try_element_at",
}
_PAIR, _TRIPLE = 2, 3
_ITEM, _LEFT, _RIGHT = "$item", "$left", "$right"


def respell_functions(query: exp.Expr) -> None:
    """Changes the calls of a query in place, those in its subqueries included."""
    for node in reversed(list(query.find_all(*_RESPELLED))):  # what is inside others first
        _RESPELLED[type(node)](node)


def _put(node: exp.Expr, new: exp.Expr) -> None:
    """An expression in the place of another, with its text and place."""
    for key, value in node.meta.items():
        new.meta.setdefault(key, value)
    node.replace(new)


def _called(name: str, *args: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(args))


def _call(node: exp.Anonymous) -> None:
    name = str(node.this).lower()
    change = _CHANGES.get(name)
    if change is not None:
        made = change(node)
        if made is not None:
            uses(node, "this", "expressions")
            _put(node, made)
    elif name in _SAME and name not in FUNCTIONS and name not in AGGREGATES:
        node.set("this", _SAME[name])
        _ordered_list(node)


# Aggregates


def _ordered_list(node: exp.Anonymous) -> exp.Expr | None:
    """array_agg(x ORDER BY y), which FILTER may follow."""
    if len(node.expressions) != 1 or str(node.this).lower() not in ("array_agg", "list"):
        return None
    value, count, items = node.expressions[0], None, None
    if isinstance(value, exp.Limit):
        uses(value, "this", "expression")
        count, value = value.expression, value.this
    if isinstance(value, exp.Order):
        uses(value, "this", "expressions")
        items, value = value.expressions, value.this
    if items is None and count is None:
        return None
    if isinstance(node.parent, exp.Window):
        raise refuse("array_agg with ORDER BY or LIMIT has no OVER (…)", node)
    if items is None:
        raise refuse("LIMIT without ORDER BY would be any items: say which come first", node)
    if isinstance(value, exp.IgnoreNulls):
        uses(value, "this")
        value = value.this
    distinct = isinstance(value, exp.Distinct)
    if distinct:
        uses(value, "expressions")
        (value,) = value.expressions
    uses(node, "this", "expressions")
    parts: list[exp.Expr] = [exp.Literal.string("value"), value.copy()]
    for place, each in enumerate(items):
        parts += [exp.Literal.string(f"key{place}"), each.this.copy()]
    struct: exp.Expr = _called("named_struct", *parts)
    known: exp.Expr = exp.not_(exp.Is(this=exp.paren(value.copy()), expression=exp.Null()))
    outside: exp.Expr = node
    if isinstance(node.parent, exp.Filter):
        outside = node.parent
        uses(outside, "this", "expression")
        uses(outside.expression, "this")
        known = exp.and_(known, exp.paren(outside.expression.this.copy()))
    listed = _called("array_agg", exp.Distinct(expressions=[struct]) if distinct else struct)
    found: exp.Expr = exp.Filter(this=listed, expression=exp.Where(this=known))
    found = _called("array_sort", found, _comparison(items))
    if count is not None:
        found = _called("slice", found, exp.Literal.number(1), count.copy())
    field = exp.Dot(this=_name(_ITEM), expression=exp.to_identifier("value"))
    found = _called("transform", found, _function(field, _ITEM))
    _put(outside, found)
    return None


def _comparison(items: list[exp.Expr]) -> exp.Lambda:
    """A function that compares two structs by their keys, as ORDER BY does."""
    ifs = []
    for place, each in enumerate(items):
        uses(each, "this", "desc", "nulls_first")
        left, right = (
            exp.Dot(this=_name(side), expression=exp.to_identifier(f"key{place}"))
            for side in (_LEFT, _RIGHT)
        )
        less, greater = (-1, 1) if not each.args.get("desc") else (1, -1)
        first, last = (-1, 1) if each.args.get("nulls_first") else (1, -1)
        no_left, no_right = (
            exp.Is(this=side.copy(), expression=exp.Null()) for side in (left, right)
        )
        for condition, sign in (
            (exp.and_(no_left, exp.not_(no_right)), first),
            (exp.and_(no_right.copy(), exp.not_(no_left.copy())), last),
            (exp.LT(this=left.copy(), expression=right.copy()), less),
            (exp.GT(this=left.copy(), expression=right.copy()), greater),
        ):
            ifs.append(exp.If(this=condition, true=_number(sign)))
    return _function(exp.Case(ifs=ifs, default=_number(0)), _LEFT, _RIGHT)


def _number(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return exp.Neg(this=number) if value < 0 else number


def _name(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


def _function(body: exp.Expr, *names: str) -> exp.Lambda:
    return exp.Lambda(
        this=body, expressions=[exp.to_identifier(name, quoted=True) for name in names]
    )


def _first_in_order(node: exp.Anonymous) -> exp.Expr | None:
    """first_value(x ORDER BY y, z), last_value(x ORDER BY y, z)."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Order):
        return None
    order = node.expressions[0]
    uses(order, "this", "expressions")
    for each in order.expressions:
        uses(each, "this", "desc", "nulls_first")
    directions = {
        (bool(each.args.get("desc")), bool(each.args.get("nulls_first")))
        for each in order.expressions
    }
    if not directions <= {(False, True)} and not directions <= {(True, False)}:
        raise refuse(
            f"{str(node.this).lower()} takes an ORDER BY of one direction, with nulls where they "
            "are by default",
            node,
        )
    descending = (True, False) in directions
    least = descending == str(node.this).lower().startswith("last")
    key = _called("struct", *(each.this.copy() for each in order.expressions))
    return _called("min_by" if least else "max_by", order.this.copy(), key)


def _with_most(node: exp.Anonymous) -> exp.Expr | None:
    """any_value(x HAVING MAX y)."""
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.HavingMax):
        return None
    having = node.expressions[0]
    uses(having, "this", "expression", "max")
    name = "max_by" if having.args.get("max") else "min_by"
    return _called(name, having.this.copy(), having.expression.copy())


def _count_distinct(node: exp.Anonymous) -> exp.Expr | None:
    return _called("count", exp.Distinct(expressions=[each.copy() for each in node.expressions]))


def _several_groupings(node: exp.Anonymous) -> exp.Expr | None:
    """grouping(a, b), the number that grouping_id gives."""
    if len(node.expressions) < _PAIR:
        return None
    return _called("grouping_id", *(each.copy() for each in node.expressions))


# Dates and times


def _unit(node: exp.Expr) -> str:
    """A unit of time that is written as a name."""
    is_name = isinstance(node, exp.Var) or (isinstance(node, exp.Column) and not node.table)
    word = node.name.upper() if is_name else ""
    return "WEEK" if word == "ISOWEEK" else word if word in _UNITS else ""


def _truncated(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != _PAIR or not _unit(node.expressions[1]):
        return None
    if isinstance(node.expressions[0], exp.Literal):  # date_trunc('DAY', month)
        return None
    value, unit = node.expressions[0].copy(), _unit(node.expressions[1])
    if str(node.this).lower() != "date_trunc":
        return _called("date_trunc", exp.Literal.string(unit), value)
    if unit in (*_DATE_UNITS, "WEEK"):
        return _called("trunc", value, exp.Literal.string(unit))
    return _called("to_date", value) if unit == "DAY" else None


def _shifted(node: exp.Anonymous) -> exp.Expr | None:
    """timestamp_add(t, INTERVAL …) and its like."""
    if len(node.expressions) != _PAIR or not isinstance(node.expressions[1], exp.Interval):
        return None
    kind = exp.Sub if str(node.this).lower().endswith("_sub") else exp.Add
    value, interval = (each.copy() for each in node.expressions)
    return exp.paren(kind(this=exp.paren(value), expression=interval))


def _difference(node: exp.Anonymous) -> exp.Expr | None:
    """timestamp_diff(later, earlier, UNIT), and date_diff of days."""
    if len(node.expressions) != _TRIPLE or not _unit(node.expressions[2]):
        return None
    if _unit(node.expressions[0]):  # date_diff(DAY, day, month)
        return None
    later, earlier, unit = (each.copy() for each in node.expressions)
    if str(node.this).lower() == "timestamp_diff":
        return _called("timestampdiff", exp.Var(this=_unit(unit)), earlier, later)
    if _unit(unit) == "DAY":
        return _called("datediff", later, earlier)
    raise refuse("a difference of dates in other units than DAY is timestampdiff(UNIT, a, b)", node)


def _interval(node: exp.Expr) -> exp.Expr:
    """A text such as '5 minutes' as an INTERVAL."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        return node
    quoted = node.this.replace("'", "")
    return parse_sql(f"INTERVAL '{quoted}'")


def _cast(node: exp.Cast) -> None:
    """'1 day'::interval."""
    is_text = isinstance(node.this, exp.Literal) and node.this.is_string
    if is_text and node.to.this == exp.DataType.Type.INTERVAL and not node.to.expressions:
        uses(node, "this", "to")
        _put(node, _interval(node.this))


def _bucket(node: exp.Anonymous) -> exp.Expr | None:
    """date_bin(size, t, origin) and timestamp_bucket(t, size, origin)."""
    parts = [each.copy() for each in node.expressions]
    if len(parts) < _PAIR:
        return None
    if str(node.this).lower() == "timestamp_bucket":
        parts[:2] = parts[1::-1]
    parts[0] = _interval(parts[0])
    if len(parts) > _PAIR and isinstance(parts[2], exp.Literal):
        parts[2] = exp.cast(parts[2], "TIMESTAMP")
    if str(node.this).lower() == "time_bucket" and parts == node.expressions:
        return None
    return _called("time_bucket", *parts)


def _refuse_zone(node: exp.AtTimeZone) -> None:
    raise refuse("AT TIME ZONE is written from_utc_timestamp(ts, 'zone') here", node)


_FIELDS = {"ISODOW": "DOW_ISO", "ISOWEEK": "WEEK", "ISOYEAR": "YEAROFWEEK"}


def _extract(node: exp.Extract) -> None:
    field = node.this.name.upper() if isinstance(node.this, exp.Var) else ""
    if field in _FIELDS:
        node.this.set("this", _FIELDS[field])
    elif field == "DATE":
        uses(node, "this", "expression")
        _put(node, _called("to_date", node.expression.copy()))
    elif field == "EPOCH":
        uses(node, "this", "expression")
        micros = exp.cast(_called("unix_micros", node.expression.copy()), "DOUBLE")
        _put(node, exp.paren(exp.Div(this=micros, expression=exp.Literal.number(1_000_000))))


# Lists and texts


def _bracket(node: exp.Bracket) -> None:
    """a[OFFSET(i)] and its like, from 0 or 1, null or an error where there is no such item."""
    place = node.expressions[0] if len(node.expressions) == 1 else None
    if not isinstance(place, exp.Anonymous) or len(place.expressions) != 1:
        return
    name = str(place.this).lower()
    if name == "offset":
        node.set("expressions", [place.expressions[0].copy()])
    elif name in _PLACES:
        _put(node, _called(_PLACES[name], node.this.copy(), place.expressions[0].copy()))


def _in_unnest(node: exp.In) -> None:
    unnest = node.args.get("unnest")
    if unnest is None or len(unnest.expressions) != 1 or unnest.args.get("alias"):
        return
    uses(node, "this", "unnest")
    uses(unnest, "expressions")
    _put(node, _has_item("exists", exp.EQ, node.this, unnest.expressions[0]))


def _has_item(name: str, kind: type[exp.Binary], value: exp.Expr, items: exp.Expr) -> exp.Expr:
    """Whether a comparison of a value is true with one, or with all, of the items of a list."""
    body = kind(this=value.copy(), expression=_name(_ITEM))
    return _called(name, items.copy(), _function(body, _ITEM))


def _any_item(node: exp.Any) -> None:
    """x = ANY (ARRAY[…])."""
    comparison, items = node.parent, node.this.unnest()
    if isinstance(comparison, exp.Binary) and _is_array(items):
        uses(node, "this")
        uses(comparison, "this", "expression")
        _put(comparison, _has_item("exists", type(comparison), comparison.this, items))


def _all_items(node: exp.Anonymous) -> exp.Expr | None:
    """x <> ALL (ARRAY[…])."""
    comparison = node.parent
    if isinstance(comparison, exp.Binary) and len(node.expressions) == 1:
        items = node.expressions[0]
        uses(node, "this", "expressions")
        uses(comparison, "this", "expression")
        _put(comparison, _has_item("forall", type(comparison), comparison.this, items))
    return None


def _is_array(node: exp.Expr) -> bool:
    if isinstance(node, exp.Bracket):
        return isinstance(node.this, exp.Column) and node.this.name.lower() == "array"
    return isinstance(node, exp.Array)


def _split_at(node: exp.Anonymous) -> exp.Expr | None:
    """split_index(text, ',', 0): the parts are counted from 0, and null where there is none."""
    if len(node.expressions) != _TRIPLE:
        return None
    text, between, place = node.expressions
    if not isinstance(between, exp.Literal) or not between.is_string:
        return None
    pattern = exp.Literal.string(re.escape(between.this))
    return _called("get", _called("split", text.copy(), pattern), place.copy())


def _series(node: exp.Anonymous) -> exp.Expr | None:
    """generate_array(a, b, step), which is empty if b is before a."""
    if not _PAIR <= len(node.expressions) <= _TRIPLE:
        return None
    start, end, *step = (each.copy() for each in node.expressions)
    rows = _called("sequence", start, end, *step)
    if step:
        return rows
    nothing = _called("slice", rows.copy(), exp.Literal.number(1), exp.Literal.number(0))
    return _called("if", exp.LT(this=end.copy(), expression=start.copy()), nothing, rows)


def _whole_part(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != _PAIR:
        return None
    one, other = (exp.paren(each.copy()) for each in node.expressions)
    return exp.paren(exp.IntDiv(this=one, expression=other))


def _opposite(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != 1:
        return None
    return _called("try_subtract", exp.Literal.number(0), node.expressions[0].copy())


def _rows_of_series(node: exp.Table) -> None:
    """FROM generate_series(a, b) AS n."""
    call = node.this
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() != "generate_series":
        return
    series = _series(call)
    alias = node.args.get("alias")
    if series is None or (alias is not None and alias.args.get("brackets")):
        return
    uses(node, "this", "alias")
    uses(call, "this", "expressions")
    if alias is None:
        alias = exp.TableAlias(columns=[exp.to_identifier("generate_series")])
    _put(node, exp.Unnest(expressions=[series], alias=alias.copy()))


def _exploded(node: exp.Anonymous) -> exp.Expr | None:
    """unnest(list) and generate_series(a, b) in the select list."""
    if str(node.this).lower() == "unnest":
        return _called("explode", *(each.copy() for each in node.expressions))
    if isinstance(node.parent, exp.Table):
        return None
    series = _series(node)
    return None if series is None else _called("explode", series)


@dataclass(frozen=True)
class _Items:
    """What SELECT value FROM UNNEST(list) AS name WHERE … is about."""

    items: exp.Expr
    name: str
    value: exp.Expr

    def aggregates(self) -> bool:
        calls = self.value.find_all(exp.Anonymous)
        return any(str(each.this).lower() in AGGREGATES for each in calls)

    def each(self) -> exp.Expr:
        """The list of the values."""
        if self.value == exp.column(self.name):
            return self.items
        return _called("transform", self.items, _function(self.value, self.name))


def _items_of(select: exp.Expr) -> _Items | None:
    """The items of a list of the row outside that a query is about; None if it is another one."""
    if isinstance(select, exp.Subquery):
        return _items_of(select.this)
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    unnest = source.this if source is not None else None
    if source is None or not isinstance(unnest, exp.Unnest) or len(unnest.expressions) != 1:
        return None
    alias, where = unnest.args.get("alias"), select.args.get("where")
    used = {name for name, part in select.args.items() if part}
    if alias is None or alias.this is None or unnest.args.get("offset"):
        return None
    if not used <= {"expressions", "from_", "where"} or len(select.expressions) != 1:
        return None
    names = [each.name for each in alias.args.get("columns") or ()]
    if len(names) > 1 or any(part is not select for part in select.find_all(exp.Query)):
        return None
    uses(source, "this")
    uses(unnest, "expressions", "alias")
    uses(alias, "this", "columns")
    name = names[0] if names else alias.name

    def plain(node: exp.Expr) -> exp.Expr:
        """An expression in which t.x is x, as in UNNEST(xs) AS t (x)."""
        is_own = isinstance(node, exp.Column) and node.table == alias.name and node.name == name
        return exp.column(name) if names and is_own else node

    items = unnest.expressions[0].copy()
    if where is not None:
        uses(where, "this")
        items = _called("filter", items, _function(where.this.copy().transform(plain), name))
    value = select.expressions[0].unalias().copy().transform(plain)
    return _Items(items, name, value)


def _any_items(node: exp.Exists) -> None:
    """EXISTS (SELECT … FROM UNNEST(xs) AS x WHERE …)."""
    found = _items_of(node.this)
    if found is not None and not found.aggregates():
        uses(node, "this")
        some = exp.GT(this=_called("size", found.items), expression=exp.Literal.number(0))
        _put(node, _called("coalesce", some, exp.false()))


def _value_of_items(node: exp.Subquery) -> None:
    """(SELECT max(x) FROM UNNEST(xs) AS x), and the same of min and count(*)."""
    found = None if isinstance(node.parent, (exp.From, exp.Join)) else _items_of(node)
    call = found.value if found is not None else None
    if found is None or not isinstance(call, exp.Anonymous) or len(call.expressions) != 1:
        return
    name, (value,) = str(call.this).lower(), call.expressions
    if name == "count" and isinstance(value, exp.Star):
        count = _called("size", found.items)
        _put(node, _called("coalesce", count, exp.Literal.number(0)))
    elif name in ("max", "min") and not isinstance(value, exp.Distinct):
        _put(node, _called(f"array_{name}", _Items(found.items, found.name, value).each()))


def _array_of_query(node: exp.Anonymous) -> exp.Expr | None:
    found = _items_of(node.expressions[0]) if len(node.expressions) == 1 else None
    if found is not None and not found.aggregates():
        return _called("coalesce", found.each(), _called("array"))
    if any(isinstance(each, exp.Query) for each in node.expressions):
        raise refuse("ARRAY(SELECT x …) is written (SELECT array_agg(x) …) here", node)
    return None


# Windows of GROUP BY

_WINDOWS = {"tumble": "window", "hop": "window", "session": "session_window"}
_PARTS = ("_start", "_end", "_rowtime")


def _group_windows(select: exp.Select) -> None:
    """GROUP BY TUMBLE(t, d), HOP(t, slide, size) and SESSION(t, gap), as Flink had them, and what
    the select list says of these windows."""
    group = select.args.get("group")
    calls = [
        each
        for each in (group.expressions if group is not None else ())
        if isinstance(each, exp.Anonymous) and str(each.this).lower() in _WINDOWS
    ]
    if len(calls) != 1:
        return
    kind = str(calls[0].this).lower()
    arguments = [each.copy() for each in calls[0].expressions]
    if kind == "hop" and len(arguments) > _PAIR:
        arguments[1:3] = arguments[2:0:-1]
    named = _WINDOWS[kind]
    for call in list(select.find_all(exp.Anonymous)):
        name = str(call.this).lower()
        part = name.removeprefix(kind)
        if call.parent_select is not select or not name.startswith(kind) or part not in _PARTS:
            continue
        uses(call, "this", "expressions")
        if call.expressions != calls[0].expressions:
            raise refuse(f"{name} takes the arguments that {kind} has in GROUP BY", call)
        field: exp.Expr = exp.column("start" if part == "_start" else "end", named)
        if part == "_rowtime":
            field = exp.paren(_before_end(field))
        _put(call, field)
    uses(calls[0], "this", "expressions")
    _put(calls[0], _called(named, *arguments))


def add_window_time(select: exp.Select) -> None:
    """Writes out window_time, which TUMBLE and its like have in Flink beside window_end."""
    source = select.args.get("from_")
    tables = [source, *(select.args.get("joins") or ())]
    if not any(each is not None and _is_window_table(each.this) for each in tables):
        return
    for column in list(select.find_all(exp.Column)):
        if column.name.lower() != "window_time" or column.parent_select is not select:
            continue
        end = column.copy()
        end.set("this", exp.to_identifier("window_end"))
        value: exp.Expr = exp.paren(_before_end(end))
        if column.parent is select:
            value = exp.alias_(value, "window_time")
        _put(column, value)


def _is_window_table(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, WindowTable)


def _before_end(end: exp.Expr) -> exp.Expr:
    """The last moment of a window, as Flink counts it."""
    one = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MILLISECOND"))
    return exp.Sub(this=end, expression=one)


_CHANGES: dict[str, Callable[[exp.Anonymous], exp.Expr | None]] = {
    "all": _all_items,
    "array": _array_of_query,
    "any_value": _with_most,
    "array_agg": _ordered_list,
    "count_distinct": _count_distinct,
    "date_add": _shifted,
    "date_bin": _bucket,
    "date_diff": _difference,
    "date_sub": _shifted,
    "date_trunc": _truncated,
    "datetime_add": _shifted,
    "datetime_diff": _difference,
    "datetime_sub": _shifted,
    "datetime_trunc": _truncated,
    "div": _whole_part,
    "first_value": _first_in_order,
    "generate_array": _series,
    "generate_series": _exploded,
    "grouping": _several_groupings,
    "last_value": _first_in_order,
    "safe_negate": _opposite,
    "split_index": _split_at,
    "time_bucket": _bucket,
    "timestamp_add": _shifted,
    "timestamp_bucket": _bucket,
    "timestamp_diff": _difference,
    "timestamp_sub": _shifted,
    "timestamp_trunc": _truncated,
    "unnest": _exploded,
}
_RESPELLED: dict[type[exp.Expr], Callable[[Any], None]] = {
    exp.Anonymous: _call,
    exp.Any: _any_item,
    exp.AtTimeZone: _refuse_zone,
    exp.Bracket: _bracket,
    exp.Cast: _cast,
    exp.Exists: _any_items,
    exp.Extract: _extract,
    exp.In: _in_unnest,
    exp.Select: _group_windows,
    exp.Subquery: _value_of_items,
    exp.Table: _rows_of_series,
    exp.TryCast: _cast,
}
