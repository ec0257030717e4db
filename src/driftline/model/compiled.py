"""Numba's `njit`, with a cache on disk that several processes can fill at the same time, and from
which kernels are loaded quickly.

**Saving.** Numba picks the name of a new file in its cache by what the index holds. Two processes
that compile different forms of one function at the same moment pick the same name, and the index of
the one can come to point to the code of the other. So the step from reading the index to writing it
is done under a lock.

**Upgrading.** An index that names a class of an earlier version is empty, not an error.

**Loading.** Before Numba loads a kernel from its cache it imports all that it would need to compile
one, and it parses the kernel's bitcode, which only a kernel that is compiled later and calls this
one needs. A short command spends a third of its time on that. Here a cached kernel is loaded as
machine code alone; the compiler is imported, bitcode parsed, Numba's own runtime compiled and its
extensions looked for when something is compiled. Nor is anything done for a kernel that is never
called, or the module of every function of Numba that a kernel calls imported.

This uses parts of Numba that are not public: pyproject.toml pins its version.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any, Generic, ParamSpec, TextIO, TypeVar

import llvmlite.binding as llvm
import numba
from numba.core import environment, event
from numba.core.caching import (
    Cache,
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
)
from numba.core.codegen import CPUCodeLibrary
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import nrt

try:
    import fcntl
except ImportError:  # not on this system: processes have to take turns by themselves
    fcntl = None  # type: ignore[assignment]

__all__ = ["announce_compilation", "in_place", "njit"]

COMPILING = "driftline: compiling what is used for the first time, which may take a minute …"

P = ParamSpec("P")
T = TypeVar("T")


class _Deferred(Generic[P, T]):
    """A kernel for which Numba makes a dispatcher when it is first called, or compiled into
    another: most of those that are imported are not."""

    _making = Lock()
    _made: Any = None

    def __init__(self, function: Callable[P, T], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = function, options

    def _dispatcher(self) -> Any:
        with self._making:
            if self._made is None:
                made: Any = numba.njit(**self._options)(self._function)
                # Extensions that are installed are looked for when something is compiled.
                made._compilation_chain_init_hook = _nothing
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


def njit(**options: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Numba's `njit`, for a kernel that is made ready when it is needed."""
    return lambda function: _Deferred(function, options)


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


_cache_file: Any = IndexDataCacheFile
_cache: Any = Cache
_results: Any = CompileResultCacheImpl
_library: Any = CPUCodeLibrary
_dispatcher: Any = Dispatcher
_environment: Any = environment
_function_cache: Any = FunctionCache
_runtime: Any = nrt
_rebuild_environment = _environment._rebuild_env
_save, _rebuild = _cache_file.save, _results.rebuild
_load_index = _cache_file._load_index
_unserialize, _module_for_linking = _library._unserialize, _library._get_module_for_linking


def _save_in_turn(self: Any, key: Any, data: Any) -> None:
    if fcntl is None:
        _save(self, key, data)
        return
    with Path(self._index_path + ".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        _save(self, key, data)


def _load_index_of_this_version(self: Any) -> Any:
    """An index that an earlier version has left may name classes that are gone: Numba looks at it
    before it sees that the source has changed."""
    try:
        return _load_index(self)
    except (AttributeError, ImportError):
        return {}


@cache
def _name_runtime() -> None:
    """Machine code brings the functions of Numba's runtime along that would have to be compiled,
    and finds the others by their names."""
    helpers: dict[str, int] = _runtime._nrt.c_helpers
    for name, address in helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _load_without_compiler(self: Any, signature: Any, context: Any) -> Any:
    _name_runtime()
    with self._guard_against_spurious_io_errors():
        return self._load_overload(signature, context)


def _rebuild_by_names(self: Any, context: Any, payload: Any) -> Any:
    """LLVM's engine finds only symbols whose names it knows, otherwise from the bitcode."""
    function = payload[1]
    context.codegen()._engine._defined_symbols |= {
        function.llvm_func_name,
        function.llvm_cpython_wrapper_name,
        function.llvm_cfunc_wrapper_name,
    }
    return _rebuild(self, context, payload)


def _unserialize_machine_code(cls: Any, codegen: Any, state: Any) -> Any:
    name, kind, data = state
    if kind != "object":
        return _unserialize(codegen, state)
    library = codegen.create_library(name)
    library.enable_object_caching()
    object_code, library.unparsed_bitcode = data
    library._set_compiled_object(object_code)
    library._finalize_final_module()
    return library


def _parse_for_linking(self: Any) -> Any:
    bitcode = getattr(self, "unparsed_bitcode", None)
    if bitcode is not None and self._shared_module is None:
        self._shared_module = llvm.parse_bitcode(bitcode)
        self._codegen._engine._load_defined_symbols(self._shared_module)
    return _module_for_linking(self)


class _CacheOnDemand:
    """The cache of a kernel, which is looked for when the kernel is called first."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __getattr__(self, name: str) -> Any:
        if name == "_found":
            self._found = _function_cache(self._function)
            return self._found
        return getattr(self._found, name)


def _enable_caching(self: Any) -> None:
    self._cache = _CacheOnDemand(self.py_func)


def _environment_without_module(module: str, constants: Any, name: str) -> Any:
    """Code that is compiled takes from the module of a function nothing but its name."""
    if module in sys.modules or not module.startswith("numba."):
        return _rebuild_environment(module, constants, name)
    found = _environment.lookup_environment(name)
    if found is None:
        found = _environment.Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        _environment.Environment._memo[name] = found
    return found


if _save.__name__ != _save_in_turn.__name__:  # the module may be loaded twice
    _dispatcher.enable_caching = _enable_caching
    _environment._rebuild_env = _environment_without_module
    _cache_file.save = _save_in_turn
    _cache_file._load_index = _load_index_of_this_version
    _cache.load_overload = _load_without_compiler
    _results.rebuild = _rebuild_by_names
    _library._unserialize = classmethod(_unserialize_machine_code)
    _library._get_module_for_linking = _parse_for_linking
