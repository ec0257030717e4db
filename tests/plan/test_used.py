import pytest
from sqlglot import exp

from driftline.plan.dialect import InOrder, OfMatch, parse_sql
from driftline.plan.errors import ExpressionError
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.resolver.syntax import METHODS
from driftline.plan.types import Schema, parse_type
from driftline.plan.used import mark, refuse_unused, uses, uses_all

COLUMNS = parse_type(
    "STRUCT<a: INT, b: INT, c: BOOLEAN, s: STRING, d: DATE, ts: TIMESTAMP, l: ARRAY<INT>, "
    "r: STRUCT<f: INT>, v: VARIANT>"
)
SCHEMA = Schema.of({field.name: field.type for field in COLUMNS})

EXPRESSIONS = """
a + b * 2 - a / b % 3
a DIV 1
a = b AND (a <> b OR NOT c) AND a <=> b
a < b OR a <= b OR a > b OR a >= b
a & b | a ^ ~b
a << 1 >> 2
s || 'x' || r'y' || 'p' 'q'
s COLLATE UTF8_BINARY
v:f[0]::int
OVERLAY(s PLACING 'x' FROM 2 FOR 1)
s LIKE 'a%' OR s NOT LIKE 'b' OR s ILIKE 'c' OR s LIKE 'd!%' ESCAPE '!' OR s RLIKE 'e'
s LIKE ANY ('a', 'b') OR s LIKE ALL ('c', 'd')
a BETWEEN 1 AND 2 OR a NOT BETWEEN -1 AND - b
a IN (1, 2, b) OR a NOT IN (3)
a IS NULL OR c IS NOT TRUE OR a IS DISTINCT FROM b OR a IS NOT DISTINCT FROM b
CASE WHEN c THEN 1 WHEN a = 1 THEN 2 ELSE 3 END + CASE a WHEN 1 THEN 2 END
if(c, a, b) + coalesce(a, b)
CAST(a AS DECIMAL(10, 2)) + TRY_CAST(s AS INT) + a::BIGINT + 10L + 1.5BD + 2.5D
CAST(l AS ARRAY<BIGINT>)
CAST(r AS STRUCT<g: BIGINT>)
CAST(NULL AS MAP<STRING, INT>) IS NULL
d + INTERVAL '1' DAY
ts + INTERVAL '1 2:03' DAY TO MINUTE
CAST(INTERVAL '1' DAY AS INTERVAL DAY TO SECOND)
DATE '2024-05-01' = d AND TIMESTAMP '2024-05-01 10:00:00' = ts
l[0] + r.f + struct(a, b AS x).x
(a, b) = (1, 2)
X'0A'
substring(s, 1, 2) || substring(s FROM 1 FOR 2) || trim(s) || TRIM(BOTH 'x' FROM s)
position('a' IN s) + extract(DAY FROM d)
timestampadd(HOUR, 1, ts)
count(*) + count(DISTINCT a, b) + sum(a) FILTER (WHERE c)
first(a) IGNORE NULLS
percentile_cont(0.5) WITHIN GROUP (ORDER BY a)
any(c)
NULL
true
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_argument_of_every_node_counts(text: str) -> None:
    parse_expression(text, SCHEMA)
    for place, _ in enumerate(parse_sql(text).walk()):
        tree = parse_sql(text)
        node = list(tree.walk())[place]
        node.args["unheard_of"] = True
        with pytest.raises(ExpressionError, match="UNHEARD OF is not supported here"):
            resolve(tree, SCHEMA)


def test_every_kind_of_node_is_tried() -> None:
    tried = {type(node) for text in EXPRESSIONS for node in parse_sql(text).walk()}
    refused = {exp.Star, exp.Alias, exp.RespectNulls, OfMatch, InOrder}  # alone, or as a text
    assert set(METHODS) - tried - refused == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CAST(s AS INT FORMAT 'x')", "FORMAT is not supported here"),
        ("sum(a ORDER BY b)", "not supported"),
        ("CAST(ts AS TIMESTAMP(3))", "takes no size"),
        ("CAST(r AS STRUCT<f: INT NOT NULL>)", "leave out NOT NULL"),
    ],
)
def test_what_has_no_meaning_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        parse_expression(text, SCHEMA)


def test_a_node_that_nothing_used_is_refused_with_its_place() -> None:
    tree = parse_sql("a + f(b)")
    mark(tree)
    uses(tree, "this", "expression")
    uses(tree.this, "this")
    with pytest.raises(ExpressionError, match=r"F\(b\) has no meaning here.*column 5"):
        refuse_unused(tree)


def test_a_copy_is_the_same_node() -> None:
    tree = parse_sql("a + b")
    mark(tree)
    uses_all(tree.copy())
    refuse_unused(tree)
