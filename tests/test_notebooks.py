"""The notebooks run from top to bottom, in one namespace, and every answer can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))
RICH = ("_repr_html_", "_repr_svg_")


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of the last line, if it is one, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # they are made when it is run
            value = run_cell("".join(cell["source"]), names)
            assert "\n" not in repr(value) or "DataFrame" in type(value).__name__
            shown += [getattr(value, name)() for name in RICH if hasattr(value, name)]
    assert sum("<table" in text for text in shown) >= 2
    assert sum("<svg" in text for text in shown) >= 2
    assert capsys.readouterr().out


def test_there_is_a_first_hour() -> None:
    assert [path.name for path in NOTEBOOKS] == ["first-hour.ipynb"]
