"""Warming up runs, rather than failing where nobody sees it."""

from __future__ import annotations

from driftline.spark.warm import run_a_small_query


def test_the_small_query_runs() -> None:
    run_a_small_query()
