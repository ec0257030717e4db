r"""Expressions evaluated over Arrow columns, with Spark SQL's meaning.

One module for each family of functions; importing this package makes all of them known.

Spark's meaning is that of Spark 4.3 in ANSI mode with the time zone UTC, evaluated as written:
Spark's optimiser may leave out a part that would fail, or (for the first argument of nullif)
evaluate one that is not needed; this does neither. Known differences:
- transcendental functions (exp, ln, sin, power, …) may differ in the last digit;
- a few DOUBLEs become texts with more digits in Java before 19 than are needed to name them;
- a time without a date, `now`, `today` and the like are malformed, because they depend on when
  they are read, and so are zones by their old three-letter names (PST);
- an INTERVAL does not remember its fields: all are DAY TO SECOND, and they have no text;
- intervals of months are constants that can be added to dates and times, and nothing else;
- regular expressions are RE2's or Python's: `&&` and classes inside classes are refused, and so
  are named classes other than \p{Alpha} and its like and the categories of Unicode (\p{L}, \pN);
- min and max give 0.0 for -0.0, which are equal: Spark gives the one that it has met first.
"""

from driftline.engine.expressions import (
    arithmetic,
    collections,
    comparison,
    conditionals,
    datetime_fields,
    datetime_patterns,
    datetimes,
    json_texts,
    mathematics,
    patterns,
    sequences,
    strings,
    timezones,
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
    "json_texts",
    "mathematics",
    "patterns",
    "sequences",
    "strings",
    "timezones",
]
