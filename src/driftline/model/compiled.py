"""Numba's `njit`, with a cache on disk that several processes can fill at the same time.

Numba picks the name of a new file in its cache by what the index holds. Two processes that compile
different forms of one function at the same moment pick the same name, and the index of the one can
come to point to the code of the other. So the step from reading the index to writing it is done
under a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import IndexDataCacheFile

try:
    import fcntl
except ImportError:  # not on this system: processes have to take turns by themselves
    fcntl = None  # type: ignore[assignment]

__all__ = ["in_place", "njit"]

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

_cache: Any = IndexDataCacheFile
_save: Any = _cache.save


def _save_in_turn(self: Any, key: Any, data: Any) -> None:
    if fcntl is None:
        _save(self, key, data)
        return
    with Path(self._index_path + ".lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        _save(self, key, data)


if _save.__name__ != _save_in_turn.__name__:
    _cache.save = _save_in_turn


def in_place(function: _Kernel) -> _Kernel:
    """`njit` for a kernel that makes no arrays, but works on those it is given. It does not count
    references to them, which can cost a short kernel more than its work."""
    options: Any = {"cache": True, "nogil": True, "_nrt": False}
    compiled: _Kernel = njit(**options)(function)
    return compiled
