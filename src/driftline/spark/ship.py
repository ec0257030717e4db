"""How the package reaches the workers of a cluster.

The package goes along as an archive, with the kernels that this machine has compiled: a worker of
the same kind does not compile them again. Its dependencies (PySpark, Arrow, Numba, …) have to be
in the workers' Python already.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

from driftline.spark.places import folder_for_now

NAME = "driftline_package"
_LEFT_OUT = (".pyc", ".half", ".lock")


def shipped() -> dict[str, str]:
    """The settings of a session whose workers get the package."""
    import driftline

    package = Path(driftline.__file__).parent
    path = Path(folder_for_now()) / f"{NAME}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for file in sorted(package.rglob("*")):
            if file.is_file() and file.suffix not in _LEFT_OUT:
                archive.add(file, f"driftline/{file.relative_to(package)}")
    return {"spark.archives": f"{path}#{NAME}", "spark.executorEnv.PYTHONPATH": NAME}
