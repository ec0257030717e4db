"""A command loads what it needs, and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOG = '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"k":1}}\n'
LOADED = """
import sys
from driftline.cli.main import main
sys.argv = ["driftline", *sys.argv[1:]]
try:
    main()
finally:
    unwanted = ("coverage", "matplotlib", "numba", "pydantic", "pyspark", "yaml")
    unwanted += ("driftline.spark", "driftline.kernels.build")
    print([name for name in unwanted if name in sys.modules])
"""


def test_a_run_in_this_process_loads_neither_spark_nor_a_compiler(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(LOG)
    (tmp_path / "q.sql").write_text("CREATE STREAM s (k INT);\nSELECT k FROM s WHERE k > 0;")
    command = ["run", "q.sql", "--runner", "local", "--input", "log.jsonl", "--table"]
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ['{"vs":1,"ve":null,"row":{"k":1}}', "[]"]
