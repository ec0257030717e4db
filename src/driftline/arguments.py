"""Checks of the arguments of the Python interface: columns, expressions, conditions, durations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from driftline.plan.choices import need_choice
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.expressions import Cast, Column, Expression
from driftline.plan.naming import check_names, parse_aliased
from driftline.plan.resolver import parse_expression, resolve
from driftline.plan.sizes import size_of, steps_of
from driftline.plan.types import BIGINT, BOOLEAN, VOID, Schema, is_integer, parse_type
from driftline.spark_columns import Text, is_column, sql_text

if TYPE_CHECKING:
    from driftline.engine.options import Options
    from driftline.plan.choices import Heartbeat

LIFETIME = Schema.of({"vs": BIGINT, "ve": BIGINT})
"""What the expressions of window(start=…, duration=…) are about."""


def declared(name: object, columns: Any) -> Schema:
    """The columns of a stream: names with their types, a text as CREATE TABLE has it, or a schema
    of Spark or Arrow."""
    if not isinstance(name, str) or not name:
        raise PlanError(f"a stream needs a name, not {name!r}")
    columns = _by_name(name, columns)
    if not hasattr(columns, "items"):
        raise PlanError(f"{name}: give the columns with their types, {{'price': 'DOUBLE', …}}")
    seen: set[str] = set()
    for column, kind in columns.items():
        if not isinstance(column, str):
            raise PlanError(f"the name of a column of {name} is a text, not {column!r}")
        if column.lower() in seen:
            raise PlanError(f"{name} has two columns {column}: upper and lower case are the same")
        seen.add(column.lower())
        if not isinstance(kind, (str, pa.DataType)):
            raise PlanError(
                f"the type of {column} is the name of an SQL type, such as 'DOUBLE', or an Arrow "
                f"type, not {kind!r}"
            )
    check_names(columns)
    return Schema.of(columns)


def _by_name(name: str, columns: Any) -> Any:
    """Columns and their types by their names, where that can be known."""
    if isinstance(columns, str):
        try:
            parts = parse_type(f"STRUCT<{columns}>")
        except ExpressionError as error:
            wrong = next((each for each in _parts(columns) if not _is_column(each)), None)
            why = str(error) if wrong is None else f"{wrong!r} is not a name and a type"
            raise PlanError(
                f"{name}: {columns!r} are no columns, as 'symbol STRING, price DOUBLE' are: {why}"
            ) from None
        columns = [parts.field(place) for place in range(parts.num_fields)]
    elif type(columns).__name__ == "StructType" and hasattr(columns, "fields"):
        columns = [_Field(each.name, each.dataType.simpleString()) for each in columns.fields]
    elif isinstance(columns, pa.Schema):
        columns = list(columns)
    elif isinstance(columns, pa.Table) or hasattr(columns, "dtypes"):  # pandas and Polars
        raise PlanError(
            f"{name}: give the columns with their types, 'symbol STRING, …', and the table as an "
            "input when the query runs"
        )
    else:
        return columns
    for place, each in enumerate(columns):
        if any(each.name.lower() == other.name.lower() for other in columns[:place]):
            raise PlanError(
                f"{name} has two columns {each.name}: upper and lower case are the same"
            )
    return {each.name: each.type for each in columns}


def _parts(columns: str) -> list[str]:
    """What stands between the commas that are in no brackets.

    >>> _parts("a INT, m MAP<STRING, INT>")
    ['a INT', 'm MAP<STRING, INT>']
    """
    found, depth = [""], 0
    for letter in columns:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def _is_column(text: str) -> bool:
    try:
        parse_type(f"STRUCT<{text}>")
    except ExpressionError as error:
        return "is not the name of a type" not in str(error)
    return True


class _Field(NamedTuple):
    name: str
    type: str


def several(texts: Text | Sequence[Text], what: str = "expressions") -> Sequence[str]:
    """One text, or some; columns of PySpark are written as SQL."""
    if isinstance(texts, str) or is_column(texts):
        return [sql_text(texts)]
    if isinstance(texts, (list, tuple)):
        texts = [sql_text(each) for each in texts]
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise PlanError(f"{what} are given as text, or as a list of strings, not {texts!r}")
    return texts


def text_of(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise PlanError(f"{what} is given as text, not {text!r}")
    return text


def flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise PlanError(f"{what} is True or False, not {value!r}")
    return value


def resolved(
    texts: Sequence[Text], named: Mapping[str, Text], schema: Schema
) -> Iterator[tuple[str, Expression, str]]:
    """Name, expression and text of each; a text may give its name with AS."""
    for text in map(sql_text, texts):
        _need_text(text)
        node, name = parse_aliased(text)
        value = resolve(node, schema)
        if name is None:
            name = value.name.split(".")[-1] if isinstance(value, Column) else text
        yield name, value, text
    for name, given in named.items():
        text = sql_text(given)
        _need_text(text)
        yield name, parse_expression(text, schema), text


def is_all(given: Text) -> bool:
    """Does it stand for all columns?"""
    return str(sql_text(given)).strip() == "*"


def row_value(value: Expression, text: str) -> Expression:
    """A value that one row has for itself."""
    if value.aggregates():
        raise PlanError(f"{text}: an aggregate belongs into group_by(…).agg(…)")
    return value


def condition_of(given: Text, schema: Schema) -> Expression:
    text = sql_text(given)
    _need_text(text)
    value = row_value(parse_expression(text, schema), text)
    if value.type not in (BOOLEAN, VOID):
        raise PlanError(f"{text} is not a condition")
    return value if value.type == BOOLEAN else Cast(value, BOOLEAN)


def time_of(text: str | int) -> Expression:
    """A time, or a number of ticks, of a lifetime."""
    value = parse_expression(str(text), LIFETIME)
    if not is_integer(value.type):
        raise PlanError(f"{text}: a time or a duration is a whole number of ticks")
    return value


def lasting(duration: Duration, stamps: bool) -> Expression:
    """A duration, or an expression for one."""
    if isinstance(duration, str):
        try:
            return time_of(duration)
        except ExpressionError:
            pass  # it is no expression, but perhaps 5 minutes
    return time_of(duration if isinstance(duration, int) else ticks(duration, stamps))


def _need_text(text: object) -> None:
    if not isinstance(text, str):
        raise PlanError(f"an expression is written as text, 'price * qty AS value', not {text!r}")


def is_mapping(given: object) -> bool:
    return isinstance(given, Mapping)


def is_whole(number: object) -> bool:
    return isinstance(number, int)


def options_of(
    *,
    timestamps: bool,
    emit: str,
    block: Duration,
    remember: Duration,
    heartbeat: Heartbeat,
    heartbeats: Sequence[str],
    max_expansion: int | str,
    max_steps: int | str,
    **more: Any,
) -> Options:
    """The engine's options of a query, on either runner. `heartbeats`: those that the runner can
    do; `more`: what only one of the runners takes."""
    from driftline.engine.limits import Limits
    from driftline.engine.options import Options
    from driftline.model.level import Level

    need_choice("emit", emit)
    need_choice("heartbeat", heartbeat, heartbeats)
    return Options(
        Level(emit),
        ticks(block, timestamps),
        ticks(remember, timestamps),
        heartbeat=heartbeat,
        limits=Limits(size_of(max_expansion), steps_of(max_steps)),
        **more,
    )
