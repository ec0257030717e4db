"""What a part of the benchmark shows, once: on the terminal, and in its section of
bench/README.md. The sections of other parts stay as they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

README = Path(__file__).parent / "README.md"
HEADING = "## The latest tables\n"
WIDTH = 150

Shown = Table | str
"""A table, or a line of text."""


def print_shown(shown: Sequence[Shown]) -> None:
    console = Console(width=WIDTH)
    for each in shown:
        console.print(each)


def write(name: str, load: float, shown: Sequence[Shown], order: Sequence[str]) -> None:
    """Put what a part shows into its section; `order`: of the sections of all parts."""
    text = README.read_text(encoding="utf-8")
    end = text.index(HEADING) + len(HEADING)
    README.write_text(text[:end] + replaced(text[end:], name, load, shown, order), encoding="utf-8")


def replaced(
    sections: str, name: str, load: float, shown: Sequence[Shown], order: Sequence[str]
) -> str:
    """The sections with that of a part anew."""
    parts = re.split(r"^### ", sections, flags=re.MULTILINE)
    found = {re.split(r"[, \n]", part, maxsplit=1)[0]: part.strip() for part in parts[1:]}
    body = "\n\n".join(_markdown(each) for each in shown)
    found[name] = f"{name}, load {load:.2f} before\n\n{body}"
    names = sorted(found, key=lambda part: order.index(part) if part in order else len(order))
    return "".join(f"\n### {found[part]}\n" for part in names)


def _markdown(shown: Shown) -> str:
    if isinstance(shown, str):
        return shown
    columns = [[str(cell) for cell in column.cells] for column in shown.columns]
    lines = [
        _line(str(column.header) for column in shown.columns),
        "|" + "---|" * len(columns),
        *map(_line, zip(*columns, strict=True)),
    ]
    title = [f"{shown.title}:", ""] if shown.title else []
    return "\n".join([*title, *lines])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
