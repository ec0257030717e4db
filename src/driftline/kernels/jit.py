"""A kernel that Numba compiles when it is first called, or compiled into another.

Nothing is done for a kernel that is never called, and Numba is not imported before one is. What is
compiled is kept on disk (`cache`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, ClassVar, Generic, ParamSpec, TextIO, TypeVar

from driftline.kernels import shipped, signatures, stamps

__all__ = ["Kernel", "announce_compilation", "numba_type"]

P = ParamSpec("P")
T = TypeVar("T")


class Kernel(Generic[P, T]):
    """A kernel as Numba compiles it: for the types that it states, or, if it is to be inlined, for
    all that it is called with."""

    called: ClassVar[dict[str, Kernel[..., Any]]] = {}
    """All kernels that are called, by their names; those that are inlined are parts of them."""

    options_of_build: ClassVar[dict[str, Any]] = {}
    """What Numba is told while the library is built; what is compiled is not kept then."""

    def __init__(self, function: Callable[P, T], **options: Any) -> None:
        update_wrapper(self, function)
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.py_func, self.targetoptions = function, options
        self.is_inlined = "inline" in options
        if not self.is_inlined:
            self.called[self.name] = self
        self._made: Any = None
        self._is_ready = False

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        made = self._made if self._is_ready else self.compiled()
        try:
            result: T = made(*args, **kwargs)
        except TypeError as error:
            if "No matching definition" not in str(error):
                raise
            result = self(*self.fitted(*args))  # type: ignore[call-arg]
        return result

    def compiled(self) -> Any:
        """What Numba makes of it."""
        if self._is_ready:
            return self._made
        if shipped.CHOICE == shipped.SHIPPED:
            raise RuntimeError(
                f"the kernel {self.name} is not in the library as it is here, and with "
                "DRIFTLINE_KERNELS=shipped nothing is compiled (driftline prepare builds a library)"
            )
        import numba
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            if self._made is None:
                made: Any = numba.njit(**self.targetoptions, **self.options_of_build)(self.py_func)
                self._made = made  # for a kernel that calls itself
                try:
                    if not self.is_inlined:
                        self._compile(made)
                except BaseException:
                    self._made = None
                    raise
                self._is_ready = True
            return self._made

    def _compile(self, made: Any) -> None:
        from driftline.kernels.cache import KernelCache

        if not self.options_of_build:
            made._cache = KernelCache(self, _announce)
        made.compile(tuple(map(numba_type, self.types)))
        made.disable_compile()

    @cached_property
    def types(self) -> tuple[signatures.Type, ...]:
        """What its annotations say of its arguments."""
        return signatures.arguments_of(self.py_func)

    def fitted(self, *args: Any, **named: Any) -> tuple[Any, ...]:
        """Arguments that did not fit, so that they do; a TypeError says why if they cannot."""
        if named:
            raise TypeError(
                f"the kernel {self.py_func.__name__} is called by position, not by name"
            )
        return signatures.fitted(self.py_func, self.types, args)

    def is_made_of(self, stamp: str) -> bool:
        """Whether machine code of a stamp is that of this kernel."""
        return stamps.stamp(self) == stamp

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of a function that it finds in another."""
        return self.compiled()._numba_type_

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by its name, as functions are


def numba_type(stated: signatures.Type) -> Any:
    """What Numba calls a type."""
    import numba.types
    from numba.np.numpy_support import from_dtype

    types: Any = numba.types
    match stated:
        case signatures.Number(kind):
            return from_dtype(signatures.dtype_of(kind))
        case signatures.ArrayOf(kind, dimensions, is_frozen):
            item = from_dtype(signatures.dtype_of(kind))
            return types.Array(item, dimensions, "C", readonly=is_frozen)
        case signatures.TupleType(items, class_):
            return types.BaseTuple.from_types(tuple(map(numba_type, items)), class_)
    raise TypeError(f"no argument is of the type {stated}")


COMPILING = "driftline: compiling what is used for the first time, which may take a minute …"
_announcing: list[TextIO] = []


def announce_compilation(to: TextIO | None = None) -> None:
    """Print a line when a kernel that is not in the cache has to be compiled; to stderr, if nothing
    else is said."""
    _announcing[:] = [to or sys.__stderr__ or sys.stderr]


def _announce() -> None:
    while _announcing:
        print(COMPILING, file=_announcing.pop(), flush=True)
