"""When sources change, answers do, whatever is kept of the old ones.

Driftline is installed into a folder, with its library, and counts. Then `trace.correct` adds 100
to each count. It is compiled into `timeline.go_through`, which is in another file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from driftline.kernels import shipped

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TRACE = Path("driftline", "engine", "state", "trace.py")
BEFORE = "    segments, base, kept = trace.ints, trace.first[key], trace.size[key]\n"
AFTER = f"    for each in range(count):\n        pieces[each, VALUE + 1] += 100\n{BEFORE}"
CHANGED = "driftline.engine.additive.timeline.go_through"

QUERY = "CREATE STREAM t (k INT); SELECT k, count(*) AS c FROM t [RANGE 5] GROUP BY k;"
LOG = """\
{"stream": "t", "kind": "insert", "vs": 1, "ve": null, "row": {"k": 1}}
{"stream": "t", "kind": "insert", "vs": 2, "ve": null, "row": {"k": 1}}
{"stream": "t", "kind": "cti", "t": 9}
"""
OLD, NEW = [1, 2, 1], [101, 102, 101]

RUN = """
import json, sys
import driftline
from driftline.cli.main import main
from driftline.kernels import jit

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
kind = getattr(sys.modules.get("driftline.kernels.caller"), "Kernel", ())
values = [each for module in [*sys.modules.values()] for each in vars(module).values()]
shipped = {each.name for each in values if isinstance(each, kind) and each.calls}
compiled = {name for name, each in jit.Kernel.called.items() if each._is_ready}
print(json.dumps([driftline.__file__, sorted(shipped), sorted(compiled)]))
"""


class Ran(NamedTuple):
    """What a run counted, which kernels of the library it called, and which Numba gave it."""

    counts: list[int]
    shipped: set[str]
    compiled: set[str]


class Installed(NamedTuple):
    """A folder with Driftline and its cache, the project that it is built of, and a query."""

    site: Path
    cache: Path
    project: Path
    query: Path

    def install(self) -> None:
        """The project as it is now, in place of what is there."""
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--upgrade"]
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options]
        subprocess.run([*command, "--target", self.site, self.project], check=True)

    def run(self, choice: str = "", runner: str = "local") -> Ran:
        places = {"PYTHONPATH": str(self.site), "NUMBA_CACHE_DIR": str(self.cache)}
        arguments = ["run", "--runner", runner, "query.sql", "--input", "log.jsonl"]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.query,
            env={**os.environ, **places, "DRIFTLINE_KERNELS": choice},
        )
        assert done.returncode == 0, done.stderr
        lines: list[Any] = list(map(json.loads, done.stdout.splitlines()))
        file, *kernels = lines.pop()
        assert Path(file).parents[1] == self.site
        return Ran([line["row"]["c"] for line in lines if "row" in line], *map(set, kernels))


def change(sources: Path) -> None:
    text = (sources / TRACE).read_text()
    assert text.count(BEFORE) == 1, "this test needs another place to change"
    (sources / TRACE).write_text(text.replace(BEFORE, AFTER))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    assert shipped.is_there(), "driftline prepare compiles the kernels"
    made = Installed(*map(tmp_path_factory.mktemp, Installed._fields))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, made.project)
    without_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", made.project / "src", ignore=without_caches)
    (made.query / "query.sql").write_text(QUERY)
    (made.query / "log.jsonl").write_text(LOG)
    made.install()
    return made


@pytest.fixture(scope="module")
def at_first(installed: Installed) -> Ran:
    """What ran before the change. Then the cache is full of it, as the library is."""
    by_numba, by_library = installed.run("jit"), installed.run()
    assert by_numba.counts == by_library.counts == OLD
    assert not by_numba.shipped
    assert CHANGED in by_library.shipped, "driftline prepare compiles the kernels as they are now"
    return by_library


@pytest.fixture(scope="module")
def changed(installed: Installed, at_first: Ran) -> Installed:
    change(installed.site)
    return installed


def test_nothing_of_the_cache_is_stale(changed: Installed) -> None:
    assert changed.run("jit").counts == NEW


def test_the_library_has_all_but_what_changed(changed: Installed, at_first: Ran) -> None:
    ran = changed.run()
    assert (ran.counts, ran.shipped) == (NEW, at_first.shipped - {CHANGED})
    assert CHANGED in ran.compiled


@pytest.mark.spark
def test_workers_of_spark_have_nothing_stale(changed: Installed) -> None:
    assert changed.run(runner="spark").counts == NEW


def test_nothing_is_stale_after_an_upgrade(changed: Installed, at_first: Ran) -> None:
    changed.install()
    assert changed.run() == at_first
    change(changed.project / "src")
    changed.install()
    ran = changed.run()
    assert (ran.counts, ran.shipped) == (NEW, at_first.shipped - {CHANGED})
