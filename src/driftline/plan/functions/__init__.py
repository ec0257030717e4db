"""The functions of SQL: which there are, what they take, and the types they give."""

from driftline.plan.functions import (
    collections,
    conditionals,
    dates,
    mathematics,
    operators,
    strings,
)
from driftline.plan.functions.aggregates import AGGREGATES, aggregate
from driftline.plan.functions.base import FUNCTIONS
from driftline.plan.functions.rewritten import aggregate_value, ordered_aggregate

__all__ = [
    "AGGREGATES",
    "FUNCTIONS",
    "aggregate",
    "aggregate_value",
    "collections",
    "conditionals",
    "dates",
    "mathematics",
    "operators",
    "ordered_aggregate",
    "strings",
]
