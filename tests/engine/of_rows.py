"""Values of expressions over a few rows, for tests that list examples."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from driftline.engine.expressions import evaluate
from driftline.plan import Schema, parse_expression
from driftline.plan.types import type_name


def value(text: str) -> Any:
    """The value of an expression without columns."""
    rows = pa.table({"one": [1]})
    return evaluate(parse_expression(text, Schema.from_arrow(rows.schema)), rows)[0].as_py()


def values(text: str, **columns: Any) -> list[Any]:
    """The values of an expression over columns."""
    rows = pa.table(columns)
    found = evaluate(parse_expression(text, Schema.from_arrow(rows.schema)), rows)
    return list(found.to_pylist())


def type_of(text: str) -> str:
    """The SQL type of an expression without columns."""
    return type_name(parse_expression(text, Schema(())).type)
