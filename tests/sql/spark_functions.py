"""Every function of Spark SQL, with the examples of its own documentation and Spark's answers.

`tests/data/spark_functions.jsonl` has, for each name of SHOW FUNCTIONS, the class that Spark puts
it in and its examples: the query, the types of the answer, and its rows. `python -m
tests.sql.spark_functions` asks Spark again (some minutes) and writes it anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from driftline.plan.types import canonical, type_name

DATA = Path(__file__).parents[1] / "data" / "spark_functions.jsonl"
OF_OUR_OWN: dict[str, list[str]] = {
    "!=": ["SELECT 1 != 2, 1 != NULL"],
    "<>": ["SELECT 1 <> 2, 1 <> NULL"],
    "||": ["SELECT 'Spark' || 'SQL', 'a' || NULL"],
    "case": ["SELECT CASE 1 WHEN 1 THEN 'a' ELSE 'b' END, CASE WHEN 1 > 2 THEN 1 END"],
    "bigint": ["SELECT bigint('12'), bigint(1.9D)"],
    "binary": ["SELECT binary('a')"],
    "boolean": ["SELECT boolean('yes'), boolean(0)"],
    "date": ["SELECT date('2024-02-29')"],
    "decimal": ["SELECT decimal('12.5'), decimal(3)"],
    "double": ["SELECT double('1e3')"],
    "float": ["SELECT float('0.1')"],
    "int": ["SELECT int('12'), int(1.9D)"],
    "smallint": ["SELECT smallint('12')"],
    "string": ["SELECT string(1.0D), string(true)"],
    "time": ["SELECT time('12:30'), time(TIMESTAMP '2024-02-29 01:02:03.5')"],
    "timestamp": ["SELECT timestamp('2024-02-29 01:02:03')"],
    "tinyint": ["SELECT tinyint('12')"],
    "raise_error": ["SELECT if(1 > 2, raise_error('no'), 'well')"],
    "collate": ["SELECT upper('Spark' COLLATE UTF8_BINARY)"],
    "make_ym_interval": [
        "SELECT string(make_ym_interval(1, 2)), string(make_ym_interval(-1, 1)), "
        "string(make_ym_interval(3)), string(make_ym_interval())"
    ],
    "make_interval": [
        "SELECT string(make_interval(100, 11, 1, 1, 12, 30, 01.001001)), "
        "make_interval(NULL) IS NULL",
        "SELECT TIMESTAMP '2024-01-31 10:00:00' + make_interval(0, 1, 0, 1, 1)",
    ],
    "try_make_interval": [
        "SELECT string(try_make_interval(100, 11, 1, 1, 12, 30, 01.001001)), "
        "string(try_make_interval(2147483647))"
    ],
    "abs": ["SELECT string(abs(INTERVAL -'1-1' YEAR TO MONTH)), abs(INTERVAL '-3' DAY)"],
    "first": ["SELECT first(col) FROM VALUES (7), (7) AS tab(col)"],
}
"""Examples of functions whose documentation has none that can be asked."""


@dataclass(frozen=True)
class Example:
    """A query and Spark's answer to it: the types of its columns, and its rows as text."""

    query: str
    types: list[str]
    rows: list[str]


@dataclass(frozen=True)
class SparkFunction:
    """A function of Spark SQL, as Spark describes it."""

    name: str
    group: str
    examples: tuple[Example, ...]


def functions() -> Iterator[SparkFunction]:
    """Every function that SHOW FUNCTIONS of Spark names."""
    for line in DATA.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        examples = tuple(Example(*each) for each in entry["examples"])
        yield SparkFunction(entry["name"], entry["class"], examples)


def answer(query: str, table: pa.Table) -> Example:
    """What a table answers to a query; floats to 12 digits, rows in the order of their texts."""
    types = [type_name(canonical(kind)) for kind in table.schema.types]
    columns = [column.to_pylist() for column in table.columns]
    rows = [_text(list(row)) for row in zip(*columns, strict=True)]
    return Example(query, types, sorted(rows))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_text(item)}" for name, item in value.items()) + "}"
    return repr(value)


def _queries(text: str) -> Iterator[str]:
    for line in text.splitlines():
        found = re.match(r"\s*> ?(select .*?);?\s*$", line, re.IGNORECASE)
        if found:
            yield found[1]


def _ask() -> None:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.timeType.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    java: Any = session._jvm
    catalog = session._jsparkSession.sessionState().catalog()
    identifier = java.org.apache.spark.sql.catalyst.FunctionIdentifier
    lines = []
    for (name,) in session.sql("SHOW FUNCTIONS").collect():
        examples, group = [], ""
        try:
            info = catalog.lookupFunctionInfo(identifier(name))
            group, texts = info.getGroup(), list(_queries(info.getExamples()))
        except Exception:  # operators that are words of the grammar alone
            texts = []
        for query in texts + OF_OUR_OWN.get(name, []):
            try:
                found = answer(query, session.sql(query).toArrow())
            except Exception:  # an example that needs more than a session, or fails on purpose
                continue
            examples.append([found.query, found.types, found.rows])
        entry = {"name": name, "class": group or "operators", "examples": examples}
        lines.append(json.dumps(entry, ensure_ascii=False))
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _ask()
