"""Compiles all kernels ahead of time, into a library that is called without Numba.

    python -m driftline.kernels.build [baseline …]      all for this machine, if none is named

Numba's front end types every kernel once; LLVM links all of a part of them into one module and
optimises that once for each baseline, instead of every kernel with all that it calls by itself. Two
processes take part after part (`part`). A C compiler links what comes out with `library.c`, and
compiles `caller.c`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from importlib.util import module_from_spec, spec_from_file_location
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from driftline.kernels.part import (
    HOMES,
    CannotBuild,
    LibraryEntry,
    compile_part,
    kernels,
    report_to,
)
from driftline.kernels.shipped import baselines, path, sealed

__all__ = ["CannotBuild", "build"]

HERE = Path(__file__).parent
MOST = 80
"""Kernels in one part."""
AT_ONCE = 2
FLAGS = ["-shared", "-fPIC", "-O2", f"-I{HERE}"]


def parts(names: Sequence[str]) -> list[list[str]]:
    """Kernels folder by folder, as they call each other most there; the greatest part first."""
    folders = defaultdict[str, list[str]](list)
    for name in sorted(names):
        folders[name.rsplit(".", 2)[0]].append(name)
    made: list[list[str]] = []
    for folder in sorted(folders.values(), key=len):
        if made and len(made[-1]) + len(folder) <= MOST:
            made[-1] += folder
        else:
            made.append(folder)
    return made[::-1]


def build(
    baselines: Sequence[str] = (),
    into: Path = HERE,
    report: Callable[[str, int], None] = lambda doing, steps: None,
    homes: Sequence[str] = HOMES,
) -> None:
    """Build the libraries for some processors, or else for this one, and what calls them. `report`
    is told what is done next, and how many steps there are in all; `homes`: the packages whose
    kernels these are."""
    compiler = _compiler()
    with TemporaryDirectory(prefix="driftline-") as folder:
        objects, made = Path(folder), dict[Path, Path]()
        headers = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
        caller = objects / f"caller{sysconfig.get_config_var('EXT_SUFFIX')}"
        _run(compiler, *FLAGS, *headers, HERE / "caller.c", "-o", caller)
        made[caller] = into / caller.name
        divided = parts(list(kernels(homes)))
        wanted = baselines or _best(caller)
        rows = _compiled(divided, wanted, objects, report, homes)
        (objects / "table.c").write_text(_table(rows))
        for baseline in wanted:
            sources = [objects / "table.c", HERE / "library.c"]
            machine_code = [objects / f"{each}-{baseline}.o" for each in range(len(divided))]
            library = objects / baseline
            hidden = ["-fvisibility=hidden", "-Wl,--no-undefined"]
            _run(compiler, *FLAGS, *hidden, *sources, *machine_code, "-lm", "-o", library)
            library.write_bytes(sealed(library.read_bytes()))
            made[library] = into / path(baseline).name
        for new, place in made.items():  # whole, as another process may have the old one open
            beside = place.with_name(f"{place.name}.new")
            shutil.copyfile(new, beside)
            beside.replace(place)


def _best(caller: Path) -> list[str]:
    """The best that this processor can run."""
    spec: Any = spec_from_file_location("driftline.kernels.caller", caller)
    found = [each for each in baselines() if module_from_spec(spec).supports(each)]
    if not found:
        raise CannotBuild("there is no library of kernels for this processor")
    return found[:1]


def _compiled(
    parts: list[list[str]],
    baselines: Sequence[str],
    into: Path,
    report: Callable[[str, int], None],
    homes: Sequence[str],
) -> list[LibraryEntry]:
    steps = sum(map(len, parts)) + len(parts) * len(baselines)
    context = get_context("spawn")
    with context.Manager() as manager:
        reports = manager.Queue()
        with ProcessPoolExecutor(AT_ONCE, context, report_to, (reports,)) as pool:
            running = [
                pool.submit(compile_part, number, names, baselines, into, homes)
                for number, names in enumerate(parts)
            ]
            while wait(running, 0.1).not_done:
                while not reports.empty():
                    report(reports.get(), steps)
                if any(each.done() and each.exception() for each in running):
                    pool.shutdown(cancel_futures=True)
            return sorted(row for each in running for row in each.result())


def _compiler() -> str:
    """A C compiler, with the headers of this Python."""
    named = os.environ.get("CC", "")
    compiler = shutil.which(named) if named else shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise CannotBuild("a C compiler is needed, for example gcc")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise CannotBuild("the headers of Python are needed, for example python3-dev")
    return compiler


def _table(rows: Sequence[LibraryEntry]) -> str:
    entries = "".join(f"int {row.symbol}(int64_t *, int64_t *);\n" for row in rows)
    lines = "".join(
        f'    {{"{row.name}", "{row.stamp}", "{row.arguments}", "{row.result}", {row.symbol}}},\n'
        for row in rows
    )
    return (
        f'#include "library.h"\n{entries}const Row driftline_rows[] = {{\n{lines}}};\n'
        f"const int driftline_count = {len(rows)};\n"
    )


def _run(*command: object) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"{command[0]} failed:\n{done.stderr.strip()}")


if __name__ == "__main__":
    build(sys.argv[1:] or baselines(), report=lambda doing, steps: print(doing, file=sys.stderr))
