from __future__ import annotations

import pytest

from driftline.plan import nodes
from tests.sql.declared import plan, pointed_at


def test_pivot_is_an_aggregate_by_the_other_columns() -> None:
    project = plan("SELECT * FROM t PIVOT (sum(y) FOR k IN ('a', 'b'))")
    assert project.schema.names == ("x", "a", "b")
    aggregate = project.inputs[0]
    assert isinstance(aggregate, nodes.Aggregate)
    assert [key.name for key in aggregate.keys] == ["x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT * FROM t PIVOT (sum(y) FOR k IN (x))", "IN of PIVOT takes constants"),
        ("SELECT * FROM t PIVOT (sum(y) FOR (k, x) IN ('a'))", "FOR names 2 columns"),
        ("SELECT * FROM t PIVOT (sum(y) FOR k IN ('a', 'a'))", "two columns would have the name a"),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (x + 1))", "IN of UNPIVOT takes columns"),
        ("SELECT * FROM t UNPIVOT ((v, w) FOR n IN (x))", "there are 2 value columns"),
        ("SELECT * FROM t UNPIVOT (k FOR n IN (x, y))", "two columns would have the name k"),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (k, x))", "the values of UNPIVOT have no common"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    assert pointed_at(text).startswith(said)
