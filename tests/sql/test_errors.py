import pytest

from driftline.plan.errors import ExpressionError, PlanError
from driftline.sql.errors import SqlError, in_text
from tests.sql.declared import refused


def test_line_column_and_caret() -> None:
    error = refused("SELECT k\nFROM t\nWHERE  kk = 'a'")
    assert (error.line, error.column) == (3, 8)
    assert str(error) == "there is no column kk; did you mean k? (line 3, column 8)"
    assert error.pointed() == "WHERE  kk = 'a'\n       ^"


@pytest.mark.parametrize(
    ("line", "column", "caret"),
    [
        ("SELECT a", 8, "       ^"),
        ("\tSELECT a", 9, "\t       ^"),  # a tab stays a tab
        ("'時間', a", 7, "        ^"),  # two wide characters
        ("'e\u0301', a", 7, "     ^"),  # a combining one
        ("SELECT", 9, "        ^"),  # after the end
    ],
)
def test_the_caret_is_under_the_place(line: str, column: int, caret: str) -> None:
    assert SqlError("no", 1, column, line).pointed() == f"{line}\n{caret}"


def test_carriage_returns_are_not_shown() -> None:
    assert SqlError("no", 1, 1, "a\r\nb").pointed() == "a\n^"


def test_a_script_that_is_nested_too_deeply() -> None:
    error = refused(f"SELECT {'(' * 5000}x{')' * 5000} FROM t")
    assert error.message.startswith("this is nested more than 200 deep")
    assert (error.line, error.column) == (1, 208)


def test_a_query_of_too_many_operators_on_one_another() -> None:
    steps = ", ".join(f"c{n} AS (SELECT x + 1 AS x FROM c{n - 1})" for n in range(1, 600))
    error = refused(f"WITH c0 AS (SELECT x FROM t), {steps} SELECT x FROM c599")
    assert error.message.startswith("the query is more than 1000 operators deep")


def test_no_text_no_caret() -> None:
    assert SqlError("no", 3, 1, "one line").pointed() == ""


def test_other_errors_become_errors_of_the_script() -> None:
    with pytest.raises(SqlError) as placed, in_text("SELECT"):
        raise ExpressionError("no", 1, 4)
    assert (placed.value.line, placed.value.column) == (1, 4)
    with pytest.raises(SqlError) as unplaced, in_text("SELECT"):
        raise PlanError("no")
    assert (unplaced.value.line, unplaced.value.column) == (1, 1)
