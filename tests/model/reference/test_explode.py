from hypothesis import given

from driftline.model.history import canonical_history
from driftline.model.reference import explode
from driftline.model.row import Row
from driftline.testing import streams
from tests.build import history, insert


def test_a_row_is_there_once_for_each_item() -> None:
    came = history((1, 5, {"p": 2}), (3, 9, {"p": 0}))
    counted = explode(came, lambda row: [{"i": place} for place in range(row["p"])])
    assert counted == history((1, 5, {"p": 2, "i": 0}), (1, 5, {"p": 2, "i": 1}))


def test_outer_keeps_rows_without_items() -> None:
    came = canonical_history([insert(1, 5, {"p": 1}), insert(2, 6, {"p": None})])
    found = explode(came, lambda row: None if row["p"] is None else [{"i": row["p"]}], {"i": None})
    assert found == history((1, 5, {"p": 1, "i": 1}), (2, 6, {"p": None, "i": None}))


@given(streams())
def test_one_item_is_a_projection(events: list[object]) -> None:
    came = canonical_history(events)  # type: ignore[arg-type]
    same = explode(came, lambda row: [{"i": 7}])
    assert len(same) == len(came)
    assert all(each.row == Row({**each.row, "i": 7}) for each in same)
