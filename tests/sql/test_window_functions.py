import pytest

from driftline.plan.nodes import Frame, Over
from tests.sql.declared import plan


@pytest.mark.parametrize(
    ("order", "written", "frame"),
    [
        ("", "", Frame("range", None, None)),
        ("ORDER BY y, x", "", Frame("range", None, 0)),
        ("ORDER BY y", "ROWS 2 PRECEDING", Frame("rows", -2, 0)),
        (
            "ORDER BY y",
            "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
            Frame("rows", 1, None),
        ),
        ("ORDER BY y", "RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING", Frame("range", -3, -1)),
        ("ORDER BY y / 2", "RANGE 0.5 PRECEDING", Frame("range", -0.5, 0)),
        (
            "ORDER BY timestamp_micros(y)",
            "RANGE BETWEEN INTERVAL 2 SECONDS PRECEDING AND CURRENT ROW",
            Frame("range", -2_000_000, 0),
        ),
        (
            "ORDER BY CAST(x AS DECIMAL(9, 2))",
            "RANGE BETWEEN CURRENT ROW AND 1.5 FOLLOWING",
            Frame("range", 0, 150),
        ),
        ("ORDER BY date_from_unix_date(x)", "RANGE INTERVAL 2 DAYS PRECEDING", Frame("range", -2)),
    ],
)
def test_frames(order: str, written: str, frame: Frame) -> None:
    over = plan(f"SELECT sum(x) OVER ({order} {written}) AS s FROM t").inputs[0]
    assert isinstance(over, Over)
    assert [each.frame for each in over.columns] == [frame]


@pytest.mark.parametrize(
    ("written", "nth", "frame"),
    [
        ("lag(x)", 1, Frame("rows", -1, -1)),
        ("lead(x, 2)", 1, Frame("rows", 2, 2)),
        ("lag(x, -2)", 1, Frame("rows", 2, 2)),
        ("first_value(x)", 1, Frame("range", None, 0)),
        ("last_value(x)", -1, Frame("range", None, 0)),
        ("nth_value(x, 3)", 3, Frame("range", None, 0)),
        ("last_value(x) IGNORE NULLS", None, Frame("range", None, 0)),
        ("first_value(x) FILTER (WHERE x > 0)", None, Frame("range", None, 0)),
    ],
)
def test_places(written: str, nth: int | None, frame: Frame) -> None:
    over = plan(f"SELECT {written} OVER (ORDER BY y) AS v FROM t").inputs[0]
    assert isinstance(over, Over)
    assert [(each.nth, each.frame) for each in over.columns] == [(nth, frame)]


def test_the_default_is_cast_to_the_type_of_the_value() -> None:
    over = plan("SELECT lag(x, 1, 0.5) OVER (ORDER BY y) AS v FROM t").inputs[0]
    assert isinstance(over, Over)
    (column,) = over.columns
    assert column.default is not None
    assert column.default.type == column.value.type
