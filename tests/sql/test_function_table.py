from __future__ import annotations

from typing import Any

import pytest

from tests.sql.function_remarks import DIFFERS, REFUSED
from tests.sql.function_table import PAGE, page
from tests.sql.spark_functions import functions


@pytest.mark.slow
def test_the_page_lists_every_function_as_it_is() -> None:
    """If not: `python -m tests.sql.function_table` writes it."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_remarks_are_about_functions_of_spark() -> None:
    known = {each.name for each in functions()}
    assert not [name for name in (*DIFFERS, *REFUSED) if name not in known]
    assert not DIFFERS.keys() & REFUSED.keys()


@pytest.mark.spark
def test_the_functions_are_those_of_spark(spark: Any) -> None:
    names = {name for (name,) in spark.sql("SHOW FUNCTIONS").collect()}
    own = {name for (name,) in spark.sql("SHOW USER FUNCTIONS").collect()}  # of other tests
    assert names - own == {each.name for each in functions()}
