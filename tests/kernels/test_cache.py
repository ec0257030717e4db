"""What is kept of kernels is never stale and never wrong, and can be left out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftline.engine.core.batch import latest_start
from driftline.kernels import in_place
from driftline.kernels.stamps import stamp

CALLER = """
import sys
import numpy as np
import callee
from callee import STEP, Step, added
from driftline.kernels import compiled
from driftline.model.arrays import Int64s

@compiled
def inner(value: int) -> int:
    return added(value) * STEP

@compiled
def called(values: Int64s, step: Step) -> int:
    return inner(values[0]) + callee.more(step.size)

print(int(called(np.array([2]), Step(3))), called.compiled().stats.cache_misses.total())
"""
CALLEE = """
from typing import NamedTuple
from driftline.kernels import compiled

STEP = 10
FAR = (1, 2)

class Step(NamedTuple):
    size: int

@compiled
def added(value: int) -> int:
    return value + 1

@compiled
def more(value: int) -> int:
    return value + FAR[1]
"""


def ran(folder: Path, script: str = "caller.py", **more: str) -> str:
    """What a script prints in a process of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), **more}
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "callee.py").write_text(CALLEE)
    return tmp_path


def test_what_is_called_in_another_file_may_change(folder: Path) -> None:
    assert [ran(folder) for _ in range(2)] == ["35 1", "35 0"]
    changes = {
        "value + 1": ("value + 2", "45"),
        "STEP = 10": ("STEP = 20", "85"),
        "FAR = (1, 2)": ("FAR = (1, 3)", "86"),
        "value + FAR[1]": ("value - FAR[1]", "80"),
    }
    text = CALLEE
    for before, (after, answer) in changes.items():
        text = text.replace(before, after)
        (folder / "callee.py").write_text(text)
        assert [ran(folder) for _ in range(2)] == [f"{answer} 1", f"{answer} 0"]
    # Nothing is compiled anew for what is no part of the code.
    (folder / "callee.py").write_text("# a comment\n\n" + text + "\nOTHER = 5\n")
    assert ran(folder) == "80 0"


def test_old_files_go(folder: Path) -> None:
    ran(folder)
    count = len([*(folder / "cache").rglob("*.nb?")])
    for number in range(3):
        (folder / "callee.py").write_text(CALLEE.replace("value + 1", f"value + {number + 5}"))
        ran(folder)
    assert len([*(folder / "cache").rglob("*.nb?")]) == count


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_files_are_none(folder: Path, suffix: str) -> None:
    ran(folder)
    for path in (folder / "cache").rglob(f"*.{suffix}"):
        whole = path.read_bytes()
        for damaged in (b"", whole[: len(whole) // 2], b"garbage", whole[:-9] + b"x" + whole[-8:]):
            path.write_bytes(damaged)
            assert ran(folder).split()[0] == "35"
            path.write_bytes(whole)


def test_without_a_place_kernels_are_compiled_in_memory(folder: Path) -> None:
    (folder / "file").touch()
    nowhere = str(folder / "file" / "cache")
    found = ran(folder, NUMBA_CACHE_DIR=nowhere, HOME=nowhere, XDG_CACHE_HOME=nowhere)
    assert found.startswith("35")
    if os.geteuid():  # nothing is closed to root: the directory beside the script is taken
        assert "kernels are compiled in memory" in found


def test_a_full_disk_is_no_error(folder: Path) -> None:
    text = CALLER.replace(
        "import sys",
        "import errno, os, sys, driftline.kernels.cache as kept\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "kept._Files._save_data = full",
    )
    (folder / "caller.py").write_text(text)
    found = ran(folder)
    assert found.startswith("35 1")
    assert found.count("kernels are compiled in memory, each time anew: ") == 1


def test_what_is_not_known_is_an_error() -> None:
    unknown = object()

    @in_place
    def kernel() -> object:
        return unknown

    with pytest.raises(TypeError, match="a kernel refers to <object object"):
        stamp(kernel)


def test_a_stamp_is_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "print.py").write_text(
        "from driftline.engine.core.batch import latest_start\n"
        "from driftline.kernels.stamps import stamp\n"
        "print(stamp(latest_start))\n"
    )
    for seed in ("1", "2"):
        assert ran(tmp_path, "print.py", PYTHONHASHSEED=seed) == stamp(latest_start)
