"""The library of kernels that was compiled when Driftline was built, if it is there.

`DRIFTLINE_KERNELS` says otherwise: `jit` leaves it alone, and with `shipped` nothing is compiled:
a kernel that is not in the library is an error.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from driftline.kernels.stamps import SIZE, digest

__all__ = ["BASELINES", "CHOICE", "SHIPPED", "baselines", "is_there", "kernel", "path", "sealed"]

BASELINES = {"x86_64": ("x86-64-v3", "x86-64-v2"), "aarch64": ("generic",)}
"""By the machine the processors that libraries are built for, the best one first."""

CHOICE = os.environ.get("DRIFTLINE_KERNELS", "")
JIT, SHIPPED = "jit", "shipped"


class _InPython(Protocol):
    """A kernel in Python, which is asked whether the library is of its sources."""

    @property
    def name(self) -> str: ...


def kernel(by: _InPython) -> Any:
    """The same kernel in the library; None, if there is none."""
    caller, library, names = _opened()
    return caller.Kernel(library, by.name, by) if by.name in names else None


def is_there() -> bool:
    """Whether there is a library for this machine."""
    return bool(_opened()[2])


def baselines() -> tuple[str, ...]:
    """The processors that a library can be built for here."""
    return BASELINES.get(os.uname().machine, ()) if sys.platform == "linux" else ()


def path(baseline: str) -> Path:
    """The library for a processor. (As *.so, Python would take it for a module.)"""
    return Path(__file__).with_name(f"machine_code.{baseline}")


@cache
def _opened() -> tuple[Any, Any, frozenset[str]]:
    none = (None, None, frozenset[str]())
    if CHOICE == JIT:
        return none
    try:
        from driftline.kernels import caller  # type: ignore[attr-defined]
    except ImportError:  # nothing was built for this Python
        return none
    for baseline in baselines():
        library = path(baseline)
        if caller.supports(baseline) and library.exists():
            try:
                _check(library)
                return (caller, *caller.open(str(library)))
            except OSError as error:
                logging.getLogger("driftline").warning("driftline: %s", error)
    return none


def sealed(library: bytes) -> bytes:
    """A library with its digest behind it, where nothing looks for code."""
    return library + digest(library)


def _check(library: Path) -> None:
    """An OSError if this is not what was built: to open what was cut off could end the process."""
    data = library.read_bytes()
    if data[-SIZE:] != digest(data[:-SIZE]):
        raise OSError(f"{library} is damaged: driftline prepare builds it anew")
