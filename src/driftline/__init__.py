"""Driftline: continuous queries over streams that arrive late, out of order, and are corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline.api import Grouped, Query, UserDefined, stream
    from driftline.model.event import Cti, ExternalCti, Insert, Retract
    from driftline.model.row import Row
    from driftline.model.time import INFINITY
    from driftline.results import Result, Said
    from driftline.spark.on_spark import on_spark
    from driftline.sql import sql

__version__ = "0.1.0"
__all__ = [
    "INFINITY",
    "Cti",
    "ExternalCti",
    "Grouped",
    "Insert",
    "Query",
    "Result",
    "Retract",
    "Row",
    "Said",
    "UserDefined",
    "__version__",
    "on_spark",
    "sql",
    "stream",
]

_HOMES = {
    **dict.fromkeys(("Grouped", "Query", "UserDefined", "stream"), "api"),
    **dict.fromkeys(("Result", "Said"), "results"),
    **dict.fromkeys(("Cti", "ExternalCti", "Insert", "Retract"), "model.event"),
    "Row": "model.row",
    "INFINITY": "model.time",
    "on_spark": "spark.on_spark",
    "sql": "sql",
}


def __getattr__(name: str) -> Any:
    """Names are loaded when they are asked for: `import driftline` is quick."""
    if name not in _HOMES:
        raise AttributeError(f"driftline has no {name}")
    from importlib import import_module

    return getattr(import_module(f"driftline.{_HOMES[name]}"), name)
