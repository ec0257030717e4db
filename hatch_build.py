"""Takes the library of kernels into a wheel, if it was built (`make wheel`)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src", "driftline", "kernels")
LIBRARY = ("machine_code.*", "caller.*.so")


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = Path(self.root, KERNELS)
        if version == "editable" or not all(any(folder.glob(each)) for each in LIBRARY):
            return  # it is where it is; or it is not, and kernels are compiled when they are used
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["artifacts"] += [f"/{KERNELS / each}" for each in LIBRARY]
