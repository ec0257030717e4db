"""The columns that an expression is evaluated over, and the steps that do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Value,
    as_array,
    scatter,
    to_mask,
)


class ExpressionInput:
    """The columns an expression reads, or some of their rows."""

    def __init__(self, columns: Any, rows: Array | None = None, length: int | None = None) -> None:
        self._columns = columns
        self._rows = rows
        self.length: int = columns.num_rows if length is None else length
        self._cache: dict[str, Array] = {}

    def column(self, name: str, kind: Any) -> Array:
        """A column with the type the expression was resolved for."""
        found = self._cache.get(name)
        if found is None:
            found = self._columns.column(name)
            if isinstance(found, pa.ChunkedArray):
                found = found.combine_chunks()
                if isinstance(found, pa.ChunkedArray):  # an empty table
                    found = (
                        pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, kind)
                    )
            if self._rows is not None:
                found = found.filter(self._rows)
            if found.type != kind:
                found = pc.cast(found, kind)
            self._cache[name] = found
        return found

    def variable(self, name: str) -> Array:
        """The values of a parameter; there are some inside of a function alone."""
        raise KeyError(name)

    def where(self, rows: Mask) -> ExpressionInput:
        """The rows of a mask."""
        if self._rows is not None:
            parent = to_mask(self._rows).copy()
            parent[parent] = rows
            return ExpressionInput(self._columns, pa.array(parent), int(np.count_nonzero(rows)))
        return ExpressionInput(self._columns, pa.array(rows), int(np.count_nonzero(rows)))


class ItemFrame(ExpressionInput):
    """The items that a function is evaluated for: for each the row around it, and the values of
    the function's parameters."""

    def __init__(
        self, outer: ExpressionInput, rows: npt.NDArray[np.int64], variables: dict[str, Array]
    ) -> None:
        super().__init__(None, None, len(rows))
        self._outer = outer
        self._places = rows
        self._variables = variables

    def column(self, name: str, kind: Any) -> Array:
        """A column of the rows around the items."""
        found = self._cache.get(name)
        if found is None:
            found = self._outer.column(name, kind).take(pa.array(self._places))
            self._cache[name] = found
        return found

    def variable(self, name: str) -> Array:
        """The values of a parameter, of this function or of one around it."""
        found = self._variables.get(name)
        if found is None:
            found = self._outer.variable(name).take(pa.array(self._places))
            self._variables[name] = found
        return found

    def where(self, rows: Mask) -> ExpressionInput:
        """The items of a mask."""
        kept = pa.array(rows)
        variables = {name: value.filter(kept) for name, value in self._variables.items()}
        return ItemFrame(self._outer, self._places[rows], variables)


@dataclass(frozen=True)
class CompiledExpression:
    """A compiled expression. `total`: it cannot fail; `fixed`: it reads no column; `constant`: it
    has been computed."""

    run: Callable[[ExpressionInput], Value]
    kind: Any
    total: bool
    constant: bool = False
    fixed: bool = False

    def array(self, frame: ExpressionInput) -> Array:
        """The value with one entry for each row."""
        if frame.length == 0:
            return pa.nulls(0, self.kind)
        return as_array(self.run(frame), frame.length)

    def array_where(self, frame: ExpressionInput, rows: Mask | None) -> Array:
        """The value on some rows, null on the others. None means all rows."""
        if rows is None or rows.all():
            return self.array(frame)
        if not rows.any():
            return pa.nulls(frame.length, self.kind)
        if self.total:
            return self.array(frame)
        return scatter(self.array(frame.where(rows)), rows, frame.length)
