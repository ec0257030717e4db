"""A quick start of a command that runs in this process alone.

Arrow imports pandas at the first Python list it is given, to see whether it is a Series; Numba
imports coverage, if it is installed, to see whether it measures, and YAML for a file of settings. A
command that is not given pandas objects spends a quarter of its time on that, for nothing. Another
tenth goes into methods of dataclasses, each of which Python compiles from a text of its own (up to
3.12), and of which a command calls few.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

NUMBA_SETTINGS = ".numba_config.yaml"
_MADE_AT_ONCE = "__init__"


class _Hiding(MetaPathFinder):
    """Says of some modules that they are not installed."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name in self.names:
            raise ModuleNotFoundError(f"{name} is not wanted here", name=name)


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    hiding = _Hiding(names)
    sys.meta_path.insert(0, hiding)
    try:
        yield
    finally:
        sys.meta_path.remove(hiding)


@contextmanager
def methods_on_demand() -> Iterator[None]:
    """While the methods of new dataclasses, apart from `__init__`, are made when they are first
    called."""
    made_from_text: Any = getattr(dataclasses, "_create_fn", None)
    if made_from_text is None:
        yield
        return

    def on_demand(name: str, *args: Any, **options: Any) -> Any:
        if name == _MADE_AT_ONCE:
            return made_from_text(name, *args, **options)
        made: list[Any] = []

        def method(*values: Any) -> Any:
            if not made:
                made.append(made_from_text(name, *args, **options))
            return made[0](*values)

        method.__name__ = name
        return method

    of_dataclasses: Any = dataclasses
    of_dataclasses._create_fn = on_demand
    try:
        yield
    finally:
        of_dataclasses._create_fn = made_from_text


def load_engine() -> None:
    """Load Arrow and Numba so that they do without pandas and coverage in this process, unless
    these are loaded already; what is compiled for the first time is announced."""
    settings = () if Path(NUMBA_SETTINGS).exists() else ("yaml",)
    with _hidden("pandas", "coverage", *settings):
        import numba  # noqa: F401
        import pyarrow as pa

        if "pandas" not in sys.modules:
            pa.array([0])  # Arrow looks for pandas once
    from driftline.model.compiled import announce_compilation

    announce_compilation(sys.__stderr__ or sys.stderr)
