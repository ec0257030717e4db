"""The words inside JSON functions, as SQL:2016 has them.

JSON_OBJECT([KEY] k VALUE v, … [ABSENT ON NULL]), JSON_OBJECTAGG([KEY] k VALUE v)
JSON_ARRAY(x, … [NULL ON NULL]), JSON_ARRAYAGG(x [NULL ON NULL])
JSON_VALUE(text, path [RETURNING type] [DEFAULT x ON EMPTY]), JSON_QUERY(text, path [WITH WRAPPER])

Each becomes a call with plain arguments, which `other_functions.json` writes with functions of
Spark. What is so by default may be written, too, as NULL ON ERROR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

WITH_NULLS, WITHOUT_NULLS, WRAPPED = "$with_nulls", "$without_nulls", "$wrapped"
"""Behind the name of a function: that nulls are kept, or left out, or that it gives a list."""


def _called(name: str, *args: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(args))


def _nulls(parser: Any) -> str:
    """The end of the name, by ABSENT ON NULL or NULL ON NULL."""
    if parser._match_text_seq("ABSENT", "ON", "NULL"):
        return WITHOUT_NULLS
    return WITH_NULLS if parser._match_text_seq("NULL", "ON", "NULL") else ""


def json_object(parser: Any) -> exp.Expr:
    """Keys and values: `KEY k VALUE v`, `k VALUE v`, `k: v` or `k, v`."""
    name = parser._tokens[parser._index - 2].text.lower()
    parts: list[exp.Expr] = []
    while not parser._at(TokenType.R_PAREN):
        is_word = parser._next and parser._next.text.upper() not in ("VALUE", ":", ",", ")")
        if is_word:
            parser._match_text_seq("KEY")
        ends = parser._next and parser._next.text.upper() in ("VALUE", ":", ",")
        is_text = parser._at(TokenType.STRING) and ends
        key = parser._parse_string() if is_text else parser._parse_bitwise()
        if key is None:
            parser.refuse(f"{name} takes keys and values: {name}('a' VALUE x)")
        parts.append(key)
        if parser._match_text_seq("VALUE") or parser._match(TokenType.COLON):
            parts.append(parser._parse_disjunction())
        if not parser._match(TokenType.COMMA):
            break
    return _called(name + _nulls(parser), *parts)


def json_array(parser: Any) -> exp.Expr:
    name = parser._tokens[parser._index - 2].text.lower()
    items = [] if parser._at(TokenType.R_PAREN) else parser._parse_csv(parser._parse_lambda)
    return _called(name + _nulls(parser), *items)


def json_value(parser: Any) -> exp.Expr:
    args = parser._parse_csv(parser._parse_disjunction)
    kind = parser._parse_types() if parser._match_text_seq("RETURNING") else None
    found: exp.Expr = _called("json_value", *args)
    if kind is not None:
        found = exp.TryCast(this=found, to=kind, safe=True)
    if parser._match_text_seq("DEFAULT"):
        instead = parser._parse_bitwise()
        if not parser._match_text_seq("ON", "EMPTY"):
            parser.refuse("JSON_VALUE takes DEFAULT … ON EMPTY; where there is an error it is null")
        there = _called("json_exists", *(each.copy() for each in args))
        found = _called("if", there, found, instead)
    _null_by_default(parser)
    return found


def json_query(parser: Any) -> exp.Expr:
    name = "json_query"
    args = parser._parse_csv(parser._parse_disjunction)
    if parser._match_text_seq("WITH"):
        parser._match_text_seq("UNCONDITIONAL")
        parser._match_text_seq("ARRAY")
        parser._expect("WRAPPER")
        name += WRAPPED
    elif parser._match_text_seq("WITHOUT"):
        parser._match_text_seq("ARRAY")
        parser._expect("WRAPPER")
    _null_by_default(parser)
    return _called(name, *args)


def _null_by_default(parser: Any) -> None:
    parser._match_text_seq("NULL", "ON", "EMPTY")
    parser._match_text_seq("NULL", "ON", "ERROR")


def part(kind: type[exp.Expr]) -> Callable[[Any, Any, exp.Expr], exp.Expr]:
    """x -> 'a.b' and x ->> 2: a key as it is, or a place in a list, and no path."""

    def parsed(parser: Any, whole: exp.Expr, key: exp.Expr) -> exp.Expr:
        if not isinstance(key, exp.Literal) or (key.is_string and "'" in key.this):
            parser.refuse(
                "after -> and ->> there is a constant key or a place: 'a' or 0", parser._prev
            )
        step: exp.Expr = exp.JSONPathKey(this=key.this)
        if not key.is_string:
            step = exp.JSONPathSubscript(this=int(key.this))
        path = exp.JSONPath(expressions=[exp.JSONPathRoot(), step])
        return kind(this=whole, expression=path)

    return parsed


JSON_FUNCTIONS = {
    "JSON_OBJECT": json_object,
    "JSON_OBJECTAGG": json_object,
    "JSON_ARRAY": json_array,
    "JSON_ARRAYAGG": json_array,
    "JSON_VALUE": json_value,
    "JSON_QUERY": json_query,
}
