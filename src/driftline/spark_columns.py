"""Columns of PySpark as the SQL that they stand for.

A Column is a tree inside Spark's JVM; what it prints is no SQL (`>(a, 1)`), so the tree itself is
written out. Attributes, literals, functions, casts, CASE, aliases and orders have a text; functions
in Python, windows and the like have none, and are refused.

The tree and the classes of its nodes are private to Spark, which has no public way from a Column to
SQL: of a version of PySpark that is not among `KNOWN`, or where a tree is not as it is there, no
column is read, and expressions are written as SQL instead.
"""

from __future__ import annotations

import decimal
import logging
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from driftline.plan.depth import room
from driftline.plan.dialect import CALLS
from driftline.plan.errors import PlanError
from driftline.plan.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column

    Text: TypeAlias = str | Column
    """An expression: SQL, or a column of PySpark."""
else:
    Text = Any

KNOWN = frozenset(["4.3"])
"""The versions of PySpark whose columns are read."""

INFIX = frozenset(
    ["+", "-", "*", "/", "%", "=", "==", "<=>", "<", ">", "<=", ">=", "and", "or", "&", "|", "^"]
    + ["like", "ilike", "rlike"]
)
POSTFIX = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
PREFIX = {"!": "NOT", "not": "NOT", "negative": "-", "~": "~"}
ARGUMENTS = {"like": 2, "ilike": 2}
"""With more arguments than these it is a function: the third is the escape character."""


def is_column(given: object) -> bool:
    """Whether something is a column of PySpark."""
    return type(given).__module__.startswith("pyspark.") and type(given).__name__ == "Column"


def sql_text(given: Any) -> str:
    """An expression as SQL; what is neither a text nor a column is returned as it is."""
    if not is_column(given):
        return cast(str, given)
    if not hasattr(given, "_jc"):
        raise PlanError(f"{given} is a column of Spark Connect: write it as SQL")
    from py4j.protocol import Py4JError
    from pyspark import __version__ as version

    if ".".join(version.split(".")[:2]) not in KNOWN:
        raise _not_read(given, version)
    try:
        node = given._jc.node()
        if node.getClass().getSimpleName() == "SqlExpression":  # which may give its name
            return str(node.expression())
        with room(CALLS):
            return _written(node, str(given))
    except (Py4JError, AttributeError, TypeError) as error:
        raise _not_read(given, version) from error


def _written(node: Any, whole: str) -> str:
    def sql(part: Any) -> str:
        return _written(part, whole)

    kind = node.getClass().getSimpleName()
    match kind:
        case "UnresolvedAttribute":
            return ".".join(quoted(part) for part in _items(node.nameParts()))
        case "UnresolvedStar":
            return "*"
        case "SqlExpression":
            return f"({node.expression()})"
        case "Literal":
            return _literal(node.value(), whole)
        case "Alias":
            return f"{sql(node.child())} AS {quoted('.'.join(_items(node.name())))}"
        case "Cast":
            name = "TRY_CAST" if _mode(node) == "TRY" else "CAST"
            return f"{name}({sql(node.child())} AS {node.dataType().sql()})"
        case "UnresolvedExtractValue":
            return f"{sql(node.child())}[{sql(node.extraction())}]"
        case "CaseWhenOtherwise":
            cases = [
                f"WHEN {sql(each._1())} THEN {sql(each._2())}" for each in _items(node.branches())
            ]
            last = node.otherwise()
            cases += [f"ELSE {sql(last.get())}"] if last.isDefined() else []
            return f"CASE {' '.join(cases)} END"
        case "SortOrder":
            return f"{sql(node.child())} {node.sortDirection().sql()} {node.nullOrdering().sql()}"
        case "UnresolvedFunction":
            given = [sql(each) for each in _items(node.arguments())]
            return _call(str(node.functionName()), given, distinct=bool(node.isDistinct()))
    raise _no_sql(whole)


def _call(name: str, given: list[str], *, distinct: bool) -> str:
    low = name.lower()
    if low in INFIX and len(given) <= ARGUMENTS.get(low, len(given)):
        return f"({f' {low.upper()} '.join(given)})"
    if low in POSTFIX:
        return f"({given[0]} {POSTFIX[low]})"
    if low in PREFIX:
        return f"({PREFIX[low]} {given[0]})"
    if low == "in":
        return f"({given[0]} IN ({', '.join(given[1:])}))"
    return f"{name}({'DISTINCT ' if distinct else ''}{', '.join(given)})"


def _literal(value: Any, whole: str) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return f"{value!r}D"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case decimal.Decimal():
            return f"{value}BD"
        case str():
            escaped = value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
    kind = value.getClass().getName() if hasattr(value, "getClass") else ""
    match kind:
        case "java.sql.Timestamp":
            return f"TIMESTAMP '{value.toInstant().toString()}'"
        case "java.time.Instant":
            return f"TIMESTAMP '{value.toString()}'"
        case "java.sql.Date" | "java.time.LocalDate":
            return f"DATE '{value.toString()}'"
        case "java.math.BigDecimal":
            return f"{value.toPlainString()}BD"
    raise _no_sql(whole)


def _mode(node: Any) -> str:
    mode = node.evalMode()
    return str(mode.get().toString()).upper() if mode.isDefined() else ""


def _items(sequence: Any) -> Iterator[Any]:
    for place in range(sequence.size()):
        yield sequence.apply(place)


def _not_read(column: object, version: str) -> PlanError:
    """The error for a column whose tree is not known."""
    _warn(version)
    return PlanError(
        f"{_short(str(column))} is a column of PySpark {version}, which Driftline cannot read: "
        "write it as SQL text, such as 'qty > 4'"
    )


@cache
def _warn(version: str) -> None:
    logging.getLogger("driftline").warning(
        "driftline: columns of PySpark %s cannot be read, only those of %s as they are known: "
        "write expressions as SQL",
        version,
        " and ".join(sorted(KNOWN)),
    )


def _no_sql(whole: str) -> PlanError:
    if found := _OF_PYTHON.search(whole):
        return PlanError(
            f"{found[1]} is a Python function (udf), which Driftline does not run: apply it to the "
            "DataFrame before, df.withColumn(…), or write it in SQL"
        )
    return PlanError(f"{_short(whole)} cannot be written as SQL: write what it means as text")


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


_OF_PYTHON = re.compile(r"([^\s(']+)\(columnnodeexpression\(")
_MOST_SHOWN = 200
