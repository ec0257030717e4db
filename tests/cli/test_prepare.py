"""The queries that prepare the kernels run, and call every kernel that a query can need."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import driftline
from driftline.cli.prepare import IN_PYTHON, _written, in_python
from driftline.model.compiled import _Deferred
from tests.cli.run import driftline as run

LEFT_OUT = {
    # A mean that the digits at hand do not decide, which is rare.
    "driftline.engine.by_rows.change_kernels.members_of",
}


NOT_OF_QUERIES = (
    "driftline.time.",  # bounds of any shape
    "driftline.cli",
    "driftline.spark",
)


def kernels() -> Iterator[Any]:
    """Every kernel that has a cache, and that a query may need."""
    for found in pkgutil.walk_packages(driftline.__path__, "driftline."):
        if found.name.startswith(NOT_OF_QUERIES):
            continue
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, _Deferred) and value.is_kept:
                yield value


def compiled_with(kernel: Any) -> Iterator[Any]:
    """The kernels that a kernel calls."""
    function = kernel.__wrapped__
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        names = function.__code__.co_names
        parts = [vars(value).get(name) for name in names] if isinstance(value, ModuleType) else []
        yield from (part for part in [value, *parts] if isinstance(part, _Deferred))


@pytest.mark.slow
def test_every_query_runs_and_every_kernel_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[int, Any] = {}
    usual = _Deferred.__call__

    def noted(self: Any, *args: Any) -> Any:
        called[id(self)] = self
        return usual(self, *args)

    monkeypatch.setattr(_Deferred, "__call__", noted)
    monkeypatch.chdir(tmp_path)
    for command in _written(tmp_path):
        if command == IN_PYTHON:
            in_python()
            continue
        ran = run(*command)
        assert ran.code == 0, (command, ran.err)
    waiting = list(called.values())
    while waiting:
        for part in compiled_with(waiting.pop()):
            if id(part) not in called:
                called[id(part)] = part
                waiting.append(part)
    missing = {f"{k.__module__}.{k.__name__}" for k in kernels() if id(k) not in called}
    assert sorted(missing) == sorted(LEFT_OUT)
