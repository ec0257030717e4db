"""Driftline: continuous queries over streams that arrive late, out of order, and are corrected.

api            the Python interface (arguments: checks what it is given; results: what it gives;
               drawings: these in notebooks; automata: queries for their runs;
               spark_columns: columns of PySpark as SQL)
sql            from SQL text to plans
plan           logical plans, schemas, expressions
kernels        functions over arrays that run as machine code
model          events, lifetimes, canonical history, the reference operators
event_log      the event log
time           heartbeats
engine         batches, physical operators, the local runner
running        what both runners and the command line know of a run
spark          plans as Structured Streaming queries
cli            the `driftline` command
testing        Hypothesis strategies for random valid streams
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline.api import (
        Grouped,
        Query,
        UserDefined,
        recursive,
        recursive_together,
        stream,
    )
    from driftline.model.automaton import Automaton, Transition
    from driftline.model.event import Cti, ExternalCti, Insert, Retract
    from driftline.model.row import Row
    from driftline.model.time import INFINITY
    from driftline.results import Now, NowRow, Result, Update
    from driftline.spark.frames import FrameQuery
    from driftline.spark.on_spark import on_spark
    from driftline.sql import sql

__version__ = "0.1.0"
__all__ = [
    "INFINITY",
    "Automaton",
    "Cti",
    "ExternalCti",
    "FrameQuery",
    "Grouped",
    "Insert",
    "Now",
    "NowRow",
    "Query",
    "Result",
    "Retract",
    "Row",
    "Transition",
    "Update",
    "UserDefined",
    "__version__",
    "on_spark",
    "recursive",
    "recursive_together",
    "sql",
    "stream",
]

_HOMES = {
    **dict.fromkeys(("Grouped", "Query", "UserDefined"), "api"),
    **dict.fromkeys(("recursive", "recursive_together", "stream"), "api"),
    **dict.fromkeys(("Now", "NowRow", "Result", "Update"), "results"),
    **dict.fromkeys(("Cti", "ExternalCti", "Insert", "Retract"), "model.event"),
    **dict.fromkeys(("Automaton", "Transition"), "model.automaton"),
    "Row": "model.row",
    "INFINITY": "model.time",
    "FrameQuery": "spark.frames",
    "on_spark": "spark.on_spark",
    "sql": "sql",
}
_RENAMED = {"Said": "Update"}


def __getattr__(name: str) -> Any:
    """Names are loaded when they are asked for: `import driftline` is quick."""
    if name in _RENAMED:
        from driftline.model.old_names import renamed

        renamed(f"driftline.{name}", f"driftline.{_RENAMED[name]}")
        name = _RENAMED[name]
    if name not in _HOMES:
        raise AttributeError(f"driftline has no {name}")
    from importlib import import_module

    return getattr(import_module(f"driftline.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names alone, for completion."""
    return sorted(__all__)
