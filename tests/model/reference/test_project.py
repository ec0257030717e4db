from __future__ import annotations

from driftline.model.reference import flat_project, project
from tests.build import history


def test_rows_that_become_equal_stay_apart() -> None:
    table = history((1, 5, 10), (1, 5, 20))
    assert project(table, lambda row: {"p": "x"}) == history((1, 5, "x"), (1, 5, "x"))


def test_a_row_may_become_several_or_none() -> None:
    table = history((1, 5, 2), (3, 4, 0))
    many = flat_project(table, lambda lifetime: [{"p": i} for i in range(lifetime.row["p"])])
    assert many == history((1, 5, 0), (1, 5, 1))
