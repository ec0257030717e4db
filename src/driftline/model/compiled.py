"""Numba's `njit`, for kernels that are made ready when they are needed.

Nothing is done for a kernel that is never called: most of those that are imported are not. What is
compiled is kept on disk (`model.kernel_cache`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any, Generic, ParamSpec, TextIO, TypeVar

import numba
from numba.core import event

from driftline.model.kernel_cache import KernelCache

__all__ = ["announce_compilation", "in_place", "njit"]

COMPILING = "driftline: compiling what is used for the first time, which may take a minute …"

P = ParamSpec("P")
T = TypeVar("T")


class _Deferred(Generic[P, T]):
    """A kernel for which Numba makes a dispatcher when it is first called, or compiled into
    another. `is_kept`: what is compiled is kept on disk."""

    _making = Lock()
    _made: Any = None

    def __init__(self, function: Callable[P, T], options: dict[str, Any], is_kept: bool) -> None:
        update_wrapper(self, function)
        self.py_func, self.targetoptions, self.is_kept = function, options, is_kept

    def _dispatcher(self) -> Any:
        with self._making:
            if self._made is None:
                made: Any = numba.njit(**self.targetoptions)(self.py_func)
                # Extensions that are installed are looked for when something is compiled.
                made._compilation_chain_init_hook = _nothing
                if self.is_kept:
                    made._cache = KernelCache(self)
                self._made = made
        return self._made

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        made = self._made
        result: T = (self._dispatcher() if made is None else made)(*args, **kwargs)
        return result

    def __getattr__(self, name: str) -> Any:
        """What Numba asks of a function that it finds in another."""
        return getattr(self._dispatcher(), name)

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # pickled by its name, as functions are


def _nothing() -> None:
    pass


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Numba's `njit`, for a kernel that is made ready when it is needed."""
    return lambda function: _Deferred(function, options, cache)


def in_place(function: Callable[P, T]) -> Callable[P, T]:
    """`njit` for a kernel that makes no arrays, but works on those it is given. It does not count
    references to them, which can cost a short kernel more than its work."""
    return njit(cache=True, nogil=True, _nrt=False)(function)


class _Announcing(event.Listener):
    def __init__(self) -> None:
        self.to: TextIO | None = None

    def on_start(self, event: Any) -> None:
        if self.to is not None:
            print(COMPILING, file=self.to, flush=True)
            self.to = None

    def on_end(self, event: Any) -> None:
        pass


_announcing = _Announcing()
event.register("numba:compile", _announcing)  # type: ignore[no-untyped-call]


def announce_compilation(to: TextIO) -> None:
    """Print a line when a kernel that is not in the cache has to be compiled."""
    _announcing.to = to
