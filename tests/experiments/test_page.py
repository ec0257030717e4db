"""The page is what the command writes from what it measured."""

from __future__ import annotations

from pathlib import Path

from experiments import page
from experiments.catalogue import EXPERIMENTS
from experiments.drawing import saved
from experiments.experiment import Rows

RESULTS = page.stored()


def test_the_page_has_every_experiment_and_is_not_edited_by_hand() -> None:
    assert [*RESULTS] == [each.name for each in EXPERIMENTS]
    assert page.PAGE.read_text() == page.page(RESULTS)
    readme = page.README.read_text()
    assert page.line(RESULTS) in readme
    assert page.with_line(readme, RESULTS) == readme


def test_names_are_unique_and_figures_are_there() -> None:
    assert len({each.name for each in EXPERIMENTS}) == len(EXPERIMENTS)
    there = {path.name for path in page.FIGURES.iterdir()}
    assert there == {f"{each.name}.svg" for each in EXPERIMENTS}


def test_the_same_rows_give_the_same_drawing(tmp_path: Path) -> None:
    first, *_ = EXPERIMENTS
    rows = Rows(RESULTS[first.name]["rows"])
    for name in ("one.svg", "two.svg"):
        saved(first.draw, rows, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
