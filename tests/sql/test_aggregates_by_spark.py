"""Aggregates over rows that a query brings itself, here and by Spark: same types, values, failures.

For each query there is one answer: the order in which Spark reads rows does not matter to it.
"""

from __future__ import annotations

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


@pytest.mark.spark
@pytest.mark.parametrize("lines", [_BITMAPS, _VECTORS], ids=["bitmaps", "vectors"])
def test_aggregates_are_those_of_spark(spark: Any, lines: str) -> None:
    for line in lines.strip().splitlines():
        items, rows = line.strip().rsplit(" | ", 1)
        query = f"SELECT {items} FROM VALUES {rows} AS t(c)"
        assert _here(query) == _by_spark(spark, query), query


def _here(query: str) -> Any:
    try:
        found = dl.sql(query).run().history().drop_columns(["vs", "ve"])
    except (ValueError, TypeError):
        return "refused"
    return answer(query, found)


def _by_spark(spark: Any, query: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return answer(query, spark.sql(query).toArrow())
    except PySparkException:
        return "refused"
