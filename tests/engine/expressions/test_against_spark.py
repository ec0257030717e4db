"""Random expressions, evaluated here and by Spark itself: same types, same values, same failures.

Spark evaluates the expression as it is written: the rules of its optimiser that would leave out a
part of it (and with it a failure) are off, and so is the sharing of common parts.
"""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from driftline.engine.expressions import EvaluationError, evaluate
from driftline.plan import ExpressionError, parse_expression
from driftline.plan.expressions import Expression
from driftline.plan.types import canonical, type_name
from tests.engine.expressions.random_expressions import (
    KINDS,
    SCHEMA,
    TEMPLATES,
    expressions,
    filled,
    table_of,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_RULES = [
    "ConstantFolding",
    "NullPropagation",
    "BooleanSimplification",
    "SimplifyConditionals",
    "OptimizeIn",
    "SimplifyBinaryComparison",
    "LikeSimplification",
    "SimplifyCasts",
    "PushFoldableIntoBranches",
    "ReplaceNullWithFalseInPredicate",
    "RemoveDispensableExpressions",
    "ReorderAssociativeOperator",
    "SimplifyCaseConversionExpressions",
    "UnwrapCastInBinaryComparison",
    "FoldablePropagation",
    "SimplifyExtractValueOps",
    "CombineConcats",
    "OptimizeUpdateFields",
    "SimplifyDateTimeConversions",
    "NullDownPropagation",
    "ConstantPropagation",
]
_PREFIX = "org.apache.spark.sql.catalyst.optimizer."
_EXPRESSIONS = 30


@pytest.fixture(scope="module")
def as_written(spark: Any) -> Any:
    """A session that evaluates expressions as they are written."""
    session = spark.newSession()
    session.conf.set("spark.sql.optimizer.excludedRules", ",".join(_PREFIX + r for r in _RULES))
    session.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # compiling takes too long
    return session


def by_spark(session: Any, texts: list[str], rows: Any) -> list[Any]:
    """For each expression Spark's values, or the exception it raised."""
    frame = session.createDataFrame(rows)
    return _bisected(frame, texts)


def _bisected(frame: Any, texts: list[str]) -> list[Any]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if not texts:
        return []
    named = [f"{text} AS c{place}" for place, text in enumerate(texts)]
    try:
        found = frame.selectExpr(*named).toArrow()
        return [found.column(place).combine_chunks() for place in range(len(texts))]
    except PySparkException as error:
        if len(texts) == 1:
            return [error]
    except Py4JJavaError:  # a bug of Spark's own, such as a null that it did not expect
        if len(texts) == 1:
            return [None]
    half = len(texts) // 2
    return _bisected(frame, texts[:half]) + _bisected(frame, texts[half:])


def here(expression: Expression, rows: Any) -> Any:
    """Our values, or the exception."""
    try:
        return evaluate(expression, rows)
    except EvaluationError as error:
        return error


def same(ours: Any, theirs: Any) -> bool:
    """Equal values: NaN is NaN, but 0.0 is not -0.0, and texts of numbers are the same texts."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(map(same, ours.values(), theirs.values()))
    return bool(ours == theirs)


def plain(array: Any) -> list[Any]:
    """The values as Python objects; dates and times as numbers, which have no limits."""
    kind = array.type
    if pa.types.is_date32(kind):
        return list(array.view(pa.int32()).to_pylist())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return list(array.cast(canonical(kind)).view(pa.int64()).to_pylist())
    return list(array.to_pylist())


def explain(text: str, ours: Any, theirs: Any, rows: Any) -> str | None:
    """What differs, or None."""
    if theirs is None:
        return None
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        if isinstance(ours, Exception) and isinstance(theirs, Exception):
            return None
        shown = f"{theirs}".split("\n", maxsplit=1)[0] if isinstance(theirs, Exception) else theirs
        ours = ours if isinstance(ours, Exception) else plain(ours)
        shown = shown if isinstance(shown, str) else plain(shown)
        return f"{text}\n  ours:   {ours}\n  Spark's: {shown}"
    if canonical(theirs.type) != ours.type:
        return f"{text}\n  type: ours {type_name(ours.type)}, Spark's {theirs.type}"
    for row, (one, other) in enumerate(zip(plain(ours), plain(theirs), strict=True)):
        if not same(one, other):
            values = rows.slice(row, 1).to_pylist()[0]
            used = {
                k: v for k, v in values.items() if k in parse_expression(text, SCHEMA).columns()
            }
            return f"{text}\n  row {used}\n  ours:   {one!r}\n  Spark's: {other!r}"
    return None


def differences(session: Any, texts: list[str], rows: Any) -> list[str]:
    """All differences between our answers and Spark's.

    Where an expression fails here, Spark must fail, too; on the other rows both must agree.
    """
    found, asked = [], []
    for text in texts:
        expression = parse_expression(text, SCHEMA)
        ours = here(expression, rows)
        good = list(range(rows.num_rows))
        if isinstance(ours, Exception):
            single = [here(expression, rows.slice(row, 1)) for row in good]
            bad = next(row for row in good if isinstance(single[row], Exception))
            one = rows.slice(bad, 1)
            found.append(explain(text, single[bad], by_spark(session, [text], one)[0], one))
            good = [row for row in good if not isinstance(single[row], Exception)]
            ours = here(expression, rows.take(good)) if good else None
        if good:
            asked.append((text, good, ours))
    numbered = rows.append_column("row", pa.array(range(rows.num_rows), pa.int32()))
    guarded = [
        text
        if len(good) == rows.num_rows
        else f"CASE WHEN row IN ({', '.join(map(str, good))}) THEN {text} END"
        for text, good, _ in asked
    ]
    answers = by_spark(session, guarded, numbered)
    for (text, good, ours), theirs in zip(asked, answers, strict=True):
        kept = theirs.take(good) if isinstance(theirs, pa.Array) else theirs
        found.append(explain(text, ours, kept, rows.take(good)))
    return [difference for difference in found if difference]


_SETTINGS = settings(
    max_examples=1,
    phases=[Phase.reuse, Phase.generate],
    derandomize=True,  # rare corners of Spark's own should not fail other people's changes
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
_SEEDS = st.integers(0, 2**32)


@_SETTINGS
@given(seed=_SEEDS, texts=st.lists(expressions(), min_size=_EXPRESSIONS, max_size=_EXPRESSIONS))
def test_random_expressions(as_written: Any, seed: int, texts: list[str]) -> None:
    found = differences(as_written, texts, table_of(Random(seed)))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("kind", KINDS)
@_SETTINGS
@given(seed=_SEEDS)
def test_every_function(as_written: Any, kind: str, seed: int) -> None:
    random = Random(seed)
    texts = [filled(random.choice, template, depth=0) for template in TEMPLATES[kind]]
    found = differences(as_written, texts, table_of(random, rows=40))
    assert not found, "\n\n".join(found)


_AGGREGATES = """
    count(*)|count(DISTINCT i, s)|sum(i8)|sum(i)|sum(l)|sum(d)|sum(f)|sum(p)|sum(q)|sum(n)
    sum(ts - tu)|avg(i)|avg(p)|avg(q)|avg(d)|min(s)|max(ts)|min(x)|max(a)|stddev(i)
    variance(p)|var_pop(d)|median(i)|median(p)|percentile(i, 0.5)
    percentile(i, array(0.25, 0.5))|approx_percentile(p, 0.5)|first(s)|last(dt, true)
    any_value(x)|array_agg(i)|collect_set(s)|max_by(s, i)|bool_and(b)|count_if(b)
    string_agg(s, ',')|bit_and(l)|mode(s)|corr(d, e)
    percentile_cont(0.5) WITHIN GROUP (ORDER BY i)|sum(i) FILTER (WHERE b)
    approx_count_distinct(s)|skewness(d)|any(b)|try_sum(i)|first(s) IGNORE NULLS
"""


def test_types_of_aggregates(as_written: Any) -> None:
    texts = [text for line in _AGGREGATES.strip().splitlines() for text in line.strip().split("|")]
    rows = table_of(Random(0), rows=0)
    theirs = as_written.createDataFrame(rows).selectExpr(*texts).toArrow().schema
    for text, field in zip(texts, theirs, strict=True):
        assert parse_expression(text, SCHEMA).type == canonical(field.type), text


_REFUSED = """
    '5' + '6'|1 + true|b + 1|i = b|if(i, 1, 2)|NOT i|upper(a)|sqrt(b)|date_add(dt, l)|dt = 1
    greatest(1, 'a')|greatest(1)|1.5D DIV 2|CAST(1 AS DATE)|CAST(b AS TIMESTAMP)|ts + 1
    dt * 2|array(1) = array('1')|map('a', 1) = map('a', 1)|array_contains(array(1), '1')
    element_at(a, l)|struct(1 AS a) = struct(1L AS b)|CASE WHEN b THEN 1 ELSE dt END
    round(1.5, i)|interval 5 days % 2|substring(s)|nothing(1)|unknown_column|x.w
    coalesce(a, 1)|i AND b|CAST(a AS INT)|abs(dt)
"""


@pytest.mark.parametrize(
    "text", [text for line in _REFUSED.strip().splitlines() for text in line.strip().split("|")]
)
def test_what_spark_refuses_is_refused(as_written: Any, text: str) -> None:
    from pyspark.errors import AnalysisException, ParseException

    with pytest.raises(ExpressionError):
        parse_expression(text, SCHEMA)
    with pytest.raises((AnalysisException, ParseException)):
        as_written.createDataFrame(table_of(Random(0), rows=1)).selectExpr(text).schema


_NUMBERS = """
    1e400 1e-400 -1e-400 1e5 .5 5. -.5 5.e3 .5D 5.D 1.5BD .5BD 1e2BD 1e-3BD 1e38BD 0e-50BD -0.0BD
    1L 9223372036854775807L 9223372036854775808L -9223372036854775808L -9223372036854775808
    9223372036854775808 2147483648 -2147483648 32767S 32768S -32768S 127Y 128Y -128Y -129Y 1s 1y
    1.5L 1e5S 1.5Y 1LL 1e3F 1e39F 3.4028234663852886e38F 3.4028235e38F 1e-50F 16777217F 0.1F 1D 1FD
    1.7976931348623157e308 1.79769313486231575e308 1e1000000000 1e-99999999999 1e999999999BD
    0x1F 0b101 1_000 1e 1e+ 1.5.5 1abc -0.0 -0.0D -0.0F 007.50 00012 x'1F' x'1' x''
    99999999999999999999999999999999999999 99999999999999999999999999999999999999.9
    0.00000000000000000000000000000000000001 0.000000000000000000000000000000000000001
"""


def test_numbers_as_they_are_written(as_written: Any) -> None:
    """The same value and type, or refused by both."""
    texts, rows = _NUMBERS.split(), table_of(Random(0), rows=1)
    for text, theirs in zip(texts, by_spark(as_written, texts, rows), strict=True):
        try:
            ours = evaluate(parse_expression(text, SCHEMA), rows)
        except ExpressionError:
            assert isinstance(theirs, Exception), text
        else:
            assert explain(text, ours, theirs, rows) is None


_ODD = r"""
    to_json(named_struct('d', date_add(DATE '9999-12-31', 1), 'q', CAST(-1e-10 AS DECIMAL(38, 10))))
    to_json(map(DATE '0001-01-01', TIMESTAMP '9999-12-31 23:59:59.999999' + INTERVAL 1 DAY))
    CAST(array_insert(array(date_add(DATE '9999-12-31', 1)), 3, DATE '0001-01-01') AS STRING)
    size(array_distinct(array(struct(date_add(DATE '9999-12-31', 1)), struct(DATE '2020-02-29'))))
    try_element_at(array('a'), -2147483648)
    date_part(CAST(NULL AS STRING), ts)
    format_string('%5s|%-5s|%.2s|%.1s', '\U0001F600x', '\U0001F600', 'a\U0001F600', '\U0001F600')
    conv('-0', 16, -10)
    conv('-18446744073709551615', 10, 16)
    conv('-9223372036854775813', 10, -10)
    conv('18446744073709551615', 10, -16)
    get_json_object('12abc34', '$')
    get_json_object('nullable', '$')
    get_json_object('1 2', '$')
    get_json_object('{"a":1}x', '$.a')
    unbase64('YQ')
    unbase64('YQ==')
    unbase64('YWJj')
    try_add(9223372036854775807, 1)
    lpad(X'ff00', 4)
    rpad(X'ff00', 5, X'0102')
    lpad(X'6162', 1, X'00')
    lpad(X'6162', 4, 'x')
    reverse(X'ff0001')
    str_to_map('a=1,b=2', '(,)', '=')
    from_json('{"a":1,"b":"x","a":2}', 'a INT, b STRING')
    from_json('{"a":1.0,"b":{"c":[1, 2.50]}}', 'a INT, b STRING')
    from_json('{"a":3000000000,"b":null,"c":true}', 'a INT, b STRING, c BOOLEAN')
    from_json('{"a":"1","b":1}', 'a INT, b DOUBLE')
    from_json('{"a":"NaN","b":"x"}', 'a DOUBLE, b DOUBLE')
    from_json('{"a":12.345,"b":"1.5"}', 'a DECIMAL(5,2), b DECIMAL(5,2)')
    from_json('{"a":123456}', 'a DECIMAL(5,2)')
    from_json('{"a":1', 'a INT, b INT')
    from_json('', 'a INT')
    from_json('x', 'ARRAY<INT>')
    from_json('[{"a":1},{"a":2}]', 'a INT')
    from_json('{"a":1}', 'ARRAY<STRUCT<a: INT>>')
    from_json('[1, null, 3]', 'ARRAY<INT>')
    from_json('{"x":1,"y":null}', 'MAP<STRING, INT>')
    from_json('{"d":"2020-02-29","t":"2020-02-29T01:02:03.5Z"}', 'd DATE, t TIMESTAMP')
    from_json('{"s":{"u":"v"},"l":[[1],[]]}', 's STRUCT<u: STRING>, l ARRAY<ARRAY<INT>>')
    schema_of_json('{"b":[1, 2.5],"a":{"c":null},"d":[{"x":1},{"y":"z"}],"e":true,"f":[]}')
    get_json_object('{"a":[{"b":[1,2]},{"b":[3]}]}', '$.a[*].b[*]')
    get_json_object('[[1,2],[3,[4]]]', '$[*][*]')
    parse_url('http://user:pw@h.org:80/a/b?q=1&r=2#f', 'USERINFO')
    parse_url('http://user:pw@h.org:80/a/b?q=1&r=2#f', 'AUTHORITY')
    parse_url('http://user:pw@h.org:80/a/b?q=1&r=2#f', 'FILE')
    parse_url('http://user:pw@h.org:80/a/b?q=1&r=2#f', 'REF')
    parse_url('http://user:pw@h.org:80/a/b?q=1&r=2#f', 'QUERY', 'r')
    parse_url('http://h.org', 'PATH')
    parse_url('http://h.org', 'host')
    parse_url('a/b?c', 'PATH')
    parse_url('mailto:a@b.org', 'PROTOCOL')
    try_parse_url('http://h.org/a b', 'HOST')
    try_to_binary('abc', 'hex')
    try_to_binary('zz')
    to_binary('YWJj', 'base64')
    levenshtein('kitten', 'sitting', 3)
    levenshtein('kitten', 'sitting', 2)
    jaro_winkler_similarity('dixon', 'dicksonx')
    jaro_winkler_similarity('', 'a')
    quote('it''s')
    hex(hmac('key', 'text', 'SHA-512'))
    bitmap_bit_position(-32769)
    bitmap_bucket_number(-32769)
    bitmap_bucket_number(32768)
    make_dt_interval(1, -2, 3, 4.000005)
    try_make_timestamp(2021, 2, 30, 1, 1, 1)
    make_timestamp(2021, 3, 28, 2, 30, 0.5, 'Europe/Berlin')
    time_bucket(INTERVAL 7 MINUTES, TIMESTAMP '1969-12-31 23:59:00')
    time_bucket(INTERVAL 2 DAYS, TIMESTAMP '2024-01-04 12:00:00', TIMESTAMP '2024-01-03 01:00:00')
    convert_timezone('Europe/Berlin', 'Asia/Tokyo', TIMESTAMP_NTZ '2021-07-01 12:00:00')
    to_timestamp_ntz('2021-07-01 12:00:00+02:00')
    make_valid_utf8(X'61F0908062C3')
    is_valid_utf8(X'EDA080')
    like('a_b', 'a\\_b')
    to_char(0, '999')
    to_char(0.0, '999.99')
    to_char(0.5, '.99')
    to_char(0.5, '9.99')
    to_char(-7, '0000S')
    to_char(-7, 'S9999')
    to_char(7, 'S9,999')
    to_char(-7, 'MI9,990.9')
    to_char(7, '9,999MI')
    to_char(-7, '9,999MI')
    to_char(-1234.5, '9G999D99PR')
    to_char(12, '999PR')
    to_char(-12, '9999pr')
    to_char(12345, '999')
    to_char(1.239, '9.99')
    to_char(12345.6, '$9,999.9')
    to_char(7, '$0,000.00')
    to_char(7, '9.')
    to_char(-7, '99.S')
    to_char(1.5D, '99.99')
    to_char(CAST(NULL AS INT), '99')
    to_char(TIMESTAMP '2020-02-29 01:02:03', 'yyyy HH')
    to_number(' 1 2', '99')
    to_number('', '99')
    try_to_number('', '99')
    try_to_number('123', '99')
    try_to_number('1', '000')
    try_to_number('001', '000')
    try_to_number('1,2', '9,999')
    try_to_number('1,234', '9,999')
    try_to_number('234', '9,999')
    try_to_number(',234', '9,999')
    try_to_number('1.2.3', '9.99')
    try_to_number('1.2', '9.99')
    try_to_number('.5', '9.99')
    try_to_number('.5', '0.99')
    try_to_number('5.', '9.99')
    try_to_number('-5', '9MI')
    try_to_number('5-', '9MI')
    try_to_number('+5', 'S9')
    try_to_number('+5', 'MI9')
    try_to_number('<5>', '9PR')
    try_to_number('<5', '9PR')
    try_to_number('5>', '9PR')
    try_to_number('5', '$9')
    try_to_number('$5', '$9')
    try_to_number('$', '$9')
    vector_inner_product(array(1.5F, 2F), array(float('inf'), 2F))
    vector_inner_product(array(1.5F, NULL), array(2F, 2F))
    vector_inner_product(CAST(array() AS ARRAY<FLOAT>), CAST(array() AS ARRAY<FLOAT>))
    vector_l2_distance(array(1e20F, 2F), array(-1e20F, 2F))
    vector_cosine_similarity(array(0F, 0F), array(1F, 2F))
    vector_cosine_similarity(array(float('nan')), array(1F))
    vector_norm(array(-3F, 4F, NULL))
    vector_norm(array(-3F, 4F))
    vector_norm(array(float('nan'), 4F), float('inf'))
    vector_norm(array(1F, 2F), 3F)
    vector_normalize(array(0F, 0F))
    vector_normalize(CAST(array() AS ARRAY<FLOAT>))
    vector_normalize(array(-3F, 4F), 1F)
    8 >>> 1
    -8 >>> 60
    aes_encrypt('a', '1234567890abcdef', 'ecb')
    aes_encrypt('', '1234567890abcdef12345678', 'ECB', 'pkcs')
    aes_encrypt('a', '1234567890abcde', 'ECB')
    aes_encrypt('a', '1234567890abcdef', 'ECB', 'NONE')
    aes_encrypt('a', '1234567890abcdef', 'GCM', 'NONE', unhex('00112233445566778899aabb'))
    aes_encrypt('a', '1234567890abcdef', 'GCM', 'NONE', unhex('00112233445566778899aabb'), 'more')
    aes_encrypt('a', '1234567890abcdef', 'GCM', 'PKCS', unhex('00112233445566778899aabb'))
    aes_encrypt('a', '1234567890abcdef', 'CBC', 'PKCS', unhex('00'))
    aes_encrypt('a', '1234567890abcdef', 'ECB', 'PKCS', unhex('00'))
    aes_encrypt('a', '1234567890abcdef', 'ECB', 'PKCS', unhex(''), 'x')
    aes_encrypt('a', '1234567890abcdef', 'GCM', 'DEFAULT', NULL)
    aes_decrypt(X'00', '1234567890abcdef', 'ECB')
    aes_decrypt(X'00112233445566778899aabbccddeeff', '1234567890abcdef', 'ECB')
    aes_decrypt(X '', '1234567890abcdef')
    aes_decrypt(X'', '1234567890abcdef', 'CBC')
    aes_decrypt(X'', '1234567890abcdef', 'ECB')
    try_aes_decrypt(X'0011', '12345678', 'XXX')
    try_aes_decrypt(unhex(repeat('00112233', 16)), '1234567890abcdef')
    collation('a' COLLATE utf8_binary)
    collation(NULL)
    xpath('<a><b>b1</b><b/><b>b3</b></a>', 'a/b/text()')
    xpath('<a>x<b y="1" z="2"/>y</a>', 'a/text() | a/b | a/b/@*')
    xpath('<a><!--c--><?p i?></a>', 'a/node()')
    xpath('', 'a')
    xpath('<a/>', '')
    xpath('<a/>', CAST(NULL AS STRING))
    xpath('<a>', 'a')
    xpath('<a>1</a>', 'count(a)')
    xpath_boolean('<a><b>0</b></a>', 'a/b = 0')
    xpath_boolean('<a/>', 'number("x")')
    xpath_boolean('<a/>', 'a/c')
    xpath_double('<a><b>1</b><b>x</b></a>', 'sum(a/b)')
    xpath_double('<a>1.5e3</a>', 'a')
    xpath_double('<a> -7.5 </a>', 'a')
    xpath_double('<a><b>3</b><c>4</c></a>', 'a/b * /a/c - 2 * count(*)')
    xpath_float('<a>1.1</a>', 'a')
    xpath_int('<a>-1.9</a>', 'a')
    xpath_int('<a>99999999999</a>', 'a')
    xpath_int('<a/>', '-1 div 0')
    xpath_short('<a>70000</a>', 'a')
    xpath_short('<a/>', '1 div 0')
    xpath_long('<a>99999999999999999999</a>', 'a')
    xpath_long('<a>x</a>', 'a')
    xpath_number('<a><b>1</b><b>2</b></a>', '//b[. = 2]')
    xpath_string('<a><b>b</b><c>cc<d>dd</d></c></a>', 'a/c')
    xpath_string('<a><b>1</b><b>2</b></a>', 'a/b[last()]')
    xpath_string('<a><b i="x">1</b><b i="y">2</b></a>', '//b[@i = "y" and position() > 1]')
    xpath_string('<a><b>1</b></a>', 'a/b/..')
    xpath_string('<a/>', 'b')
    xpath_string('<a/>', '1 div 3')
    xpath_string('<a/>', '1000000000 * 10')
    xpath_string('<a/>', 'true()')
    xpath_string(' <?xml version="1.0" encoding="UTF-8"?><a>ä&lt;&#65;</a>', 'a')
    xpath_string('<?xml version="1.0" encoding="UTF-8"?><a>ä&lt;&#65;</a>', 'a')
    xpath_string('<x:a xmlns:x="u">1</x:a>', 'a')
    xpath_string('<a>1</a><b/>', 'a')
    xpath_string('<a>1</a>', 'foo(a)')
"""
_ODD_TEXTS = Path(__file__).with_name("odd_texts.txt")
"""Texts of XML and of sentences, intervals of months and days, several patterns: one a line."""
_ODD_AND_REFUSED = ("unbase64('YQ=')", "unbase64('YWJj=')", "unbase64('Y')", "unbase64('YQ=x=')")


def test_odd_values(as_written: Any) -> None:
    rows = table_of(Random(0), rows=1)
    lines = [*_ODD.strip().splitlines(), *_ODD_TEXTS.read_text(encoding="utf-8").splitlines()]
    texts = [line.strip() for line in lines]
    found = differences(as_written, texts, rows)
    assert not found, "\n\n".join(found)
    for text in _ODD_AND_REFUSED:
        assert isinstance(here(parse_expression(text, SCHEMA), rows), Exception), text
        assert isinstance(by_spark(as_written, [text], rows)[0], Exception), text
