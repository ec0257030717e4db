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

    aggregates     those that take an order, a limit or the row with the most of something
    times          dates, times and intervals;  formats: how they are written
    json           JSON, which is a text here
    texts          texts like a pattern
    lists          lists and numbers;  list_queries: queries about the items of a list
    windows        windows of GROUP BY, and window_time
    syntax         parts of the syntax tree that calls are written with
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from driftline.plan.functions import AGGREGATES, FUNCTIONS
from driftline.plan.functions.higher_order import HIGHER_ORDER
from driftline.plan.used import uses
from driftline.sql.json_grammar import WITH_NULLS, WITHOUT_NULLS, WRAPPED
from driftline.sql.other_functions import (
    aggregates,
    formats,
    json,
    list_queries,
    lists,
    texts,
    times,
    windows,
)
from driftline.sql.other_functions.syntax import put

_SAME = {
    "approx_distinct": "approx_count_distinct",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "argmax": "max_by",
    "argmin": "min_by",
    "array_cat": "concat",
    "array_exists": "exists",
    "array_concat": "concat",
    "array_reverse": "reverse",
    "array_to_string": "array_join",
    "byte_length": "octet_length",
    "collect": "array_agg",
    "countif": "count_if",
    "ends_with": "endswith",
    "epoch_ms": "unix_millis",
    "extractjsonfield": "get_json_object",
    "greatest_ignore_nulls": "greatest",
    "jsonb_array_length": "json_array_length",
    "least_ignore_nulls": "least",
    "list_filter": "filter",
    "list_transform": "transform",
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


def respell_functions(query: exp.Expr) -> None:
    """Changes the calls of a query in place, those in its subqueries included."""
    for node in reversed(list(query.find_all(*_RESPELLED))):  # what is inside others first
        _RESPELLED[type(node)](node)


def _call(node: exp.Anonymous) -> None:
    name = str(node.this).lower()
    change = _CHANGES.get(name)
    if change is not None:
        made = change(node)
        if made is not None:
            uses(node, "this", "expressions")
            put(node, made)
    elif name in _SAME and name not in FUNCTIONS and name not in AGGREGATES:
        node.set("this", _SAME[name])
        aggregates.ordered_list(node)


def _lambda(node: exp.Lambda) -> None:
    name = str(node.parent.this).lower() if isinstance(node.parent, exp.Anonymous) else ""
    if name and _SAME.get(name, name) not in HIGHER_ORDER:
        json.part_and_no_function(node)


def _bracket(node: exp.Bracket) -> None:
    group = texts.group_of_match(node) if len(node.expressions) == 1 else None
    if group is None:
        lists.bracket(node)
    else:
        uses(node, "this", "expressions")
        put(node, exp.paren(group))


def _cast(node: exp.Cast) -> None:
    if not json.cast(node):
        times.cast(node)
        lists.written_as_text(node)


def _table(node: exp.Table) -> None:
    lists.rows_of_series(node)
    json.rows_of_items(node)


def _lateral(node: exp.Lateral) -> None:
    list_queries.table_function(node)
    lists.rows_of_series(node)
    json.rows_of_items(node)


def _select(node: exp.Select) -> None:
    windows.group_windows(node)
    list_queries.path_in_from(node)
    list_queries.numbered_columns(node)


_CHANGES: dict[str, Callable[[exp.Anonymous], exp.Expr | None]] = {
    "all": lists.all_items,
    "some": lists.some_item,
    "array": list_queries.array_of_query,
    "array_length": lists.length,
    "any_value": aggregates.with_most,
    "array_agg": aggregates.ordered_list,
    "count_distinct": aggregates.count_distinct,
    "date_add": times.shifted,
    "date_bin": times.bucket,
    "date_diff": times.difference,
    "date_sub": times.shifted,
    "date_trunc": times.truncated,
    "datetime_add": times.shifted,
    "datetime_diff": times.difference,
    "datetime_sub": times.shifted,
    "datetime_trunc": times.truncated,
    "div": lists.whole_part,
    "epoch": times.seconds,
    "first": aggregates.first_by,
    "first_value": aggregates.first_in_order,
    "format_date": formats.by_percent,
    "format_datetime": formats.by_percent,
    "format_timestamp": formats.by_percent,
    "generate_array": lists.series,
    "generate_series": lists.exploded,
    "grouping": aggregates.several_groupings,
    **dict.fromkeys(json.ELEMENTS, json.explode_items),
    **{f"json_object{each}": json.object_of for each in ("", WITH_NULLS, WITHOUT_NULLS)},
    **{f"json_array{each}": json.array_of for each in ("", WITH_NULLS, WITHOUT_NULLS)},
    **{f"json_arrayagg{each}": json.list_of_rows for each in ("", WITH_NULLS, WITHOUT_NULLS)},
    "json_agg": json.list_of_rows,
    "json_build_array": json.array_of,
    "json_build_object": json.object_of,
    "json_exists": json.has,
    "json_extract_scalar": json.value_at,
    "json_object_agg": json.object_of_rows,
    "json_objectagg": json.object_of_rows,
    "json_query": json.query_at,
    f"json_query{WRAPPED}": json.query_at,
    "json_quote": json.text_of,
    "json_string": json.text_of,
    "json_typeof": json.kind_of,
    "json_value": json.value_at,
    "jsonb_agg": json.list_of_rows,
    "jsonb_build_array": json.array_of,
    "jsonb_build_object": json.object_of,
    "jsonb_object_agg": json.object_of_rows,
    "jsonb_object_keys": json.explode_keys,
    "jsonb_typeof": json.kind_of,
    "last": aggregates.first_by,
    "last_value": aggregates.first_in_order,
    "parse_date": formats.by_percent,
    "parse_timestamp": formats.by_percent,
    "safe_negate": lists.opposite,
    "split_index": lists.split_at,
    "strftime": formats.by_percent,
    "string_to_array": lists.parts,
    "strptime": formats.by_percent,
    "time_bucket": times.bucket,
    "timestamp_add": times.shifted,
    "timestamp_bucket": times.bucket,
    "timestamp_diff": times.difference,
    "timestamp_sub": times.shifted,
    "timestamp_trunc": times.truncated,
    "to_char": formats.by_letters,
    "to_date": formats.by_letters,
    "to_jsonb": json.text_of,
    "to_timestamp": formats.by_letters,
    "unnest": lists.exploded,
}
_RESPELLED: dict[type[exp.Expr], Callable[[Any], None]] = {
    exp.Anonymous: _call,
    exp.Any: lists.any_item,
    exp.AtTimeZone: times.refuse_zone,
    exp.Bracket: _bracket,
    exp.Cast: _cast,
    exp.Exists: list_queries.any_items,
    exp.Extract: times.extract,
    exp.JSONBExtract: json.along,
    exp.JSONBExtractScalar: json.along,
    exp.In: lists.in_unnest,
    exp.Is: json.is_json,
    exp.Lambda: _lambda,
    exp.Lateral: _lateral,
    exp.Select: _select,
    exp.SimilarTo: texts.similar,
    exp.Subquery: list_queries.value_of_items,
    exp.Table: _table,
    exp.TryCast: _cast,
    exp.WindowSpec: times.frame,
    exp.WithinGroup: aggregates.list_within_group,
}
