"""A payload row: an immutable mapping from column names to values, comparable as SQL groups.

Two rows are the same when they have the same columns and each value is the same by SQL's grouping
rule: null is null, NaN is NaN, 0.0 is -0.0, and 1 is 1.0; but true is not 1. The order of the
columns is kept for showing, and is not part of a row's identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

Value = Any
"""None, bool, int, float, Decimal, str, bytes, a tuple of values (array) or a Row (struct)."""

_ARRAY, _STRUCT = 6, 7
"""The places of arrays and structs in the order of values."""
_PLACES = {bool: 1, int: 2, Decimal: 2, str: 4, bytes: 5}
"""Those of values that are what they are; floats have NaN, and null is no value."""
_PLAIN = frozenset((type(None), float, *_PLACES))


class Row(Mapping[str, Value]):
    """An immutable, hashable row.

    >>> Row(symbol="A", price=10.0)["price"]
    10.0
    >>> Row(a=1, b=None) == Row(b=None, a=1.0)
    True
    >>> sorted([Row(a=2), Row(a=None), Row(a=1)])
    [Row(a=None), Row(a=1), Row(a=2)]
    """

    __slots__ = ("_identity", "_values")

    def __init__(self, values: Mapping[str, Value] | None = None, /, **more: Value) -> None:
        if values is not None and not isinstance(values, (dict, Mapping)):
            raise TypeError(f"a row is made of names and values, Row(price=1), not {values!r}")
        self._values = {name: _frozen(value) for name, value in {**(values or {}), **more}.items()}
        self._identity = tuple(
            (name, _identity(self._values[name])) for name in sorted(self._values)
        )

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._identity == other._identity

    def __lt__(self, other: Row) -> bool:
        return self._by_name() < other._by_name()

    def _by_name(self) -> list[tuple[str, tuple[Any, ...]]]:
        """By column, what `sort_key` gives; of all but arrays and structs that is the identity."""
        return [
            (name, same if same[0] < _ARRAY else sort_key(self._values[name]))
            for name, same in self._identity
        ]

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def sort_key(value: Value) -> tuple[Any, ...]:
    """A total order on values: null, then false, true, numbers (NaN last), text, bytes, arrays,
    structs. It is the order of Spark SQL within each type, and breaks ties deterministically. The
    first field of a struct decides most.

    >>> sorted([3, None, float("nan"), -1.5], key=sort_key)
    [None, -1.5, 3, nan]
    >>> sorted([{"b": 2, "a": 1}, {"b": 1, "a": 2}], key=sort_key)
    [{'b': 1, 'a': 2}, {'b': 2, 'a': 1}]
    """
    if type(value) in _PLAIN:
        return _identity(value)
    if isinstance(value, Mapping):
        return (_STRUCT, tuple((name, sort_key(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return (_ARRAY, tuple(map(sort_key, value)))
    return _identity(value)


def _frozen(value: Value) -> Value:
    if type(value) in _PLAIN or isinstance(value, Row):
        return value
    if isinstance(value, Mapping):
        return Row(value)
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    return value


def _identity(value: Value) -> tuple[Any, ...]:
    """What makes two values one: comparable, hashable, and the same for NaN, 0.0 and -0.0."""
    if value is None:
        return (0,)
    place = _PLACES.get(type(value))
    if place is not None:
        return (place, value)
    if isinstance(value, str):
        return (4, value)
    if isinstance(value, bytes):
        return (5, value)
    if isinstance(value, tuple):
        return (_ARRAY, tuple(_identity(item) for item in value))
    if isinstance(value, Row):
        return (_STRUCT, value._identity)
    if isinstance(value, float) and math.isnan(value):
        return (3,)
    return (2, value)
