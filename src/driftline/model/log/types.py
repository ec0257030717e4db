"""The types of a stream's columns, which its rows settle one after another.

The first row says which columns there are. A column's type is what its first value that is not
null says: number, string, boolean, array, object. It never changes after that, but for an integer
column that meets a float: it becomes double, if it had no integer beyond 2^53, from where on a
double does not hold every integer exactly; and a double column takes no such integer.
Inside objects, a field that is missing is null.

`RowTypes.refuse` goes value by value: it is the definition. `RowTypes.join` takes a whole Arrow
table at once and gives up where the definition is needed to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.model.arrays import list_lengths, to_arrow, to_numpy
from driftline.model.log.scan import LARGEST_EXACT


class Undecided(Exception):
    """The types of a table do not settle whether its rows fit."""


class RowTypes:
    """What is known of the columns of one stream.

    >>> types = RowTypes("trades")
    >>> types.refuse({"price": 10})
    >>> types.refuse({"price": 10.5})
    >>> types.columns
    {'price': DataType(double)}
    >>> types.refuse({"price": "10"})
    'column "price" holds a string, but a number in earlier rows of trades'
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.columns: dict[str, pa.DataType] | None = None
        self.large: set[str] = set()
        """The columns that hold integers beyond LARGEST_EXACT."""

    def refuse(self, row: dict[str, Any]) -> str | None:
        """Why the row does not fit; if it does, what it says about the types becomes known."""
        if self.columns is not None and row.keys() != self.columns.keys():
            return self._other_columns(row)
        try:
            known = self.columns if self.columns is not None else dict.fromkeys(row, pa.null())
            large = self.large.copy()
            columns = {name: self._settle(known[name], row[name], name, large) for name in known}
        except _Misfit as misfit:
            return str(misfit)
        self.columns, self.large = columns, large
        return None

    def _other_columns(self, row: dict[str, Any]) -> str:
        assert self.columns is not None
        for name in self.columns:
            if name not in row:
                return (
                    f'the row lacks the column "{name}", which earlier rows of {self.stream} have; '
                    "write null for an unknown value"
                )
        extra = next(name for name in row if name not in self.columns)
        return (
            f'the row has a column "{extra}", which earlier rows of {self.stream} lack; '
            "all rows of a stream have the same columns, with null for an unknown value"
        )

    def _settle(self, known: pa.DataType, value: Any, path: str, large: set[str]) -> pa.DataType:
        """The type of a column that held `known` so far and now holds `value`."""
        if value is None:
            return known
        if known != pa.null() and _kind_of_type(known) != _kind_of_value(value):
            raise _Misfit(
                f'column "{path}" holds {_article(_kind_of_value(value))}, '
                f"but {_article(_kind_of_type(known))} in earlier rows of {self.stream}"
            )
        match value:
            case bool():
                return pa.bool_()
            case str():
                return pa.string()
            case int():
                return self._settle_integer(known, value, path, large)
            case float():
                if path in large:
                    raise _Misfit(
                        f'column "{path}" holds the float {value!r}, but earlier rows of '
                        f"{self.stream} hold integers beyond 2^53, where a double is not exact"
                    )
                return pa.float64()
            case list():
                item = pa.null() if known == pa.null() else known.value_type
                for each in value:
                    item = self._settle(item, each, f"{path}[]", large)
                return pa.list_(item)
            case _:
                fields = {} if known == pa.null() else {field.name: field.type for field in known}
                for name, each in value.items():
                    below = f"{path}.{name}"
                    fields[name] = self._settle(fields.get(name, pa.null()), each, below, large)
                return pa.struct(list(fields.items()))

    def _settle_integer(
        self, known: pa.DataType, value: int, path: str, large: set[str]
    ) -> pa.DataType:
        if abs(value) > LARGEST_EXACT:
            if known == pa.float64():
                raise _Misfit(
                    f'column "{path}" holds the integer {value}, but earlier rows of '
                    f"{self.stream} hold floats, and beyond 2^53 a double is not exact"
                )
            large.add(path)
        return known if known == pa.float64() else pa.int64()

    def join(self, table: pa.Table, *, big: bool) -> None:
        """Takes the types of a table of rows with the right columns, if they fit what is known.

        `big` says that the rows hold integers beyond LARGEST_EXACT. Raises `Undecided`, and
        changes nothing, where only the values one by one can tell.
        """
        assert self.columns is not None
        joined = {}
        for name, known in self.columns.items():
            if name in table.column_names:
                joined[name] = self._join(known, table.schema.field(name).type, name)
            else:
                joined[name] = known  # null in every row
        found: set[str] = set()
        if big:
            for name in table.column_names:
                for chunk in table.column(name).chunks:
                    found.update(_large_integers(chunk, name))
        self.columns, self.large = joined, self.large | found

    def _join(self, known: pa.DataType, new: pa.DataType, path: str) -> pa.DataType:
        if new == known or new == pa.null():
            return known
        if known == pa.null():
            return new
        if _kind_of_type(known) != _kind_of_type(new):
            raise Undecided
        if pa.types.is_list(known):
            return pa.list_(self._join(known.value_type, new.value_type, f"{path}[]"))
        if pa.types.is_struct(known):
            fields = {field.name: field.type for field in known}
            for field in new:
                was = fields.get(field.name, pa.null())
                fields[field.name] = self._join(was, field.type, f"{path}.{field.name}")
            return pa.struct(list(fields.items()))
        if path in self.large:
            raise Undecided
        return pa.float64()  # one is int64, the other double


class _Misfit(Exception):
    pass


def _large_integers(array: pa.Array, path: str) -> Iterator[str]:
    """The paths of large integers; Undecided if a double may come of one."""
    kind = array.type
    if pa.types.is_list(kind):
        yield from _large_integers(array.flatten(), f"{path}[]")
    elif pa.types.is_struct(kind):
        for field, values in zip(kind, array.flatten(), strict=True):
            yield from _large_integers(values, f"{path}.{field.name}")
    elif pa.types.is_int64(kind):
        values = to_numpy(array.drop_null())
        if ((values > LARGEST_EXACT) | (values < -LARGEST_EXACT)).any():
            yield path
    elif pa.types.is_float64(kind):
        floats = to_numpy(array.drop_null())
        if (np.abs(floats) >= LARGEST_EXACT).any():
            raise Undecided


def conform(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values of an array in a type that the stream came to later.

    >>> conform(pa.array([{"a": 1}, None]), pa.struct([("a", pa.float64()), ("b", pa.string())]))[0]
    <pyarrow.StructScalar: [('a', 1.0), ('b', None)]>
    """
    if array.type == wanted:
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), wanted)
    if pa.types.is_list(wanted):
        items = conform(array.flatten(), wanted.value_type)
        offsets = np.concatenate([[0], np.cumsum(list_lengths(array))]).astype(np.int32)
        return pa.ListArray.from_arrays(to_arrow(offsets), items, wanted, mask=array.is_null())
    if pa.types.is_struct(wanted):
        have = {
            field.name: values for field, values in zip(array.type, array.flatten(), strict=True)
        }
        columns = [
            conform(have[field.name], field.type)
            if field.name in have
            else pa.nulls(len(array), field.type)
            for field in wanted
        ]
        return pa.StructArray.from_arrays(columns, fields=list(wanted), mask=array.is_null())
    return array.cast(wanted)


def _kind_of_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    if pa.types.is_string(kind):
        return "string"
    if pa.types.is_boolean(kind):
        return "boolean"
    return "array" if pa.types.is_list(kind) else "object"


def _kind_of_value(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ao" else f"a {kind}"
