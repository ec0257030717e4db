"""Every experiment is in the catalogue, and its folder says what it is."""

from __future__ import annotations

from pathlib import Path

import experiments
import workloads
from experiments.catalogue import EXPERIMENTS

SHARED = {"experiment", "catalogue", "drawing", "page", "__init__", "__main__"}


def test_the_folders_name_their_modules() -> None:
    for package in (experiments, workloads):
        folder, text = Path(str(package.__file__)).parent, str(package.__doc__)
        for path in folder.glob("[!_]*.py"):
            assert f"    {path.stem} " in text, path


def test_the_catalogue_has_every_module() -> None:
    names = {each.name.replace("-", "_") for each in EXPERIMENTS}
    folder = Path(str(experiments.__file__)).parent
    assert {path.stem for path in folder.glob("*.py")} - SHARED == names
