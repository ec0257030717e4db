"""All queries of TPC-H as streams, in any order of arrival, against DuckDB over the same tables."""

from __future__ import annotations

from random import Random

import pytest

import driftline as dl
from tests.sql.tpch import QUERIES, STREAMS
from tests.sql.tpch_streams import Arrivals


@pytest.fixture(scope="module")
def arrivals() -> Arrivals:
    return Arrivals()


@pytest.mark.parametrize("name", QUERIES)
def test_the_end_of_the_streams_is_the_answer_for_the_tables(name: str, arrivals: Arrivals) -> None:
    random = Random(name)
    query = dl.sql(STREAMS + QUERIES[name])
    inputs = arrivals.of(query.plan.sources(), random)
    result = query.run(inputs, batch=200, emit=random.choice(["eager", "ordered", "perfect"]))
    arrivals.check(name, result.history())
