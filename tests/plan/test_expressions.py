"""From SQL to expressions: how texts are read, which types they have, and what is refused."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
import sqlglot

from driftline.engine.expressions import evaluate
from driftline.plan import ExpressionError, Schema, parse_expression, resolve
from driftline.plan.dialect import DriftlineSpark, parse_sql
from driftline.plan.expressions import AggregateCall, Call, Column, Expression, Literal
from driftline.plan.types import DOUBLE, INT, TINYINT, is_map, type_name

T = Schema.of(
    {
        "i": "INT",
        "l": "BIGINT",
        "d": "DOUBLE",
        "p": "DECIMAL(10,2)",
        "s": "STRING",
        "b": "BOOLEAN",
        "dt": "DATE",
        "ts": "TIMESTAMP",
        "a": "ARRAY<INT>",
        "st": "STRUCT<x: INT, y: STRING>",
        "m": "MAP<STRING, INT>",
        "vs": "BIGINT",
    },
    qualifier="t",
)


def parse(text: str) -> Expression:
    return parse_expression(text, T)


def refusal(text: str, schema: Schema = T) -> str:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text, schema)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a || b + c", "(a || b) + c"),
        ("a | b & c ^ d", "a | ((b & c) ^ d)"),
        ("a = b < c", "(a = b) < c"),
        ("NOT a = b", "NOT (a = b)"),
        ("a OR b AND c", "a OR (b AND c)"),
        ("a << 1 + 2", "a << (1 + 2)"),
        ("-a % b", "(-a) % b"),
        ("a + b * c", "a + (b * c)"),
        ("a BETWEEN 1 AND 2 AND b", "(a BETWEEN 1 AND 2) AND b"),
    ],
)
def test_operators_bind_as_in_spark(text: str, read_as: str) -> None:
    schema = Schema.of(dict.fromkeys("abcd", "INT"))
    if any(word in text for word in ("OR", "NOT", "AND b")):
        schema = Schema.of(dict.fromkeys("abcd", "BOOLEAN"))
    if "BETWEEN" in text:
        schema = Schema.of({"a": "INT", "b": "BOOLEAN"})
    if text == "a = b < c":
        schema = Schema.of({"a": "INT", "b": "INT", "c": "BOOLEAN"})
    assert parse_expression(text, schema) == parse_expression(read_as, schema)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1", "INT"),
        ("2147483648", "BIGINT"),
        ("-2147483648", "INT"),
        ("-9223372036854775808", "BIGINT"),
        ("12345678901234567890", "DECIMAL(20,0)"),
        ("10L", "BIGINT"),
        ("1Y", "TINYINT"),
        ("2S", "SMALLINT"),
        ("1.5", "DECIMAL(2,1)"),
        (".5", "DECIMAL(1,1)"),
        ("0.001", "DECIMAL(3,3)"),
        ("1.50", "DECIMAL(3,2)"),
        ("1e0", "DOUBLE"),
        ("1.5D", "DOUBLE"),
        ("1.5F", "FLOAT"),
        ("1.5BD", "DECIMAL(2,1)"),
        ("1.5e3BD", "DECIMAL(4,0)"),
        ("'a'", "STRING"),
        ("X'1F'", "BINARY"),
        ("TRUE", "BOOLEAN"),
        ("NULL", "VOID"),
        ("DATE '2024-05-01'", "DATE"),
        ("TIMESTAMP '2024-05-01 10:00:00'", "TIMESTAMP"),
        ("TIMESTAMP_NTZ '2024-05-01 10:00:00'", "TIMESTAMP_NTZ"),
        ("INTERVAL '5' MINUTES", "INTERVAL DAY TO SECOND"),
        ("INTERVAL 5 MINUTES", "INTERVAL DAY TO SECOND"),
        ("INTERVAL '1 2:03:04' DAY TO SECOND", "INTERVAL DAY TO SECOND"),
        ("INTERVAL 2 MONTHS", "INTERVAL YEAR TO MONTH"),
    ],
)
def test_constants(text: str, kind: str) -> None:
    assert isinstance(parse(text), Literal)
    assert type_name(parse(text).type) == kind


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"'\%'", r"\%"),
        (r"'\q'", "q"),
        (r"'a\nb'", "a\nb"),
        (r"'\u0041'", "A"),
        ("'it''s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        (r"r'\d'", r"\d"),
    ],
)
def test_escapes_in_texts(text: str, content: str) -> None:
    assert parse(text) == Literal(content, parse("''").type)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("i + l", "BIGINT"),
        ("i + d", "DOUBLE"),
        ("i / 2", "DOUBLE"),
        ("p / 3", "DECIMAL(14,6)"),
        ("p * 2", "DECIMAL(12,2)"),
        ("p * i", "DECIMAL(21,2)"),
        ("p + d", "DOUBLE"),
        ("i DIV 2", "BIGINT"),
        ("s + 1", "BIGINT"),
        ("s * 1.5", "DOUBLE"),
        ("dt + 1", "DATE"),
        ("dt + INTERVAL 5 DAYS", "DATE"),
        ("dt + INTERVAL 5 MINUTES", "TIMESTAMP"),
        ("dt + INTERVAL 1 MONTH", "DATE"),
        ("dt + (dt - dt)", "DATE"),
        ("dt - dt", "INTERVAL DAY TO SECOND"),
        ("ts - dt", "INTERVAL DAY TO SECOND"),
        ("'2020-01-01' + INTERVAL 1 DAY", "STRING"),
        ("i & l", "BIGINT"),
        ("s || i", "STRING"),
        ("CASE WHEN b THEN i ELSE 2.5 END", "DECIMAL(11,1)"),
        ("coalesce(i, s)", "BIGINT"),
        ("if(b, dt, '2020-01-01')", "DATE"),
        ("greatest(i, 2.5, l)", "DECIMAL(21,1)"),
        ("round(p, 1)", "DECIMAL(10,1)"),
        ("ceil(p)", "DECIMAL(9,0)"),
        ("ceil(d)", "BIGINT"),
        ("extract(SECOND FROM ts)", "DECIMAL(8,6)"),
        ("array(i, 2.5)", "ARRAY<DECIMAL(11,1)>"),
        ("struct(i, l AS k, 1)", "STRUCT<i: INT, k: BIGINT, col3: INT>"),
        ("a[0]", "INT"),
        ("m['x']", "INT"),
        ("st.y", "STRING"),
        ("t.st.x", "INT"),
        ("vs + 1", "BIGINT"),
    ],
)
def test_types_of_results(text: str, kind: str) -> None:
    assert type_name(parse(text).type) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("count(*)", "BIGINT"),
        ("count(DISTINCT i, s)", "BIGINT"),
        ("sum(i)", "BIGINT"),
        ("sum(p)", "DECIMAL(20,2)"),
        ("sum(d)", "DOUBLE"),
        ("sum(s)", "DOUBLE"),
        ("avg(i)", "DOUBLE"),
        ("avg(p)", "DECIMAL(14,6)"),
        ("min(dt)", "DATE"),
        ("max(st)", "STRUCT<x: INT, y: STRING>"),
        ("stddev(i)", "DOUBLE"),
        ("var_pop(p)", "DOUBLE"),
        ("median(i)", "DOUBLE"),
        ("percentile(i, 0.5)", "DOUBLE"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY i)", "DOUBLE"),
        ("approx_percentile(i, 0.5)", "INT"),
        ("first(s)", "STRING"),
        ("last(s) IGNORE NULLS", "STRING"),
        ("array_agg(i)", "ARRAY<INT>"),
        ("collect_set(s)", "ARRAY<STRING>"),
        ("bool_or(b)", "BOOLEAN"),
        ("any(b)", "BOOLEAN"),
        ("sum(i) FILTER (WHERE b)", "BIGINT"),
    ],
)
def test_aggregates(text: str, kind: str) -> None:
    found = parse(text)
    assert isinstance(found, AggregateCall)
    assert type_name(found.type) == kind
    assert parse(found.sql()) == found


@pytest.mark.parametrize(
    ("text", "kind", "calls"),
    [
        ("percentile(i, array(0, 0.75))", "ARRAY<DOUBLE>", ["count", "percentile", "percentile"]),
        ("max_by(s, i)", "STRING", ["max"]),
        ("min_by(s, i) FILTER (WHERE b)", "STRING", ["min"]),
        ("string_agg(s, ',')", "STRING", ["count", "array_agg"]),
        ("corr(i, d)", "DOUBLE", ["covar_pop", "stddev_pop", "stddev_pop"]),
        ("approx_count_distinct(s)", "BIGINT", ["count"]),
    ],
)
def test_aggregates_that_are_written_with_others(text: str, kind: str, calls: list[str]) -> None:
    found = parse(text)
    assert type_name(found.type) == kind
    assert [call.function for call in found.aggregates()] == calls


def test_aggregates_inside_an_expression_are_listed_once() -> None:
    found = parse("sum(i) / count(*) + sum(i)")
    assert [call.sql() for call in found.aggregates()] == ["sum(i)", "count(*)"]
    distinct, filtered = parse("count(DISTINCT i)"), parse("sum(i) FILTER (WHERE i > 1)")
    assert isinstance(distinct, AggregateCall)
    assert distinct.distinct
    assert isinstance(filtered, AggregateCall)
    assert filtered.filter == parse("i > 1")


def test_columns_and_equality() -> None:
    assert parse("t.I + l * 2").columns() == {"i", "l"}
    assert parse("i + 1") == parse("I  +  1")
    assert hash(parse("i + 1")) == hash(parse("(i + 1)"))
    assert parse("i + 1") != parse("i + 1L")
    assert Literal(0.0, DOUBLE) != Literal(-0.0, DOUBLE)


def test_columns_can_be_replaced() -> None:
    found = parse("i + 1 > l").transform(
        lambda node: Column("k", INT) if node == Column("i", INT, "t") else node
    )
    assert found.sql() == "(CAST((k + 1) AS BIGINT) > l)"


def test_a_name_on_both_sides_of_a_join() -> None:
    both = Schema.of({"k": "INT"}, "t") + Schema.of({"k": "INT", "y": "INT"}, "u")
    assert parse_expression("t.k = u.k", both).columns() == {"t.k", "u.k"}
    assert parse_expression("t.k = u.k", both).sql() == "(t.k = u.k)"
    assert "ambiguous: it may be t.k, u.k" in refusal("k = 1", both)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pric", "there is no column pric; there are"),
        ("ii + 1", "there is no column ii; did you mean i?"),
        ("u.i", "there is no column u.i; did you mean t.i"),
        ("uper(s)", "there is no function uper; did you mean upper? (line 1, column 1)"),
        ("upper()", "upper takes 1 argument, not 0"),
        ("substring(s)", "substring takes 2 to 3 arguments, not 1"),
        ("greatest(i)", "greatest takes at least 2 arguments, not 1"),
        ("upper(a)", "argument 1 of upper must be a STRING: a has the type ARRAY<INT>"),
        ("date_add(dt, l)", "argument 2 of date_add must be an INT: l has the type BIGINT"),
        ("i + b", "+ cannot take INT and BOOLEAN"),
        ("'5' + '6'", "+ cannot take STRING and STRING"),
        ("1.5D DIV 2", "DIV cannot take DOUBLE and INT"),
        ("i = b", "INT and BOOLEAN cannot be compared"),
        ("m = m", "values of type MAP<STRING, INT> cannot be compared"),
        ("CASE WHEN i THEN 1 END", "WHEN must be a condition: i has the type INT"),
        ("if(b, 1, dt)", "have no common type: INT, DATE"),
        ("CAST(i AS DATE)", "i has the type INT, which cannot be cast to DATE"),
        ("DATE '2023-02-30'", "'2023-02-30' is not a DATE"),
        ("st.z", "there is no field z in st; it has x, y"),
        ("i.z", "i is a INT: it has no field z"),
        ("s LIKE 'a' ESCAPE 'ab'", "ESCAPE takes one character"),
        ("round(d, i)", "the number of digits of round must be a constant"),
        ("INTERVAL 5.5 DAYS", "is not a whole number"),
        ("INTERVAL i DAYS", "must be a constant"),
        ("current_timestamp()", "must give the same answer whenever it is run again"),
        ("current_date", "must give the same answer"),
        ("rand()", "must give the same answer"),
        ("uuid()", "must give the same answer"),
        ("unix_timestamp()", "must give the same answer"),
        ("sum(sum(i))", "an aggregate function cannot take another one"),
        ("i IN (SELECT 1)", "is a join"),
        ("i AS x", "a name (AS x) cannot be given inside an expression"),
        ("*", "* stands for all columns"),
        ("1 +", "syntax error"),
        ("(i", "syntax error"),
        ("", "an expression is expected"),
        ("1; 2", "an expression is expected"),
        ("i ! 1", "syntax error near '!'"),
        ("'abc", "a ' is opened here and not closed"),
    ],
)
def test_what_is_refused_and_why(text: str, reason: str) -> None:
    assert reason in refusal(text)


def test_an_error_says_where() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("i +\n  pric * 2")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_trees_of_the_sql_layer_are_resolved() -> None:
    select = sqlglot.parse_one("SELECT price * 2 AS x FROM t", dialect=DriftlineSpark)
    node = select.expressions[0].unalias()
    found = resolve(node, Schema.of({"price": "DOUBLE"}))
    assert found.sql() == "(price * 2.0D)"


def test_trees_of_the_plain_spark_dialect_are_resolved_too() -> None:
    node = sqlglot.parse_one("coalesce(upper(s), date_format(ts, 'yyyy'))", dialect="spark")
    assert resolve(node, T) == parse("coalesce(upper(s), date_format(ts, 'yyyy'))")


@pytest.mark.parametrize(
    "text",
    [
        "TRIM(BOTH 'x' FROM s)",
        "timestampadd(HOUR, 1, ts)",
        "extract(DOW_ISO FROM dt)",
        "try_divide(i, 0)",
        "try_add(ts, INTERVAL 1 DAY)",
        "ceil(p, 1)",
        "named_struct('a b', i).`a b`",
        "s NOT ILIKE 'a%' ESCAPE '/'",
        "i NOT IN (1, NULL)",
        "b IS NOT TRUE",
        "CASE i WHEN 1 THEN 'a' END",
        "if(b, i, 2.5)",
        r"'it\'s \\ \n'",
        "CAST('NaN' AS DOUBLE)",
        "INTERVAL -90 SECONDS * 2",
        "a[0] + element_at(a, -1)",
        "TRY_CAST(s AS DECIMAL(5,2))",
    ],
)
def test_the_text_of_an_expression_means_the_expression(text: str) -> None:
    assert parse(parse(text).sql()) == parse(text)


def test_a_syntax_tree_keeps_function_calls_as_they_are() -> None:
    assert parse_sql("date_add(dt, 1)").sql("spark").lower() == "date_add(dt, 1)"
    assert isinstance(parse("date_add(dt, 1)"), Call)


def test_expressions_travel_between_processes() -> None:
    expression = parse("p * 2 > 5 AND s LIKE 'a%'")
    rows = pa.table({"p": pa.array([Decimal("3.00")], pa.decimal128(10, 2)), "s": ["ab"]})
    assert evaluate(expression, rows).to_pylist() == [True]
    copy = pickle.loads(pickle.dumps(expression))
    assert copy == expression
    assert evaluate(copy, rows).to_pylist() == [True]


_LONG = 1200


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (" + ".join(["i"] * _LONG), _LONG),
        (" + ".join(["p", "1L", "i"] * (_LONG // 3)), Decimal("1000.00")),
        (" OR ".join(f"i = {number + 2}" for number in range(_LONG)), False),
        (" AND ".join(f"10 / (i - {number + 2}) <> 1" for number in range(_LONG)), True),
        (" || ".join(["s"] * _LONG), "a" * _LONG),
        ("i" + "::BIGINT::INT" * (_LONG // 2), 1),
        (f"concat({', '.join(['s'] * _LONG)})", "a" * _LONG),
        (f"{'(' * 200}i{')' * 200}", 1),
        (f"{'abs(' * 200}i{')' * 200}", 1),
        (f"{'(i + ' * 200}i{')' * 200}", 201),
        ("NOT " * 200 + "b", True),
        ("CASE WHEN i = 2 THEN 0 ELSE " * 200 + "i" + " END" * 200, 1),
    ],
)
def test_long_chains_and_deep_nests(text: str, result: object) -> None:
    expression, same = parse(text), parse(text)
    assert expression == same
    assert hash(expression) == hash(same)
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert again.sql() == expression.sql()
    assert again.transform(lambda part: part) is again
    row = pa.table({"i": [1], "p": [Decimal("0.50")], "s": ["a"], "b": [True]})
    row = row.cast(pa.schema([("i", INT), ("p", T.find("p")[0].type), ("s", "str"), ("b", "bool")]))
    assert evaluate(again, row).to_pylist() == [result]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (f"{'(' * 5000}i{')' * 5000}", 201),
        (f"i + {'abs(' * 5000}i{')' * 5000}", 808),
        ("NOT " * 5000 + "b", 805),
    ],
)
def test_what_is_nested_too_deeply_is_refused_at_its_place(text: str, column: int) -> None:
    with pytest.raises(ExpressionError, match="nested more than 200 deep") as refused:
        parse(text)
    assert (refused.value.line, refused.value.column) == (1, column)


def test_a_mistake_in_a_long_chain_has_its_place_and_a_short_message() -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(" + ".join(["i"] * _LONG) + " + dt + ts")
    assert refused.value.line == 1
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "text",
    ["1e400", "-1e400", "1e400D", "1e39F", "128Y", "-129Y", "32768S", f"{2**63}L", "1e1000000000"],
)
def test_numbers_outside_of_their_type_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="is outside of the range of a"):
        parse(text)
    assert parse("1e308").type == DOUBLE
    assert parse("-128Y") == Literal(-128, TINYINT)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1.5L", "1.5L is not a whole number"),
        ("1e5S", "1e5S is not a whole number"),
        ("0x1F", "0x… is not a number"),
        ("1e", "digits are missing after the e"),
        ("1e999999999BD", "the precision must be 1 to 38"),
        ("1" * 5000, "more than the 38 digits"),
        ("ts + INTERVAL '99999999999999999999' SECOND", "is too long"),
    ],
)
def test_what_is_no_number_is_refused(text: str, why: str) -> None:
    with pytest.raises(ExpressionError, match=why):
        parse(text)


def test_count_distinct_of_all_columns_is_of_rows_without_nulls() -> None:
    counted = parse("count(DISTINCT *)")
    assert [str(each) for each in counted.children] == [
        f"$in_key_order({each.name})" if is_map(each.type) else each.name for each in T
    ]
    assert parse("count(*)").children == ()
