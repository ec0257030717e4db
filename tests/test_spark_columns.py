"""Columns of PySpark are read where their trees are known, and refused in one line elsewhere."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pyspark
import pytest

from driftline import spark_columns
from driftline.plan.errors import PlanError
from driftline.spark_columns import KNOWN, sql_text

WRITE_SQL = r"qty > 4.* is a column of PySpark {}, which Driftline cannot read: write it as SQL"


@pytest.fixture(autouse=True)
def not_warned() -> Iterator[None]:
    spark_columns._warn.cache_clear()
    yield
    spark_columns._warn.cache_clear()


class Tree:
    """What is behind a column of a version whose trees are others."""

    def __init__(self, nodes: int = 0) -> None:
        self.nodes = nodes

    def node(self) -> Tree:
        if not self.nodes:
            raise AttributeError("node")
        return Tree(self.nodes - 1)

    def getClass(self) -> Tree:
        return self

    def getSimpleName(self) -> str:
        return "Alias"


def column(tree: object) -> Any:
    """A column with another tree behind it."""

    def text(_: object) -> str:
        return "Column<'qty > 4'>"

    made = type("Column", (), {"__str__": text, "__module__": "pyspark.sql.classic.column"})()
    made._jc = tree
    return made


def test_the_supported_versions_are_known() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert set(re.findall(r'"pyspark[^=]*==([\d.]+)\.\*"', project)) == KNOWN
    assert pyspark.__version__.startswith(tuple(f"{known}." for known in KNOWN))


@pytest.mark.parametrize("version", ["4.2.1", "4.4.0.dev0", "5.0"])
def test_columns_of_another_version_are_refused_without_a_look(
    version: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    for _ in range(2):
        with pytest.raises(PlanError, match=WRITE_SQL.format(version)):
            sql_text(column(None))
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("driftline", logging.WARNING)
    assert f"columns of PySpark {version} cannot be read, only those of 4.3" in line.getMessage()


@pytest.mark.parametrize("tree", [Tree(), Tree(1), None, "node"])
def test_a_tree_that_is_another_is_refused(tree: object, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with pytest.raises(PlanError, match=WRITE_SQL.format(pyspark.__version__)):
            sql_text(column(tree))
    assert len(caplog.records) == 1


@pytest.mark.spark
def test_a_node_without_the_methods_is_refused(spark: Any) -> None:
    """The answer of a JVM in which the class has no such method."""
    from pyspark.sql import functions as f

    text = spark.sparkContext._jvm.java.lang.String("no tree")
    for tree in (spark.sparkContext._jvm.java.util.ArrayList(), text):
        with pytest.raises(PlanError, match=WRITE_SQL.format(pyspark.__version__)):
            sql_text(column(tree))
    assert sql_text(f.col("qty") > 4) == "(qty > 4)"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_long_chains() -> None:
    from pyspark.sql import functions as f

    before = sys.getrecursionlimit()
    text = sql_text(reduce(lambda made, _: made + 1, range(500), f.col("qty")))
    assert (text.count("("), text.count(" + 1)"), sys.getrecursionlimit()) == (500, 500, before)


def test_what_is_no_column_is_left_as_it_is() -> None:
    assert sql_text("qty > 4") == "qty > 4"
    assert sql_text(4) == 4  # type: ignore[comparison-overlap]
