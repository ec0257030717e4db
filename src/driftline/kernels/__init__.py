"""Kernels: functions over arrays that run as machine code.

    @compiled          a kernel that may make arrays
    @in_place          one that only works on those it is given
    @inlined           a part of others, which is compiled into each of them

A kernel states the types of its arguments (`signatures`), is called by position, and has one form,
whose code is made of all that it names (`stamps`). That code comes from the library that was
compiled when Driftline was built (`build`, `shipped`), called without Numba (`caller.c`). Where
there is none, or it is of other sources, Numba compiles the kernel when it is first called (`jit`)
and keeps what it has made (`cache`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar, cast

from driftline.kernels import shipped
from driftline.kernels.jit import Kernel, announce_compilation

__all__ = ["announce_compilation", "compiled", "in_place", "inlined"]

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel, which may make arrays."""
    return _called(Kernel(function, nogil=True))


def in_place(function: Callable[P, T]) -> Callable[P, T]:
    """A kernel that makes no arrays, but works on those it is given. It does not count references
    to them, which can cost a short kernel more than its work."""
    return _called(Kernel(function, nogil=True, _nrt=False))


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """A part of kernels, compiled into each of them for whatever arguments they give it."""
    return Kernel(function, inline="always")


def _called(kernel: Kernel[P, T]) -> Callable[P, T]:
    """What calls a kernel: its machine code in the library, if that has it."""
    found: Any = shipped.kernel(kernel)
    return cast(Callable[P, T], kernel if found is None else update_wrapper(found, kernel.py_func))
