"""Queries that are written more plainly before they are bound."""

from __future__ import annotations

import pytest
from sqlglot import exp

from driftline.plan.dialect import parse_sql
from driftline.sql.plainer import plainer


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("SELECT x FROM t WHERE x > (SELECT 2)", "SELECT x FROM t WHERE x > (2)"),
        ("SELECT (SELECT (SELECT x)) FROM t", "SELECT ((x)) FROM t"),
        ("SELECT (SELECT 2 AS y) + 1 FROM t", "SELECT (2) + 1 FROM t"),
        ("SELECT x IN (VALUES 1, 2) FROM t", "SELECT x IN (1, 2) FROM t"),
        ("SELECT x IN (SELECT 1) FROM t", "SELECT x IN (1) FROM t"),
        (
            "SELECT 1 FROM a JOIN b ON a.k = b.k AND a.x IN (SELECT z FROM c)",
            "SELECT 1 FROM a JOIN b ON a.k = b.k WHERE a.x IN (SELECT z FROM c)",
        ),
        (
            "SELECT 1 FROM a JOIN b ON EXISTS(SELECT 1 FROM c) WHERE y",
            "SELECT 1 FROM a JOIN b ON TRUE WHERE y AND EXISTS(SELECT 1 FROM c)",
        ),
    ],
)
def test_it_is_written_plainer(written: str, meant: str) -> None:
    query = parse_sql(written)
    assert isinstance(query, exp.Select)
    assert plainer(query).sql("spark") == meant


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (SELECT MAX(x)) FROM t",
        "SELECT x FROM (SELECT 1 AS x)",
        "SELECT (SELECT z FROM u ORDER BY z LIMIT 1) FROM t",
        "SELECT 1 FROM a LEFT JOIN b ON a.x IN (SELECT z FROM c)",
        "SELECT 1 FROM a JOIN b ON a.x IN (SELECT z FROM c) FULL JOIN d ON TRUE",
    ],
)
def test_what_means_more_stays_as_it_is(query: str) -> None:
    tree = parse_sql(query)
    assert isinstance(tree, exp.Select)
    assert plainer(tree).sql("spark").upper() == query.upper()
