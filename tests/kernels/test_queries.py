"""The queries that try the kernels run, and call every kernel that a query can need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from driftline.kernels import shipped
from driftline.kernels.part import kernels
from tests.cli.run import driftline as run
from tests.kernels.queries import IN_PYTHON, in_python, written

LEFT_OUT = {
    # A mean that the digits at hand do not decide, which is rare.
    "driftline.engine.by_rows.change_kernels.members_of",
}
NOT_OF_QUERIES = "driftline.time."  # bounds of any shape


def calls() -> dict[str, int]:
    """How often each kernel of the library was called from Python."""
    caller: Any = sys.modules["driftline.kernels.caller"]
    modules = [module for name, module in sys.modules.items() if name.startswith("driftline.")]
    return {
        each.name: each.calls
        for module in modules
        for each in vars(module).values()
        if isinstance(each, caller.Kernel)
    }


def called_by(kernel: Any) -> Iterator[str]:
    """The kernels that a kernel calls."""
    function = kernel.py_func
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        parts = [vars(value).get(name) for name in names] if isinstance(value, ModuleType) else []
        for part in [value, *parts]:
            if hasattr(part, "py_func"):
                yield from called_by(part) if part.is_inlined else [part.name]


@pytest.mark.slow
def test_every_query_runs_and_every_kernel_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shipped.is_there(), "driftline prepare compiles the kernels"
    known, before = kernels(), calls()
    monkeypatch.chdir(tmp_path)
    for command in written(tmp_path):
        if command == IN_PYTHON:
            in_python()
            continue
        ran = run(*command)
        assert ran.code == 0, (command, ran.err)
    reached = {name for name, count in calls().items() if count > before.get(name, 0)}
    waiting = list(reached)
    while waiting:
        new = set(called_by(known[waiting.pop()])) - reached
        reached |= new
        waiting += new
    missing = {name for name in set(known) - reached if not name.startswith(NOT_OF_QUERIES)}
    assert missing == LEFT_OUT
