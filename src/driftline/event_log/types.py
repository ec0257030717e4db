"""The types of a stream's columns, which its rows settle one after another.

The first row defines which columns there are. A column's type is that of its first value that is
not null: number, string, boolean, array, object. It never changes after that, but for an integer
column that meets a float: it becomes double, if it had no integer beyond 2^53, from where on a
double does not hold every integer exactly; and a double column takes no such integer. Integers
beyond 64 bits are decimals. The strings "NaN", "Infinity" and "-Infinity" are numbers in a column
that has other numbers, and strings in any other.
Inside objects, a field that is missing is null.

`RowTypes.refuse` goes value by value: it is the definition. `RowTypes.join` takes a whole Arrow
table at once and gives up where the definition is needed to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.event_log.fields import WORDS
from driftline.event_log.json_kernel import LARGEST_EXACT
from driftline.model.arrays import list_lengths, to_arrow, to_numpy
from driftline.model.time import BEGINNING, INFINITY

LONG = pa.decimal128(38, 0)
"""Holds integers beyond 64 bits."""


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
        self.words: set[str] = set()
        """The columns of strings in which every string so far is a word for a number."""

    def refuse(self, row: dict[str, Any]) -> str | None:
        """Why the row does not fit; if it does, its types become known."""
        if self.columns is not None and row.keys() != self.columns.keys():
            return self._other_columns(row)
        try:
            known = self.columns if self.columns is not None else dict.fromkeys(row, pa.null())
            large, words = self.large, self.words
            self.large, self.words = large.copy(), words.copy()
            columns = {name: self._settle(known[name], row[name], name) for name in known}
        except _Misfit as misfit:
            self.large, self.words = large, words
            return str(misfit)
        self.columns = columns
        return None

    def numbers(self) -> list[str]:
        """The columns of numbers that a word for a number may stand in."""
        return [
            name
            for name, kind in (self.columns or {}).items()
            if kind in (pa.int64(), pa.float64()) and name not in self.large
        ]

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

    def _settle(self, known: pa.DataType, value: Any, path: str) -> pa.DataType:
        """The type of a column that held `known` so far and now holds `value`."""
        if value is None:
            return known
        if isinstance(value, str) and value in WORDS and _kind_of_type(known) == "number":
            value = WORDS[value]
        elif path in self.words and _kind_of_value(value) == "number":
            self.words.discard(path)
            known = pa.float64()
        if known != pa.null() and _kind_of_type(known) != _kind_of_value(value):
            raise _Misfit(
                f'column "{path}" holds {_article(_kind_of_value(value))}, '
                f"but {_article(_kind_of_type(known))} in earlier rows of {self.stream}"
            )
        match value:
            case bool():
                return pa.bool_()
            case str():
                if value not in WORDS:
                    self.words.discard(path)
                elif known == pa.null():
                    self.words.add(path)
                return pa.string()
            case int():
                return self._settle_integer(known, value, path)
            case float():
                if path in self.large:
                    raise _Misfit(
                        f'column "{path}" holds the float {value!r}, but earlier rows of '
                        f"{self.stream} hold integers beyond 2^53, where a double is not exact"
                    )
                return pa.float64()
            case list():
                item = pa.null() if known == pa.null() else known.value_type
                for each in value:
                    item = self._settle(item, each, f"{path}[]")
                return pa.list_(item)
            case _:
                fields = {} if known == pa.null() else {field.name: field.type for field in known}
                for name, each in value.items():
                    below = f"{path}.{name}"
                    fields[name] = self._settle(fields.get(name, pa.null()), each, below)
                return pa.struct(list(fields.items()))

    def _settle_integer(self, known: pa.DataType, value: int, path: str) -> pa.DataType:
        if abs(value) > LARGEST_EXACT:
            if known == pa.float64():
                raise _Misfit(
                    f'column "{path}" holds the integer {value}, but earlier rows of '
                    f"{self.stream} hold floats, and beyond 2^53 a double is not exact"
                )
            self.large.add(path)
        if known in (pa.float64(), LONG):
            return known
        return pa.int64() if BEGINNING <= value <= INFINITY else LONG

    def join(self, table: pa.Table, *, big: bool, words: bool = False) -> None:
        """Takes the types of a table of rows with the right columns, if they fit what is known.

        `big`: the rows hold integers beyond LARGEST_EXACT; `words`: they may hold words for
        numbers. Raises `Undecided`, and changes nothing, where only the values one by one can
        decide.
        """
        assert self.columns is not None
        joined = {}
        for name, known in self.columns.items():
            place = table.schema.get_field_index(name)
            if place >= 0:
                joined[name] = self._join(known, table.schema.field(place).type, name)
            else:
                joined[name] = known  # null in every row
        found: set[str] = set()
        if big:
            for name in table.column_names:
                for chunk in table.column(name).chunks:
                    found.update(_large_integers(chunk, name))
        kept = {name for name in self.words if self._still_words(name, table)}
        for name in table.column_names if words else ():
            column = table.column(name).combine_chunks()
            kept.update(_new_words(column, self.columns[name], name))
        self.columns, self.large, self.words = joined, self.large | found, kept

    def _still_words(self, path: str, table: pa.Table) -> bool:
        if "[]" in path or "." in path:
            raise Undecided  # it may be inside a value
        return table.schema.get_field_index(path) < 0 or all(
            value is None or value in WORDS for value in table.column(path).unique().to_pylist()
        )

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
        if LONG in (known, new) and pa.int64() in (known, new):
            return LONG
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
    elif kind == LONG:
        yield path
    elif pa.types.is_float64(kind):
        floats = to_numpy(array.drop_null())
        if (np.isfinite(floats) & (np.abs(floats) >= LARGEST_EXACT)).any():
            raise Undecided


def _new_words(array: pa.Array, known: pa.DataType, path: str) -> Iterator[str]:
    """The paths of strings, where no type was known, of which all are words for numbers."""
    kind = array.type
    if pa.types.is_list(kind):
        item = pa.null() if known == pa.null() else known.value_type
        yield from _new_words(array.flatten(), item, f"{path}[]")
    elif pa.types.is_struct(kind):
        fields = {} if known == pa.null() else {field.name: field.type for field in known}
        for field, values in zip(kind, array.flatten(), strict=True):
            before = fields.get(field.name, pa.null())
            yield from _new_words(values, before, f"{path}.{field.name}")
    elif pa.types.is_string(kind) and known == pa.null():
        found = set(array.unique().to_pylist()) - {None}
        if found and found <= WORDS.keys():
            yield path


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
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
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
