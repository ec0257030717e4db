"""SQL types and schemas.

An SQL type is written as the Arrow type that carries its values; nothing else describes it.

| SQL | Arrow | | SQL | Arrow |
|---|---|---|---|---|
| BOOLEAN | bool | | STRING | string |
| TINYINT, SMALLINT, INT, BIGINT | int8, int16, int32, int64 | | BINARY | binary |
| FLOAT, DOUBLE | float, double | | DATE | date32 |
| DECIMAL(p, s) | decimal128(p, s) | | TIMESTAMP | timestamp[us, UTC] |
| INTERVAL (day to second) | duration[us] | | TIMESTAMP_NTZ | timestamp[us] |
| INTERVAL YEAR TO MONTH | month_day_nano_interval | | VOID, the type of NULL | null |
| ARRAY, STRUCT, MAP | list, struct, map | | TIME | time64[us] |
| VARIANT | struct of two binaries, value and metadata | | INTERVAL | struct of three parts |

`canonical` turns other Arrow types with the same meaning (large strings, dictionaries, other
time units) into these. The rules that find common types are in `driftline.plan.coercion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from sqlglot import exp

from driftline.plan.dialect import parse_data_type
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.used import uses, uses_all

DataType = Any
"""A pyarrow.DataType."""

BOOLEAN = pa.bool_()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
STRING, BINARY = pa.string(), pa.binary()
DATE = pa.date32()
TIMESTAMP, TIMESTAMP_NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")
TIME = pa.time64("us")
INTERVAL = pa.duration("us")
INTERVAL_MONTHS = pa.month_day_nano_interval()
VOID = pa.null()
VARIANT = pa.struct([("value", BINARY), ("metadata", BINARY)])
CALENDAR = pa.struct([("$months", INT), ("$days", INT), ("$time", INTERVAL)])
"""Months, days and less, each for itself: the INTERVAL of make_interval."""

MAX_PRECISION = 38
DEFAULT_DECIMAL = (10, 0)

_NAMES: dict[DataType, str] = {
    BOOLEAN: "BOOLEAN",
    TINYINT: "TINYINT",
    SMALLINT: "SMALLINT",
    INT: "INT",
    BIGINT: "BIGINT",
    FLOAT: "FLOAT",
    DOUBLE: "DOUBLE",
    STRING: "STRING",
    BINARY: "BINARY",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
    TIME: "TIME(6)",
    INTERVAL: "INTERVAL DAY TO SECOND",
    INTERVAL_MONTHS: "INTERVAL YEAR TO MONTH",
    VOID: "VOID",
}
_INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
_INTERVAL_UNITS_OF_MONTHS = ("YEAR", "MONTH")

_FROM_SQLGLOT: dict[exp.DType, DataType] = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.CHAR: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.BINARY: BINARY,
    exp.DType.VARBINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIME: TIME,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.NULL: VOID,
    exp.DType.VARIANT: VARIANT,
}


_JSON = (exp.DType.JSON, exp.DType.JSONB)


def decimal(precision: int, scale: int) -> DataType:
    """DECIMAL(precision, scale)."""
    return pa.decimal128(precision, scale)


def is_integer(kind: DataType) -> bool:
    """Is it TINYINT, SMALLINT, INT or BIGINT?"""
    return kind in _INTEGERS


def is_float(kind: DataType) -> bool:
    """Is it FLOAT or DOUBLE?"""
    return kind in (FLOAT, DOUBLE)


def is_decimal(kind: DataType) -> bool:
    """Is it a DECIMAL of any precision?"""
    return bool(pa.types.is_decimal128(kind))


def is_numeric(kind: DataType) -> bool:
    """Can one do arithmetic with it?"""
    return is_integer(kind) or is_float(kind) or is_decimal(kind)


def is_timestamp(kind: DataType) -> bool:
    """Is it TIMESTAMP or TIMESTAMP_NTZ?"""
    return kind in (TIMESTAMP, TIMESTAMP_NTZ)


def is_datetime(kind: DataType) -> bool:
    """Is it DATE, TIMESTAMP or TIMESTAMP_NTZ?"""
    return kind == DATE or is_timestamp(kind)


def is_array(kind: DataType) -> bool:
    """Is it an ARRAY?"""
    return bool(pa.types.is_list(kind))


def is_struct(kind: DataType) -> bool:
    """Is it a STRUCT?"""
    return bool(pa.types.is_struct(kind))


def is_map(kind: DataType) -> bool:
    """Is it a MAP?"""
    return bool(pa.types.is_map(kind))


def is_nested(kind: DataType) -> bool:
    """Is it an ARRAY, a STRUCT or a MAP?"""
    return is_array(kind) or is_struct(kind) or is_map(kind)


def is_atomic(kind: DataType) -> bool:
    """Is it neither nested nor VOID?"""
    return (kind in _NAMES and kind != VOID) or is_decimal(kind)


def is_orderable(kind: DataType) -> bool:
    """Can two of its values be compared? Maps, VARIANTs and INTERVALs of make_interval, and what
    holds them, cannot."""
    if is_map(kind) or kind in (VARIANT, CALENDAR):
        return False
    return all(is_orderable(kind.field(i).type) for i in range(kind.num_fields))


def refuse_variant(kind: DataType, what: str) -> None:
    """An error for what would have to tell whether two VARIANTs are equal."""
    if kind == VARIANT:
        raise PlanError(f"one cannot {what} by a VARIANT: cast it to STRING or another type")
    for place in range(kind.num_fields):
        refuse_variant(kind.field(place).type, what)


def canonical(kind: DataType) -> DataType:
    """The Arrow type by which Driftline carries such values.

    >>> canonical(pa.large_string()), canonical(pa.timestamp("ms", "Europe/Berlin"))
    (DataType(string), TimestampType(timestamp[us, tz=UTC]))
    """
    if not isinstance(kind, pa.DataType):
        raise ExpressionError(
            f"{kind!r} is not a type: give the SQL name of one, such as 'DOUBLE', or one of Arrow"
        )
    types = pa.types
    if types.is_dictionary(kind):
        return canonical(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return STRING
    if (
        types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    ):
        return BINARY
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz else TIMESTAMP_NTZ
    if types.is_duration(kind):
        return INTERVAL
    if types.is_time(kind):
        return TIME
    if types.is_date(kind):
        return DATE
    if types.is_decimal(kind) and kind.precision <= MAX_PRECISION:
        return decimal(kind.precision, kind.scale)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(canonical(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([(field.name, canonical(field.type)) for field in kind])
    if types.is_map(kind):
        return pa.map_(canonical(kind.key_type), canonical(kind.item_type))
    unsigned = {pa.uint8(): SMALLINT, pa.uint16(): INT, pa.uint32(): BIGINT}
    kind = unsigned.get(kind, kind)
    if kind not in _NAMES:
        raise ExpressionError(f"the Arrow type {kind} has no SQL type")
    return kind


def a_type(kind: DataType) -> str:
    """The name of a type with its article.

    >>> a_type(INT), a_type(DOUBLE)
    ('an INT', 'a DOUBLE')
    """
    name = type_name(kind)
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def type_name(kind: DataType) -> str:
    """The SQL name of a type.

    >>> type_name(pa.list_(decimal(10, 2))), type_name(pa.struct([("a", INT)]))
    ('ARRAY<DECIMAL(10,2)>', 'STRUCT<a: INT>')
    """
    if is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if is_array(kind):
        return f"ARRAY<{type_name(kind.value_type)}>"
    if kind == VARIANT:
        return "VARIANT"
    if kind == CALENDAR:
        return "INTERVAL"
    if is_struct(kind):
        fields = (f"{quoted(field.name)}: {type_name(field.type)}" for field in kind)
        return f"STRUCT<{', '.join(fields)}>"
    if is_map(kind):
        return f"MAP<{type_name(kind.key_type)}, {type_name(kind.item_type)}>"
    return _NAMES[kind]


def parse_type(text: str) -> DataType:
    """The type that an SQL type name means.

    >>> parse_type("DECIMAL(10,2)"), parse_type("array<int>")
    (Decimal128Type(decimal128(10, 2)), ListType(list<item: int32>))
    """
    return VOID if text.strip().upper() == "VOID" else type_of(parse_data_type(text))


def type_of(node: exp.Expr) -> DataType:
    """The type that a parsed type name means."""
    if isinstance(node, exp.Interval) or isinstance(node.this, exp.Interval):
        return _interval_type(node)
    kind = node.this
    if kind in _FROM_SQLGLOT:
        sizes = [each.sql() for each in node.expressions]
        of_micros = sizes == ["6"] and _FROM_SQLGLOT[kind] in (TIME, TIMESTAMP, TIMESTAMP_NTZ)
        if sizes and _FROM_SQLGLOT[kind] != STRING and not of_micros:
            plain = type_name(_FROM_SQLGLOT[kind])
            raise ExpressionError(f"{plain} takes no size: leave out ({node.expressions[0].sql()})")
        uses(node, "this", "nested", *(("expressions",) if sizes else ()))
        for length in node.expressions:
            uses_all(length)  # a cast to VARCHAR(5) is one to STRING, as in Spark
        return _FROM_SQLGLOT[kind]
    uses(node, "this", "expressions", "nested")
    if kind == exp.DType.DECIMAL:
        for size in node.expressions:
            uses(size, "this")
            uses(size.this, "this", "is_string")
        sizes = [int(size.this.name) for size in node.expressions] or list(DEFAULT_DECIMAL)
        return _checked_decimal(sizes[0], sizes[1] if len(sizes) > 1 else 0)
    if kind in (exp.DType.ARRAY, exp.DType.LIST) and len(node.expressions) == 1:
        return pa.list_(type_of(node.expressions[0]))
    if kind == exp.DType.MAP and len(node.expressions) == 2:  # noqa: PLR2004 - key and value
        return pa.map_(*(type_of(part) for part in node.expressions))
    if kind == exp.DType.STRUCT and node.expressions:
        for part in node.expressions:
            if part.args.get("constraints"):
                raise ExpressionError(
                    f"a field has a name and a type: leave out {part.args['constraints'][0].sql()}"
                )
            uses(part, "this", "kind")
        return pa.struct([(part.name, type_of(part.args["kind"])) for part in node.expressions])
    if kind == exp.DType.INTERVAL:
        return INTERVAL
    hint = ": a STRING holds JSON, and text ->> 'a' is a part of it" if kind in _JSON else ""
    raise ExpressionError(f"the type {node.sql('spark')} is not supported{hint}")


def _interval_type(node: exp.Expr) -> DataType:
    inner = node if isinstance(node, exp.Interval) else node.this
    uses(node, *(("this",) if inner is not node else ()), "unit")
    uses(inner, "unit")
    unit = inner.args.get("unit")
    for part in unit.walk() if unit is not None else ():
        uses(part, "this", "expression")
    name = unit.name if unit is not None else "DAY"
    return INTERVAL_MONTHS if name.upper() in _INTERVAL_UNITS_OF_MONTHS else INTERVAL


def _checked_decimal(precision: int, scale: int) -> DataType:
    if not 1 <= precision <= MAX_PRECISION:
        raise ExpressionError(f"DECIMAL({precision}, {scale}): the precision must be 1 to 38")
    if not 0 <= scale <= precision:
        raise ExpressionError(f"DECIMAL({precision}, {scale}): the scale must be 0 to {precision}")
    return decimal(precision, scale)


def quoted(name: str) -> str:
    """A name as SQL text, with backquotes where it needs them.

    >>> quoted("price"), quoted("unit price")
    ('price', '`unit price`')
    """
    plain = name.isascii() and name.isidentifier()
    return name if plain else "`" + name.replace("`", "``") + "`"


MANY_PARTS = 8
"""A schema of so many parts has an index of its own."""


@dataclass(frozen=True)
class Field:
    """A column of a schema; the qualifier is the name or alias of the relation it comes from."""

    name: str
    type: DataType
    qualifier: str | None = None

    def __str__(self) -> str:
        name = quoted(self.name)
        return f"{quoted(self.qualifier)}.{name}" if self.qualifier else name


@dataclass(frozen=True)
class Schema:
    """Ordered columns. Names are found as Spark finds them: upper and lower case are the same.

    >>> trades = Schema.of({"symbol": "STRING", "price": "DOUBLE"}).qualified("t")
    >>> [str(field) for field in trades.find("PRICE")]
    ['t.price']
    >>> both = trades + trades.qualified("u")
    >>> [str(field) for field in both.find("price")], both.names
    (['t.price', 'u.price'], ('t.symbol', 't.price', 'u.symbol', 'u.price'))
    """

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, columns: Mapping[str, DataType | str], qualifier: str | None = None) -> Schema:
        """A schema of names and types; a type is an Arrow type or the name of an SQL type."""
        return cls(
            tuple(
                Field(
                    name, parse_type(kind) if isinstance(kind, str) else canonical(kind), qualifier
                )
                for name, kind in columns.items()
            )
        )

    @classmethod
    def from_arrow(cls, schema: Any, qualifier: str | None = None) -> Schema:
        """The schema of Arrow data."""
        return cls(tuple(Field(field.name, canonical(field.type), qualifier) for field in schema))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __add__(self, other: Schema) -> Schema:
        if not self.fields or not other.fields:
            return self if self.fields else other
        made = Schema(self.fields + other.fields)
        parts = (*self._parts, *other._parts)
        if len(parts) <= MANY_PARTS:
            made.__dict__["_parts"] = parts  # whose names are known already
        return made

    @cached_property
    def _parts(self) -> tuple[Schema, ...]:
        """The schemas that this one was put together from."""
        return (self,)

    def qualified(self, qualifier: str | None) -> Schema:
        """The same columns under another relation name."""
        return Schema(tuple(Field(each.name, each.type, qualifier) for each in self.fields))

    @cached_property
    def _by_name(self) -> dict[str, tuple[Field, ...]]:
        """The columns by their names in lower case."""
        found: dict[str, list[Field]] = {}
        for field in self.fields:
            found.setdefault(field.name.lower(), []).append(field)
        return {name: tuple(fields) for name, fields in found.items()}

    def find(self, name: str, qualifier: str | None = None) -> tuple[Field, ...]:
        """The columns that a name can mean: one, or none, or several, which is ambiguous."""
        if len(self._parts) > 1:
            return tuple(each for part in self._parts for each in part.find(name, qualifier))
        found = self._by_name.get(name.lower(), ())
        if qualifier is None:
            return found
        return tuple(
            field for field in found if (field.qualifier or "").lower() == qualifier.lower()
        )

    def key(self, field: Field) -> str:
        """The name of the Arrow column that holds a field: plain where that is unique."""
        return field.name if len(self.find(field.name)) == 1 else str(field)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the Arrow columns."""
        return tuple(self.key(field) for field in self.fields)

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the Arrow columns are, by name; of equal names the first."""
        return {name: place for place, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def arrow(self) -> Any:
        """The pyarrow.Schema of the columns."""
        return pa.schema(
            [(name, field.type) for name, field in zip(self.names, self.fields, strict=True)]
        )

    def __getstate__(self) -> dict[str, object]:
        return {"fields": self.fields}  # the rest is found again
