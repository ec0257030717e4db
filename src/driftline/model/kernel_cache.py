"""Where the machine code of kernels is kept, from one process to the next.

    DIR/module.kernel.py311.nbi       of each kernel: which file has the code for which types
    DIR/module.kernel.py311.1.nbc     machine code, after a checksum

DIR is `__pycache__` beside the kernel, or else a directory of the user (or NUMBA_CACHE_DIR). If
there is none, kernels are compiled in memory, which a line says.

**Never stale.** What is kept is valid for one `stamp`: a digest of all that can be part of the
code, which is that of the kernel and of all the kernels, constants and classes that it refers to,
wherever these are, and the versions of Numba and llvmlite. With another stamp there is nothing; the
files of the old one go when the new one is saved.

**Never wrong.** A file that is cut off, damaged or of another stamp is none: the kernel is compiled
anew. Processes that save forms of one kernel at the same time take turns, as Numba picks the name
of a file by what the index has.

**Quick.** Numba imports all that a compiler needs before it loads a kernel, and parses its bitcode,
which only a kernel that calls it, and is compiled later, needs. Here machine code alone is loaded.

Numba's classes are extended for our own kernels, and no part of it is replaced.
"""

from __future__ import annotations

import hashlib
import io
import logging
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dis import get_instructions as dis
from enum import Enum
from functools import cache
from glob import escape
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import environment
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.runtime import nrt

# Their types are not stated.
_UntypedFiles: Any = IndexDataCacheFile
_UntypedCache: Any = FunctionCache
_Result: Any = CompileResult
_UntypedLibrary: Any = JITCodeLibrary
_environment: Any = environment
_runtime: Any = nrt

try:
    import fcntl
except ImportError:  # not on this system: processes have to take turns by themselves
    fcntl = None  # type: ignore[assignment]

PACKAGE = __name__.partition(".")[0]
SIZE = 16
"""Bytes of a checksum."""


# What a kernel is made of


def stamp(kernel: object) -> str:
    """A digest of all that can be part of the machine code of a kernel."""
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    return _digest(repr((*versions, _described(kernel, ()))).encode()).hex()


def _digest(data: bytes) -> bytes:
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
        return value.__module__, value.__qualname__, fields, members
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, _digest(np.ascontiguousarray(value).tobytes())
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
    code = _of_code(function.__code__, function.__globals__, inside)
    found = _digest(repr((name, options, cells, defaults, code)).encode()).hex()
    _known[id(function)] = function, found
    return found


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
                if any(each.opname == "LOAD_GLOBAL" and each.argval == name for each in dis(code)):
                    raise
    return code.co_code, code.co_names, code.co_varnames, constants, taken


def _constant(value: object) -> str:
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


# Files


class _Files(_UntypedFiles):  # type: ignore[misc]
    """The files of one kernel."""

    def save(self, key: Any, data: Any) -> None:
        with self._turn():
            if self._stamp_kept() != self._source_stamp:
                base = self._index_name.removesuffix(".nbi")
                for old in Path(self._cache_path).glob(f"{escape(base)}.*.nbc"):
                    old.unlink(missing_ok=True)
            super().save(key, data)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        with Path(self._index_path + ".lock").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            yield

    def _stamp_kept(self) -> str | None:
        """The stamp of what is in the files, which comes before all else in them."""
        try:
            with Path(self._index_path).open("rb") as file:
                return str(pickle.load(file))
        except Exception:  # there is none, or it is cut off, or no index of ours
            return None

    def _load_index(self) -> dict[Any, str]:
        if self._stamp_kept() != self._source_stamp:
            return {}  # it may name classes that are gone
        try:
            with Path(self._index_path).open("rb") as file:
                pickle.load(file)
                found: dict[Any, str] = pickle.loads(_unsealed(file.read(), self._source_stamp))
                return found
        except Exception:  # damaged
            return {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            pickle.dump(self._source_stamp, file)
            file.write(_sealed(self._dump(overloads), self._source_stamp))

    def _load_data(self, name: str) -> Any:
        data = _unsealed(Path(self._data_path(name)).read_bytes(), self._source_stamp)
        return _Unpickler(io.BytesIO(data)).load()

    def _save_data(self, name: str, data: Any) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_sealed(self._dump(data), self._source_stamp))


def _sealed(data: bytes, stamp: str) -> bytes:
    return _digest(stamp.encode() + data) + data


def _unsealed(data: bytes, stamp: str) -> bytes:
    """What `_sealed` has made; an OSError, if it was not made of this."""
    if data[:SIZE] != _digest(stamp.encode() + data[SIZE:]):
        raise OSError("damaged")
    return data[SIZE:]


class _Unpickler(pickle.Unpickler):
    """Machine code takes from the module of a function nothing but its name: modules of Numba that
    only a compiler needs are not imported for it."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (_environment.__name__, "_rebuild_env"):
            return _environment_of
        return super().find_class(module, name)


def _environment_of(module: str, constants: Any, name: str) -> Any:
    found: Any = _environment.lookup_environment(name)
    if found is None:
        if module.startswith("numba.") and module not in sys.modules:
            found = _environment.Environment({"__name__": module})
            found.consts[:] = constants
            found.env_name = name
            _environment.Environment._memo[name] = found
        else:
            found = _environment._rebuild_env(module, constants, name)
    return found


# Machine code


class _Library(_UntypedLibrary):  # type: ignore[misc]
    """Machine code, whose bitcode is parsed when a kernel is compiled that calls it."""

    bitcode: bytes | None = None
    _shared_module: Any

    def _get_module_for_linking(self) -> Any:
        if self.bitcode is not None and self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self.bitcode)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return super()._get_module_for_linking()


class _Code(CompileResultCacheImpl):
    """A compiled kernel as it is kept: under its name alone, wherever it is in its file."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        version = f"{sys.version_info[0]}{sys.version_info[1]}{abiflags}"
        return f"{fullname.replace('<', '').replace('>', '')}.py{version}"

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        (
            (name, _, (machine_code, bitcode)), function, own, signature, object_mode, lifted,
            annotation, initializers, referenced,
        ) = payload  # fmt: skip
        for initialize in initializers:
            initialize()
        codegen = target_context.codegen()
        # LLVM's engine finds only symbols whose names it knows, otherwise from the bitcode.
        codegen._engine._defined_symbols |= {
            function.llvm_func_name,
            function.llvm_cpython_wrapper_name,
            function.llvm_cfunc_wrapper_name,
        }
        library = _Library(codegen, name)
        library.enable_object_caching()
        library._set_compiled_object(machine_code)
        library.bitcode = bitcode
        library._finalize_final_module()
        result = _Result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=own,
            entry_point=target_context.get_executable(library, function, own),
            fndesc=function,
            type_annotation=annotation,
            signature=signature,
            objectmode=object_mode,
            lifted=lifted,
            typing_error=None,
            call_helper=None,
            metadata=None,
            reload_init=initializers,
            referenced_envs=referenced,
        )
        for each in referenced:
            codegen.set_env(each.env_name, each)
        return result


@cache
def _name_runtime() -> None:
    """Machine code brings the functions of Numba's runtime along that would have to be compiled,
    and finds the others by their names."""
    helpers: dict[str, int] = _runtime._nrt.c_helpers
    for name, address in helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class KernelCache(_UntypedCache):  # type: ignore[misc]
    """The cache of a kernel, which is looked for when the kernel is called first."""

    _impl_class = _Code

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        return str(self._cache_path) if self._is_there() else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._is_there():
            return None
        _name_runtime()
        return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._is_there():
            try:
                self._save_overload(sig, data)
            except OSError as error:  # the disk is full, or the directory gone
                _say_nowhere(str(error))

    def flush(self) -> None:
        if self._is_there():
            super().flush()

    @cache  # noqa: B019 - kernels stay
    def _is_there(self) -> bool:
        try:
            super().__init__(self._kernel.py_func)
        except (RuntimeError, OSError) as error:
            _say_nowhere(str(error))
            return False
        path, base = self._cache_path, self._impl.filename_base
        self._cache_file = _Files(path, base, stamp(self._kernel))
        return True


@cache
def _say_nowhere(why: str) -> None:
    logging.getLogger(PACKAGE).warning(
        "driftline: kernels are compiled in memory, each time anew: %s (NUMBA_CACHE_DIR names a "
        "directory that can be written)",
        why,
    )
