"""Plans: what a query computes, described apart from how it is run."""

from driftline.plan.errors import ExpressionError
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.types import Field, Schema

__all__ = ["ExpressionError", "Field", "Schema", "parse_expression", "resolve"]
