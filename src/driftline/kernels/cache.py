"""Where the machine code of kernels is kept that Numba compiles, from one process to the next.

    DIR/module.kernel.py311.nbi       of each kernel: which file has the code
    DIR/module.kernel.py311.1.nbc     machine code, after a checksum

DIR is `__pycache__` beside the kernel, or else a directory of the user (or NUMBA_CACHE_DIR). If
there is none, kernels are compiled in memory, which a line says.

**Never stale.** What is kept is valid for one stamp (`stamps`) and the versions of Numba, llvmlite
and NumPy. For others there is nothing; the files of the old one go when the new one is saved.

**Never wrong.** A file that is cut off, damaged or of another stamp is none: the kernel is compiled
anew. Processes that save a kernel at the same time take turns, as Numba picks the name of a file by
what the index has.

Numba's classes are extended for our own kernels, and no part of it is replaced.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from glob import escape
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from driftline.kernels.stamps import SIZE, digest, stamp

# Their types are not stated.
_UntypedFiles: Any = IndexDataCacheFile
_UntypedCache: Any = FunctionCache

try:
    import fcntl
except ImportError:  # not on this system: processes have to take turns by themselves
    fcntl = None  # type: ignore[assignment]

VERSIONS = f"{numba.__version__} {llvmlite.__version__} {np.__version__}"


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
        path = Path(self._data_path(name))
        return pickle.loads(_unsealed(path.read_bytes(), self._source_stamp))

    def _save_data(self, name: str, data: Any) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_sealed(self._dump(data), self._source_stamp))


def _sealed(data: bytes, stamp: str) -> bytes:
    return digest(stamp.encode() + data) + data


def _unsealed(data: bytes, stamp: str) -> bytes:
    """What `_sealed` has made; an OSError, if it was not made of this."""
    if data[:SIZE] != digest(stamp.encode() + data[SIZE:]):
        raise OSError("damaged")
    return data[SIZE:]


class _Code(CompileResultCacheImpl):
    """A compiled kernel as it is kept: under its name alone, wherever it is in its file."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        version = f"{sys.version_info[0]}{sys.version_info[1]}{abiflags}"
        return f"{fullname.replace('<', '').replace('>', '')}.py{version}"


class KernelCache(_UntypedCache):  # type: ignore[misc]
    """The cache of a kernel. `missed` is called when the kernel is not in it."""

    _impl_class = _Code

    def __init__(self, kernel: Any, missed: Callable[[], None]) -> None:
        self._missed = missed
        self._is_there = False
        try:
            super().__init__(kernel.py_func)
        except (RuntimeError, OSError) as error:
            _say_nowhere(str(error))
            return
        self._is_there = True
        stamped = f"{stamp(kernel)} {VERSIONS}"
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamped)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context) if self._is_there else None
        if found is None:
            self._missed()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        if self._is_there:
            try:
                super().save_overload(sig, data)
            except OSError as error:  # the disk is full, or the directory gone
                _say_nowhere(str(error))


@cache
def _say_nowhere(why: str) -> None:
    logging.getLogger("driftline").warning(
        "driftline: kernels are compiled in memory, each time anew: %s (NUMBA_CACHE_DIR names a "
        "directory that can be written)",
        why,
    )
