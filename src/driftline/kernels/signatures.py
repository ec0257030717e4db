"""The types of a kernel's arguments, which its annotations state.

    int, float, bool         64 bits, 64 bits, one
    NDArray[np.int64]        an array of one dimension, one item behind the other
    Annotated[NDArray, 2]    ... of two, row by row
    Annotated[…, FROZEN]     ... that is only read; all others can be written
    a NamedTuple             the types of its fields
    tuple[int, bool]         the types of its items

`driftline.model.arrays` has names for the arrays in use. The text of a type, `str(type)`, is what
`caller.c` goes by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

__all__ = [
    "FROZEN",
    "ArrayOf",
    "Nothing",
    "Number",
    "TupleType",
    "Type",
    "arguments_of",
    "dtype_of",
    "fitted",
]

FROZEN = "frozen"
"""In an annotation: the array is only read."""

BITS_SHOWN = 64
"""Of an int that does not fit; Python does not even print very long ones."""


@dataclass(frozen=True)
class Number:
    """A number or a truth value, by the kind and the bytes of its NumPy type: i8, u8, f8, b1."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class ArrayOf:
    """An array of such numbers."""

    kind: str
    dimensions: int
    is_frozen: bool

    def __str__(self) -> str:
        return f"A{self.kind}{self.dimensions}{'r' if self.is_frozen else 'w'}"


@dataclass(frozen=True)
class TupleType:
    """A tuple, or a NamedTuple if it has a class."""

    items: tuple[Type, ...]
    class_: type | None = None

    def __str__(self) -> str:
        name = f"{self.class_.__module__}:{self.class_.__qualname__}" if self.class_ else ""
        return f"T{name}({''.join(map(str, self.items))})"


@dataclass(frozen=True)
class Nothing:
    """What a kernel returns that returns nothing."""

    def __str__(self) -> str:
        return "0"


Type = Number | ArrayOf | TupleType | Nothing

_NUMBERS = {int: Number("i8"), float: Number("f8"), bool: Number("b1")}
"""Numbers of fewer bytes are only in arrays: as arguments, they would have to be cut off to fit."""


def arguments_of(function: Callable[..., Any]) -> tuple[Type, ...]:
    """The types of a kernel's arguments.

    >>> def seek(times: np.ndarray[tuple[int], np.dtype[np.int64]], time: int) -> int: ...
    >>> [str(each) for each in arguments_of(seek)]
    ['Ai81w', 'i8']
    """
    hints = get_type_hints(function, include_extras=True)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    try:
        return tuple(_type_of(hints[name]) for name in names)
    except (KeyError, TypeError) as error:
        name = f"{function.__module__}.{function.__qualname__}"
        raise TypeError(f"the kernel {name} does not state its types: {error}") from None


def _type_of(hint: Any) -> Type:
    if hint in _NUMBERS:
        return _NUMBERS[hint]
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = get_type_hints(hint, include_extras=True)
        return TupleType(tuple(_type_of(fields[name]) for name in fields), hint)
    origin, given = get_origin(hint), get_args(hint)
    if origin is tuple:
        return TupleType(tuple(map(_type_of, given)))
    marks: tuple[Any, ...] = ()
    if origin is Annotated:
        hint, *marks = given  # type: ignore[assignment]
        origin, given = get_origin(hint), get_args(hint)
    if origin is np.ndarray:
        dimensions = next((mark for mark in marks if isinstance(mark, int)), 1)
        return ArrayOf(_kind(get_args(given[1])[0]), dimensions, FROZEN in marks)
    raise TypeError(f"{hint} is no type of a kernel's argument")


def _kind(scalar: Any) -> str:
    return str(np.dtype(scalar).str[1:])


def dtype_of(kind: str) -> np.dtype[Any]:
    """The NumPy type that a kind names.

    >>> dtype_of("b1")
    dtype('bool')
    """
    return np.dtype("?" if kind == "b1" else kind)


def fitted(
    function: Callable[..., Any], types: tuple[Type, ...], values: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Arguments that did not fit a kernel, so that they do: an array that it only reads may lie
    anywhere in memory, and one that it could write may be read only. Both are copied.

    >>> def last(times: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int: ...
    >>> fitted(last, arguments_of(last), (np.zeros((5, 2)),))
    Traceback (most recent call last):
    TypeError: the kernel last takes (Ai81w), not (Af82w)
    """
    made = tuple(map(_fitted, types, values)) if len(types) == len(values) else values
    if all(one is other for one, other in zip(made, values, strict=True)):
        wanted, given = ", ".join(map(str, types)), ", ".join(map(_given, values))
        raise TypeError(f"the kernel {function.__name__} takes ({wanted}), not ({given})")
    return made


def _fitted(type_: Type, value: Any, is_inside: bool = False) -> Any:
    match type_:
        case TupleType(items, class_) if isinstance(value, tuple) and len(value) == len(items):
            made = tuple(_fitted(item, each, True) for item, each in zip(items, value, strict=True))
            if all(one is other for one, other in zip(made, value, strict=True)):
                return value
            return made if class_ is None else class_._make(made)  # type: ignore[attr-defined]
        case ArrayOf(_, dimensions, is_frozen) if (
            isinstance(value, np.ndarray) and value.ndim == dimensions
        ):
            if is_frozen:
                whole: Any = np.require(value, requirements=["C", "A"])
                if is_inside and whole.flags.writeable:  # Numba converts no NamedTuples
                    whole = whole.view()
                    whole.flags.writeable = False
                return whole
            return value if value.flags.writeable else value.copy()
    return value


def _given(value: Any) -> str:
    """What a value is, in the words of the types."""
    if isinstance(value, tuple):
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        return f"T{name if hasattr(value, '_fields') else ''}({''.join(map(_given, value))})"
    if isinstance(value, int) and value.bit_length() > BITS_SHOWN:
        return f"an int of {value.bit_length()} bits"
    if not isinstance(value, np.ndarray):
        known = _NUMBERS.get(type(value))
        return str(known) if known and known.kind != "i8" else repr(value)
    is_whole = value.flags.c_contiguous and value.flags.aligned
    where = ("w" if value.flags.writeable else "r") if is_whole else " in pieces"
    return f"A{value.dtype.str.lstrip('<|')}{value.ndim}{where}"
