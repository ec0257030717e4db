"""A command loads what it needs, and no more."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path

import pytest

from driftline.cli.start import methods_on_demand

LOG = '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"k":1}}\n'
LOADED = """
import sys
from driftline.cli.main import main
sys.argv = ["driftline", *sys.argv[1:]]
try:
    main()
finally:
    unwanted = ("pandas", "coverage", "matplotlib", "pydantic", "pyspark", "yaml")
    unwanted += ("driftline.spark",)
    unwanted += ("numba.np.linalg", "numba.np.arrayobj", "numba.cpython.unicode")
    print([name for name in unwanted if name in sys.modules])
"""


def test_a_run_in_this_process_loads_neither_pandas_nor_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(LOG)
    (tmp_path / "q.sql").write_text("CREATE STREAM s (k INT);\nSELECT k FROM s WHERE k > 0;")
    command = ["run", "q.sql", "--runner", "local", "--input", "log.jsonl", "--table"]

    def run() -> list[str]:
        started = [sys.executable, "-c", LOADED, *command]
        return subprocess.run(
            started, cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    run()  # after which every kernel is in the cache
    assert run() == ['{"vs":1,"ve":null,"row":{"k":1}}', "[]"]


def test_methods_of_dataclasses_are_the_same_when_they_are_made_on_demand() -> None:
    with methods_on_demand():

        @dataclass(frozen=True, order=True)
        class Pair:
            one: int
            two: str = "b"

    @dataclass(frozen=True, order=True)
    class Other:
        one: int
        two: str = "b"

    pair = Pair(1)
    other: object = Other(1)
    assert (pair == Pair(1, "b"), pair == Pair(2), pair == other) == (True, False, False)
    assert hash(pair) == hash(Pair(1)) == hash(Other(1))
    assert repr(pair) == repr(Other(1)).replace("Other", "Pair")
    assert Pair(1) < Pair(2)
    with pytest.raises(FrozenInstanceError):
        setattr(pair, "one", 2)  # noqa: B010
    with pytest.raises(FrozenInstanceError):
        delattr(pair, "two")
