"""Expressions evaluated over Arrow columns, with Spark SQL's meaning.

One module for each family of functions; importing this package makes all of them known.
"""

from driftline.engine.expressions import (
    arithmetic,
    collections,
    comparison,
    conditionals,
    datetime_fields,
    datetime_patterns,
    datetimes,
    mathematics,
    patterns,
    strings,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.evaluator import evaluate, evaluate_predicate

__all__ = [
    "EvaluationError",
    "arithmetic",
    "collections",
    "comparison",
    "conditionals",
    "datetime_fields",
    "datetime_patterns",
    "datetimes",
    "evaluate",
    "evaluate_predicate",
    "mathematics",
    "patterns",
    "strings",
]
