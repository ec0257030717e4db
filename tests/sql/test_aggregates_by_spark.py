"""Aggregates, sketches and VARIANTs of rows that a query brings itself, here and by Spark: same
types, values, failures.

For each query there is one answer: the order in which Spark reads rows does not matter to it.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import driftline as dl
from tests.sql.spark_functions import answer

_BITMAPS = """
    length(bitmap_construct_agg(c)), bitmap_count(bitmap_construct_agg(c)) | (0L), (7), (8), (NULL)
    hex(substring(bitmap_construct_agg(c), 4090)) | (32767L), (32767L), (32760L)
    length(bitmap_construct_agg(c)) | (CAST(NULL AS BIGINT))
    length(bitmap_construct_agg(c)) | ('12'), ('3')
    bitmap_construct_agg(c) | (32768L), (1L)
    bitmap_construct_agg(c) | (-1L)
    bitmap_count(bitmap_or_agg(c)) | (X'01'), (X '02'), (CAST(NULL AS BINARY)), (X'')
    bitmap_count(bitmap_and_agg(c)) | (X'FFFF'), (X'0F')
    bitmap_count(bitmap_and_agg(c)) | (CAST(NULL AS BINARY))
    length(bitmap_or_agg(c)) | (CAST(repeat('a', 5000) AS BINARY))
    bitmap_or_agg(c) | ('a')
"""
_VECTORS = """
    vector_avg(c), vector_sum(c) | (array(1F, 2F)), (NULL), (array(CAST(NULL AS FLOAT), 3F))
    vector_avg(c), vector_sum(c) | (array(1F, 2F)), (array(1F))
    vector_avg(c), vector_sum(c) | (CAST(NULL AS ARRAY<FLOAT>))
    vector_avg(c), vector_sum(c) | (CAST(array() AS ARRAY<FLOAT>))
    vector_avg(c), vector_sum(c) | (array(3e38F)), (array(3e38F))
    vector_avg(c), vector_sum(c) | (array(float('nan'))), (array(float('inf')))
    vector_avg(DISTINCT c), vector_sum(DISTINCT c) | (array(1F)), (array(1F)), (array(3F))
    vector_avg(c) | (array(1D))
"""
_THETA = """
    hex(theta_sketch_agg(c)) | (1), (2), (2), (NULL)
    hex(theta_sketch_agg(c)) | (CAST(NULL AS INT))
    hex(theta_sketch_agg(c)) | ('a'), (''), ('äö😀'), (repeat('x', 16)), (repeat('y', 37))
    hex(theta_sketch_agg(c)) | (1.5D), (-0D), (0D), (double('nan')), (double('inf'))
    hex(theta_sketch_agg(c)) | (1.5F), (3F)
    hex(theta_sketch_agg(c)) | (X'0102'), (X'')
    hex(theta_sketch_agg(c)) | (array(1, 2)), (CAST(array() AS ARRAY<INT>)), (array(1, 2, 3, 4, 5))
    hex(theta_sketch_agg(c)) | (array(1L, 2L)), (array(-1L))
    hex(theta_sketch_agg(c)) | (1Y)
    theta_sketch_agg(c, 3) | (1)
    hex(theta_sketch_agg(c, 4)), theta_sketch_estimate(theta_sketch_agg(c, 4)) | MANY
    hex(theta_union(theta_sketch_agg(c, 4), theta_sketch_agg(c + 30, 5), 5)) | MANY
    hex(theta_intersection(theta_sketch_agg(c, 4), theta_sketch_agg(c + 10, 5))) | MANY
    hex(theta_intersection(theta_sketch_agg(c, 4), theta_sketch_agg(c + 100, 4))) | MANY
    hex(theta_difference(theta_sketch_agg(c, 4), theta_sketch_agg(c + 10, 5))) | MANY
    hex(theta_difference(theta_sketch_agg(c), theta_sketch_agg(c))) | (1)
    hex(theta_union_agg(c)), hex(theta_intersection_agg(c)) | (CAST(NULL AS BINARY))
    theta_sketch_estimate(c) | (X'00112233')
"""
_TUPLES = """
    hex(tuple_sketch_agg_double(c, 2D)) | (1)
    hex(tuple_sketch_agg_integer(c, 2, 12, 'max')) | (1), (1), (NULL)
    hex(tuple_sketch_agg_integer(c, 2)) | (CAST(NULL AS INT))
    tuple_sketch_estimate_integer(tuple_sketch_agg_integer(c % 30, 2, 5)) | MANY
    tuple_sketch_summary_integer(tuple_sketch_agg_integer(c % 3, 2), 'min') | MANY
    tuple_sketch_summary_integer(tuple_sketch_agg_integer(c % 3, 2147483647)) | MANY
    tuple_sketch_summary_double(tuple_sketch_agg_double(c % 3, c, 12, 'alwaysone')) | MANY
    tuple_sketch_theta_double(tuple_sketch_agg_double(c % 3, c)) | MANY
    tuple_sketch_agg_integer(c, 1, 12, 'most') | (1)
    hex(tuple_intersection_theta_integer(INTEGERS, theta_sketch_agg(c), 'max')) | (1)
    hex(tuple_union_theta_double(DOUBLES, theta_sketch_agg(c), 5, 'min')) | (1)
    hex(tuple_difference_integer(INTEGERS, INTEGERS)) | (1)
    hex(tuple_union_integer(INTEGERS, INTEGERS, 8, 'sum')) | (1)
    tuple_sketch_estimate_double(INTEGERS) | (1)
    tuple_union_agg_integer(c) | (X'00')
"""
_KLL = """
    hex(kll_sketch_agg_bigint(c)) | (7Y)
    hex(kll_sketch_agg_bigint(c)) | (CAST(NULL AS INT))
    hex(kll_sketch_agg_float(c)) | (3F), (float('nan'))
    hex(kll_sketch_agg_double(c, 8)) | (1F), (1F)
    kll_sketch_agg_double(c) | (3)
    kll_sketch_agg_bigint(c, 7) | (3)
    kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(c), array(0, 0.25, 0.26, 0.5, 1)) | MANY
    kll_sketch_get_quantile_double(kll_sketch_agg_double(CAST(c AS DOUBLE)), 0.999D) | MANY
    kll_sketch_get_rank_bigint(kll_sketch_agg_bigint(c), array(-1L, 0L, 2L, 99L)) | MANY
    kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(c), 1.5) | (1)
    kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(c), NULL) | (1)
    kll_sketch_get_rank_bigint(kll_sketch_agg_bigint(c), 1) | (CAST(NULL AS INT))
    kll_sketch_get_n_bigint(kll_sketch_agg_bigint(c)) | (CAST(NULL AS INT))
    kll_sketch_get_n_bigint(kll_sketch_agg_float(c)) | (1F)
    kll_sketch_to_string_float(kll_sketch_agg_float(c)) | (1.5F), (1e10F)
    kll_sketch_to_string_bigint(kll_merge_agg_bigint(c)) | (CAST(NULL AS BINARY))
    kll_sketch_get_n_bigint(kll_sketch_merge_bigint(LONGS, LONGS)) | MANY
"""
_COUNTS = """
    hex(hll_sketch_agg(c)) | (1), (2), (2), (NULL)
    hex(hll_sketch_agg(c)) | ('a'), ('')
    hex(hll_sketch_agg(c)) | (X'FF00'), (X'')
    hll_sketch_estimate(hll_sketch_agg(c, 4)) | MANY
    hll_sketch_estimate(hll_union(hll_sketch_agg(c, 5), hll_sketch_agg(c + 10, 6), true)) | MANY
    hll_union(hll_sketch_agg(c, 5), hll_sketch_agg(c, 6)) | MANY
    hex(hll_union_agg(c)) | (CAST(NULL AS BINARY))
    hll_sketch_agg(c, 3) | (1)
    hll_sketch_agg(c) | (1.5D)
    hll_sketch_estimate(c) | (X'00')
    hex(count_min_sketch(c, 0.5D, 0.5D, 1)) | ('a'), ('bcdef'), (NULL)
    hex(count_min_sketch(c, 0.1D, 0.9D, -7)) | (1L), (12345678901L), (-5L)
    hex(count_min_sketch(c, 0.1D, 0.9D, 42L)) | (X'01'), (X'0102030405')
    count_min_sketch(c, 0D, 0.9D, 1) | (1)
    count_min_sketch(c, 0.1D, 0.5D, 1) | (1D)
    approx_top_k(c, 3) | ('a'), ('b'), (NULL), (NULL), ('b'), ('b')
    approx_top_k_estimate(approx_top_k_accumulate(c)) | (1.5D), (1.5D), (double('nan'))
    approx_top_k(c, 10, 5) | (1)
    approx_top_k(c) | (X'01')
"""
_VARIANTS = """
    to_json(VALUE) | ('1'), ('-0'), ('1.50'), ('100.0'), ('1e3'), (' 1e400 '), (NULL)
    to_json(VALUE) | ('12345678901234567890'), ('0.12345678901234567890123456789012345678901')
    to_json(try_parse_json(c)) | ('{'), (''), ('01'), ('1.'), ('1 2'), ('[1]x'), ('NaN'), ('nul')
    to_json(try_parse_json(c)) | ('{"a":1,"a":2}'), ('"a'), (' {"b":1,"a":[]} ')
    parse_json(c) | ('{')
    CAST(VALUE AS STRING), VALUE::double | ('"12"'), ('3'), ('4.5'), ('1e1'), ('null')
    variant_get(VALUE, '$', 'int') | ('"x"')
    variant_get(VALUE, '$.a[1]["b c"]', 'int') | ('{"a":[0,{"b c":5}]}'), ('{"a":[]}')
    variant_get(VALUE, 'a', 'int') | ('1')
    try_variant_get(VALUE, '$', 'int') | ('1.9'), ('true'), ('3000000000'), ('[]'), ('null')
    try_variant_get(VALUE, '$', 'boolean') | ('0'), ('"true"'), ('"12"'), ('2e0')
    try_variant_get(VALUE, '$', 'decimal(4,1)') | ('1.55'), ('99999'), ('"12"'), ('true')
    try_variant_get(VALUE, '$', 'date') | ('"2024-01-02"'), ('1'), ('true')
    try_variant_get(VALUE, '$', 'timestamp') | ('"2024-01-02 03:04:05"'), ('1'), ('"x"')
    try_variant_get(VALUE, '$', 'array<int>') | ('[1,"2","x",null]'), ('1'), ('[]')
    try_variant_get(VALUE, '$', 'map<string,int>') | ('{"a":1,"b":[1]}'), ('[]'), ('{}')
    try_variant_get(VALUE, '$', 'struct<a int, b string>') | ('{"b":{"c":1}}'), ('1')
    to_json(CAST(c AS VARIANT)), to_json(CAST(array(c, NULL) AS VARIANT)) | (1.50BD), (2BD)
    to_json(to_variant_object(named_struct('f', c, 'd', DATE'2024-01-02', 'x', X'01'))) | (1.5F)
    CAST(named_struct('a', c) AS VARIANT) | (1)
    schema_of_variant(VALUE) | ('[1,2.5]'), ('[1,"a"]'), ('{"b":null}'), ('[1e0,1]'), ('[]')
    schema_of_variant_agg(VALUE) | ('{"a":1}'), ('{"a":2.5,"b":[]}'), ('null'), (NULL)
    schema_of_variant_agg(VALUE) | (CAST(NULL AS STRING))
    to_json(variant_insert(VALUE, '$.a[1]', 9)) | ('{"a":[1,2]}'), ('{}'), ('{"a":[]}')
    variant_insert(VALUE, '$.a', 9) | ('{"a":[1,2]}')
    to_json(variant_set(VALUE, '$.a[1]', 9, false)) | ('{"a":[1,2]}'), ('{}')
    to_json(try_variant_set(VALUE, '$.a.b', 9)) | ('{"a":1}'), ('{"a":{}}'), ('[]'), ('null')
    variant_set(VALUE, '$.a.b', 9) | ('{"a":1}')
    variant_set(VALUE, '$', 9) | ('{"a":1}')
    to_json(variant_array_append(VALUE, '$.a', 9)) | ('{"a":[]}'), ('{}')
    to_json(variant_delete(VALUE, '$[1]', '$.a', NULL)) | ('[1,2,3]'), ('{"a":1}'), ('1')
    to_json(variant_strip_nulls(VALUE)) | ('{"a":[null,{"b":null}]}'), ('null')
    max(VALUE) | ('1')
    count(DISTINCT VALUE) | ('1')
"""
_FAMILIES = {
    "variants": _VARIANTS,
    "bitmaps": _BITMAPS,
    "vectors": _VECTORS,
    "theta": _THETA,
    "tuples": _TUPLES,
    "kll": _KLL,
    "counts": _COUNTS,
}
_WORDS = {
    "VALUE": "parse_json(c)",
    "INTEGERS": "tuple_sketch_agg_integer(c, 5)",
    "DOUBLES": "tuple_sketch_agg_double(c, 5)",
    "LONGS": "kll_sketch_agg_bigint(c)",
}
"""What stands for more in the queries."""
_MANY = "(SELECT explode(sequence(0L, 39L)) AS c)"


@pytest.mark.spark
@pytest.mark.parametrize("lines", _FAMILIES.values(), ids=_FAMILIES)
def test_aggregates_are_those_of_spark(spark: Any, lines: str) -> None:
    for line in lines.strip().splitlines():
        items, rows = line.strip().rsplit(" | ", 1)
        for word, more in _WORDS.items():
            items = re.sub(rf"\b{word}\b", more, items)
        source = _MANY if rows == "MANY" else f"VALUES {rows} AS t(c)"
        query = f"SELECT {items} FROM {source}"
        assert _here(query) == _by_spark(spark, query), query


def _here(query: str) -> Any:
    try:
        found = dl.sql(query).run().history().drop_columns(["vs", "ve"])
    except (ValueError, TypeError):
        return "refused"
    return answer(query, found)


def _by_spark(spark: Any, query: str) -> Any:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        return answer(query, spark.sql(query).toArrow())
    except (PySparkException, Py4JJavaError):
        return "refused"


_OF_MANY = """
    theta_sketch_agg(c % 1000, 5) | theta_sketch_estimate(s)
    tuple_sketch_agg_integer(c % 1000, 3, 5) | tuple_sketch_estimate_integer(s)
    tuple_sketch_agg_double(c % 1000, 3, 5) | tuple_sketch_summary_double(s, 'max')
    kll_sketch_agg_bigint(c, 20) | kll_sketch_get_quantile_bigint(s, array(0.1, 0.5, 0.9))
    kll_sketch_agg_float(CAST(c AS FLOAT), 20) | kll_sketch_get_rank_float(s, array(1F, 1000F))
    kll_sketch_agg_double(CAST(c AS DOUBLE), 20) | kll_sketch_to_string_double(s)
    kll_sketch_merge_bigint(kll_sketch_agg_bigint(c, 9), kll_sketch_agg_bigint(c + 50, 8)) | \
kll_sketch_get_quantile_bigint(s, 0.25)
    hll_sketch_agg(CAST(c AS STRING), 6) | hll_sketch_estimate(s)
    hll_sketch_agg(CAST(CAST(c AS STRING) AS BINARY), 6) | hll_sketch_estimate(s)
    approx_top_k_accumulate(c % 3) | approx_top_k_estimate(s)
"""


@pytest.mark.spark
def test_spark_reads_the_sketches_made_here(spark: Any) -> None:
    """Of more values than they hold, too."""
    lines = [line.split(" | ") for line in _OF_MANY.strip().splitlines()]
    made = ", ".join(f"{sketch} AS s{place}" for place, (sketch, _) in enumerate(lines))
    many = "(SELECT explode(sequence(0L, 1999L)) AS c)"
    ours = dl.sql(f"SELECT {made} FROM {many}").run().history().drop_columns(["vs", "ve"])
    spark.createDataFrame(ours).createOrReplaceTempView("sketches_made_here")
    for place, (_, asked) in enumerate(lines):
        question = asked.replace("(s", f"(s{place}", 1)
        query = f"SELECT {question} FROM (SELECT {made} FROM {many})"
        theirs = answer(query, spark.sql(f"SELECT {question} FROM sketches_made_here").toArrow())
        assert _here(query) == theirs, asked
