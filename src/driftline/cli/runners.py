"""The runners of `driftline run`, by their names.

A runner takes queries with their settings and the inputs, and yields after every step what each
query emits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

from driftline.running.local import run_locally
from driftline.running.options import NamedQuery, RunOptions
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.step_outputs import Outputs

SPARK = "driftline.spark.runner"
"""The module whose function `run_queries` is the Spark runner."""


class Runner(Protocol):
    """A way to run queries over inputs by the names of their streams. What cannot be run is refused
    when it is called, and not when the first step is asked for."""

    def __call__(
        self, queries: list[NamedQuery], inputs: Mapping[str, Any], options: RunOptions
    ) -> Generator[Outputs]: ...


def runner(name: str) -> Runner:
    """The runner of a name."""
    if name == "local":
        return run_locally
    if find_spec("driftline.spark") is None or find_spec(SPARK) is None:
        raise Problem("--runner spark is not there yet: use --runner local")
    return cast("Runner", import_module(SPARK).run_queries)
