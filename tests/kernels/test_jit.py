"""Processes that compile at the same time do not mix up each other's code."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from driftline.engine.core.batch import latest_start
from driftline.kernels import in_place

KERNEL = """
import sys
import numpy as np
from driftline.kernels import compiled
from driftline.model.arrays import Int64s

@compiled
def double(values: Int64s) -> Int64s:
    return values + values

print(double(np.array([1, 2])).tolist(), double.compiled().stats.cache_misses.total())
"""


@pytest.mark.slow
def test_the_cache_is_filled_in_turn(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(KERNEL)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(at_once: int) -> list[str]:
        running = [
            subprocess.Popen(
                [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
            )
            for _ in range(at_once)
        ]
        return [process.communicate()[0].strip() for process in running]

    assert {found.removesuffix(" 0").removesuffix(" 1") for found in run(3)} == {"[2, 4]"}
    assert run(1) == ["[2, 4] 0"]


RAISING = """
import numpy as np
from driftline.kernels import compiled
from driftline.model.arrays import Int64s

@compiled
def checked(values: Int64s) -> Int64s:
    found = np.sort(values)
    if found[0] < 0:
        raise ValueError("below zero", 7)
    return found

@compiled
def unused(values: Int64s) -> Int64s:
    return values

print(checked(np.array([2, 1])).tolist(), unused._made)
try:
    checked(np.array([-1, 1]))
except ValueError as error:
    print(error.args, checked.compiled().stats.cache_misses.total())
"""


def test_a_kernel_from_the_cache_raises_and_one_that_is_not_called_has_none(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(RAISING)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for misses in (1, 0):
        command = [sys.executable, str(script)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert ran.stdout == f"[1, 2] None\n('below zero', 7) {misses}\n", ran.stderr


CALLED = """
import sys
import numpy as np
from driftline.kernels import announce_compilation, compiled
from driftline.model.arrays import Int64s

announce_compilation(sys.stdout)

@compiled
def double(values: Int64s) -> Int64s:
    return values + values

@compiled
def quadruple(values: Int64s) -> Int64s:
    return double(double(values))

if "inner" in sys.argv:
    print(double(np.array([1, 2])).tolist())
if "outer" in sys.argv:
    print(quadruple(np.array([1, 2])).tolist())
"""
ANNOUNCED = "driftline: compiling what is used for the first time, which may take a minute …"


def test_what_is_compiled_is_announced_and_what_is_kept_is_not(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(CALLED)

    def run(*arguments: str) -> list[str]:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, str(script), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        ).stdout.splitlines()

    assert run("inner") == [ANNOUNCED, "[2, 4]"]
    assert run("inner") == ["[2, 4]"]
    assert run("inner", "outer") == ["[2, 4]", ANNOUNCED, "[4, 8]"]
    assert run("inner", "outer") == ["[2, 4]", "[4, 8]"]


def test_what_works_in_place_makes_no_arrays() -> None:
    @in_place
    def first(numbers: NDArray[np.int64]) -> None:
        numbers[0] += 1

    @in_place
    def copied(numbers: NDArray[np.int64]) -> None:
        numbers[0] += numbers.copy()[0]

    numbers = np.zeros(2, np.int64)
    first(numbers)
    assert numbers.tolist() == [1, 0]
    with pytest.raises((NumbaError, RuntimeError)):
        copied(numbers)


def test_a_cache_of_an_earlier_version_is_no_error(tmp_path: Path) -> None:
    """Its index names a class that the module of the kernel no longer has."""
    script = tmp_path / "kernel.py"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("Before", "After"):
        (tmp_path / "pairs.py").write_text(
            "from typing import NamedTuple\n"
            f"class {name}(NamedTuple):\n    one: int\n    two: int\n"
        )
        script.write_text(
            f"from pairs import {name}\nfrom driftline.kernels import compiled\n"
            f"@compiled\ndef add(pair: {name}) -> int:\n    return pair.one + pair.two\n"
            f"print(add({name}(1, 2)))\n"
        )
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.stdout == "3\n", done.stderr


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(latest_start)) is latest_start
