"""What the machine code of a kernel depends on, as a digest.

That is the kernel itself, its types, and all kernels, constants and classes that it names, wherever
these are. Machine code is valid for one stamp: a change in any of them gives another.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping
from dis import get_instructions
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["SIZE", "digest", "stamp"]

SIZE = 16
"""Bytes of a digest."""


def stamp(kernel: object) -> str:
    """A digest of all that can be part of the machine code of a kernel."""
    return digest(repr(_described(kernel, ())).encode()).hex()


def digest(data: bytes) -> bytes:
    """The digest of some bytes."""
    return hashlib.blake2b(data, digest_size=SIZE).digest()


LIBRARIES = {"numpy", "numba", "math", "operator"}
"""Numba brings its own code for their functions."""


def _is_known(name: str) -> bool:
    return name.partition(".")[0] in LIBRARIES


_known: dict[int, tuple[object, str]] = {}
"""By the id of a kernel its description, with the kernel, so that the id stays its own."""


def _described(value: Any, names: tuple[str, ...], around: tuple[int, ...] = ()) -> object:
    """What a value that a kernel refers to is to its code. `names`: those that the kernel uses;
    `around`: the kernels that it is in."""
    if hasattr(value, "py_func") or isinstance(value, FunctionType):
        return _of_function(value, around)
    if isinstance(value, ModuleType):
        found = [name for name in names if not _is_known(value.__name__) and name in vars(value)]
        return (
            value.__name__,
            *((name, _described(getattr(value, name), (), around)) for name in found),
        )
    if isinstance(value, type):
        fields = getattr(value, "_fields", ())
        members = [(each.name, each.value) for each in value] if issubclass(value, Enum) else []
        types = _of_annotations(value, vars(sys.modules[value.__module__])) if fields else []
        return value.__module__, value.__qualname__, fields, members, types
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, digest(np.ascontiguousarray(value).tobytes())
    if isinstance(value, tuple):
        return tuple(_described(each, names, around) for each in value)
    if isinstance(value, int | float | str | bytes | complex | None | np.generic | np.dtype):
        return type(value).__name__, repr(value)
    if isinstance(value, BuiltinFunctionType | np.ufunc) or type(value).__module__.startswith(
        "numba."
    ):
        return repr(getattr(value, "__qualname__", value))
    raise TypeError(f"a kernel refers to {value!r}: say in {__name__} what that is to its code")


def _of_function(kernel: Any, around: tuple[int, ...]) -> str:
    function: FunctionType = getattr(kernel, "py_func", kernel)
    if id(function) in _known:
        return _known[id(function)][1]
    name = f"{function.__module__}.{function.__qualname__}"
    if id(function) in around:  # it calls itself
        return name
    if _is_known(name):
        return name
    options = sorted(map(repr, getattr(kernel, "targetoptions", {}).items()))
    inside = (*around, id(function))
    cells = [_described(cell.cell_contents, (), inside) for cell in function.__closure__ or ()]
    defaults = [_described(each, (), inside) for each in function.__defaults__ or ()]
    types = _of_annotations(function, function.__globals__)
    code = _of_code(function.__code__, function.__globals__, inside)
    found = digest(repr((name, options, cells, defaults, types, code)).encode()).hex()
    _known[id(function)] = function, found
    return found


_WORD = re.compile(r"[^\W\d]\w*")


def _of_annotations(annotated: Any, around: Mapping[str, Any]) -> object:
    """The types of arguments or fields, and what the names in these stand for."""
    types = {name: str(each) for name, each in annotated.__annotations__.items()}
    words = sorted({word for each in types.values() for word in _WORD.findall(each)})
    meanings = [(word, around[word]) for word in words if word in around]
    return types, [
        (word, _described(each, ()) if isinstance(each, type | ModuleType) else repr(each))
        for word, each in meanings
    ]


def _of_code(code: CodeType, around: dict[str, Any], inside: tuple[int, ...]) -> object:
    """Code, and what it takes from the module around it."""
    constants = [
        _of_code(each, around, inside) if isinstance(each, CodeType) else _constant(each)
        for each in code.co_consts
    ]
    taken = []
    for name in code.co_names:
        if name in around:  # it may be an attribute that is called as a global is
            try:
                taken.append((name, _described(around[name], code.co_names, inside)))
            except TypeError:
                if any(
                    each.opname == "LOAD_GLOBAL" and each.argval == name
                    for each in get_instructions(code)
                ):
                    raise
    return code.co_code, code.co_names, code.co_varnames, constants, taken


def _constant(value: object) -> str:
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
