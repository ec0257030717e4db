"""What an experiment is: rows that are measured, and claims of a paper that rows decide.

A claim is a function from the rows to statements, each with its numbers and with whether it is so.

    holds            all statements are so
    holds in part    some are
    does not hold    none is

`was` is the verdict that tests hold a claim to. A claim that does not hold is a finding; `why` says
where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

Value = float | str
Row = dict[str, Value]
Floats = NDArray[np.float64]
Verdict = Literal["holds", "holds in part", "does not hold"]
Paper = Literal["STREAM", "CEDR", "Nile", "WhiteWater", "Flying Fixed-Point"]


class Rows:
    """What was measured; `where` picks rows by the values of columns."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)

    def where(self, **picked: Value) -> Rows:
        return Rows([row for row in self.rows if all(row[k] == v for k, v in picked.items())])

    def column(self, name: str, **picked: Value) -> Floats:
        return np.array([row[name] for row in self.where(**picked).rows], np.float64)

    def value(self, name: str, **picked: Value) -> float:
        (value,) = self.column(name, **picked)
        return float(value)

    def values(self, name: str) -> list[Value]:
        """What a column has, each once, in their order."""
        return list(dict.fromkeys(row[name] for row in self.rows))


Statements = dict[str, bool]


@dataclass(frozen=True)
class Claim:
    """`paper`: what it claims, in our words."""

    paper: str
    seen: Callable[[Rows], Statements]
    was: Verdict = "holds"
    why: str = ""


def verdict(statements: Statements) -> Verdict:
    """
    >>> verdict({"1 < 2": True, "2 < 1": False})
    'holds in part'
    """
    if all(statements.values()):
        return "holds"
    return "holds in part" if any(statements.values()) else "does not hold"


@dataclass(frozen=True)
class Experiment:
    """`figure`: what it repeats; `workload`: what runs, and in which time; `measure`: the rows, in
    full or quickly, as they are found; `claims`, `draw`: over the rows; `of_processor_time`:
    whether rows depend on the machine."""

    name: str
    paper: Paper
    figure: str
    title: str
    workload: str
    measure: Callable[[bool], Iterator[Row]]
    claims: tuple[Claim, ...]
    draw: Callable[[Rows, Figure], None]
    of_processor_time: bool = False
