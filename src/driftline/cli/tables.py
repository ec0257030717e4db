"""Tables for people: drawn on a terminal, plainly aligned in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> None:
    """Prints a table; the columns whose index is in `right` are aligned to the right."""
    if sys.stdout.isatty():
        _drawn(header, rows, right)
    else:
        for line in aligned(header, rows, right):
            print(line)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> list[str]:
    """The lines of a table without rules.

    >>> aligned(["", "a"], [["events", "10"], ["ctis", "1"]], {1})
    ['         a', 'events  10', 'ctis     1']
    """
    everything = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in everything) for i in range(len(header))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in everything
    ]


def _drawn(header: Sequence[str], rows: Sequence[Sequence[str]], right: set[int]) -> None:
    from rich.box import ROUNDED
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=ROUNDED, header_style="bold")
    for i, name in enumerate(header):
        table.add_column(Text(name), justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
