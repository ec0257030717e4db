"""The columns of a DataFrame with the types of a stream, and rows of a stream as Spark takes them.

same type   the column as it is
structs     field by field, by their names, whatever their case and order; what is not there is
            null
numbers     as times: what they count since 1970, seconds by default
else        Spark's cast, whether the session is in ANSI mode or not. A value that does not fit is
            null, and so is one of which something would be cut off: 1.5 is no integer, and 1.255
            no DECIMAL(10,2)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.engine.readers.epochs import LONG_NUMBER, NUMBER, OF_RECORDS
from driftline.event_log.text import FIRST_ISO, LAST_ISO
from driftline.plan.coercion import can_cast
from driftline.plan.errors import PlanError
from driftline.plan.timing import MICROSECONDS, TimeUnit
from driftline.plan.types import TIME, canonical, type_name

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructField, StructType


def for_spark(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as Spark takes them from Python: of a TIME it wants nanoseconds."""
    for batch in batches:
        schema = pa.schema([each.with_type(_sparks(each.type)) for each in batch.schema])
        yield batch if schema == batch.schema else batch.cast(schema)


def _sparks(kind: pa.DataType) -> pa.DataType:
    if kind == TIME:
        return pa.time64("ns")
    if pa.types.is_list(kind):
        return pa.list_(_sparks(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_sparks(kind.key_type), _sparks(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_sparks(each.type)) for each in kind])
    return kind


def typed(
    column: Column,
    have: DataType,
    kind: pa.DataType,
    name: str,
    stream: str,
    unit: TimeUnit | None = None,
) -> tuple[Column, Column | None]:
    """A column cast to the type that a stream gives it, and where its values do not fit (None: all
    do). `name`, `stream`: what it is called; `unit`: what numbers count that are
    to be times."""
    from pyspark.sql.pandas.types import from_arrow_type

    want = from_arrow_type(kind)
    if not _fits(have, want):
        raise PlanError(
            f"the column {name} of {stream} is a {have.simpleString().upper()}, which cannot be a "
            f"{type_name(kind)}: declare another type"
        )
    return _of(column, have, want, unit), _misfits(column, have, want, unit)


def _fits(have: DataType, want: DataType) -> bool:
    """Whether values of one type can become values of the other."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        return _fits(have.elementType, want.elementType)
    if isinstance(have, MapType) and isinstance(want, MapType):
        keys = _fits(have.keyType, want.keyType)
        return keys and _fits(have.valueType, want.valueType)
    if isinstance(have, StructType) and isinstance(want, StructType):
        return all(
            _fits(have[place].dataType, each.dataType)
            for each, place in _places(have, want)
            if place is not None
        )
    if have.simpleString() == want.simpleString():
        return True
    try:
        one, other = (canonical(to_arrow_type(each, timezone="UTC")) for each in (have, want))
    except PySparkTypeError:
        return False
    return can_cast(one, other)


def _places(have: StructType, want: StructType) -> list[tuple[StructField, int | None]]:
    """Where the fields of one struct are in another."""
    there = {each.name.lower(): place for place, each in enumerate(have)}
    return [(each, there.get(each.name.lower())) for each in want]


def _of(value: Column, have: DataType, want: DataType, unit: TimeUnit | None) -> Column:
    """A value with another type; null where it has none."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StructType

    if have.simpleString() == want.simpleString():
        return value
    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        items = have.elementType, want.elementType
        return f.transform(value, lambda item: _of(item, *items, unit))
    if isinstance(have, MapType) and isinstance(want, MapType):
        keys, values = (have.keyType, want.keyType), (have.valueType, want.valueType)
        made = f.map_from_arrays(
            f.transform(f.map_keys(value), lambda key: _of(key, *keys, unit)),
            f.transform(f.map_values(value), lambda item: _of(item, *values, unit)),
        )
        misfits = _misfits(value, have, want, unit)  # a key cannot be null
        return made if misfits is None else f.when(~f.coalesce(misfits, f.lit(False)), made)
    if isinstance(have, StructType) and isinstance(want, StructType):
        fields = [
            (
                f.lit(None).cast(each.dataType)
                if place is None
                else _of(
                    value.getField(have[place].name), have[place].dataType, each.dataType, unit
                )
            ).alias(each.name)
            for each, place in _places(have, want)
        ]
        return f.when(value.isNotNull(), f.struct(*fields))
    return _cast(value, have, want, unit)


def _misfits(value: Column, have: DataType, want: DataType, unit: TimeUnit | None) -> Column | None:
    """Where a value, or a part of it, has no counterpart in another type; None: nowhere."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, MapType, StringType, StructType

    if have.simpleString() == want.simpleString() or isinstance(want, StringType):
        return None
    if isinstance(have, ArrayType) and isinstance(want, ArrayType):
        return _any(value, have.elementType, want.elementType, unit)
    if isinstance(have, MapType) and isinstance(want, MapType):
        return _either(
            _any(f.map_keys(value), have.keyType, want.keyType, unit),
            _any(f.map_values(value), have.valueType, want.valueType, unit),
        )
    if isinstance(have, StructType) and isinstance(want, StructType):
        fields = [
            _misfits(value.getField(have[place].name), have[place].dataType, each.dataType, unit)
            for each, place in _places(have, want)
            if place is not None
        ]
        return _either(*fields)
    cast = _cast(value, have, want, unit)
    cut = _cut_off(value, cast, have, want)
    lost = value.isNotNull() & cast.isNull()
    return lost if cut is None else lost | cut


def _cast(value: Column, have: DataType, want: DataType, unit: TimeUnit | None) -> Column:
    """Spark's cast, but for numbers that are to be times: see `engine.readers.epochs`."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import DoubleType, FloatType, NumericType, StringType, TimestampType

    if not isinstance(want, TimestampType) or not isinstance(have, (NumericType, StringType)):
        return value.try_cast(want)
    size = MICROSECONDS[unit or OF_RECORDS]
    is_float = isinstance(have, (FloatType, DoubleType))
    number = f.trim(value) if isinstance(have, StringType) else value
    micros = number.try_cast("double" if is_float else "decimal(38, 6)") * f.lit(size)
    inside = (micros >= f.lit(FIRST_ISO)) & (micros < f.lit(LAST_ISO))
    moment = f.when(inside, f.timestamp_micros(f.when(inside, micros).cast("bigint")))
    if not isinstance(have, StringType):
        return moment
    digits = f.trim(value).rlike(NUMBER if unit else LONG_NUMBER)
    return f.when(digits, moment).otherwise(value.try_cast(want))


def _cut_off(value: Column, cast: Column, have: DataType, want: DataType) -> Column | None:
    """Where a cast has cut off what the value had."""
    from pyspark.sql.types import DecimalType, FractionalType, IntegralType, StringType

    if isinstance(have, FractionalType) and isinstance(want, IntegralType):
        return cast.cast(have) != value
    if not isinstance(want, DecimalType):
        return None
    if isinstance(have, DecimalType):
        return value != cast
    if isinstance(have, FractionalType):
        return cast.cast(have) != value
    if not isinstance(have, StringType):
        return None
    with_power = value.rlike("[eE]")
    longer = value.rlike(rf"\.[0-9]{{{want.scale}}}[0-9]*[1-9]")
    return (~with_power & longer) | (with_power & (value.try_cast(_LONGEST) != cast))


_LONGEST = "DECIMAL(38, 19)"


def _any(items: Column, have: DataType, want: DataType, unit: TimeUnit | None) -> Column | None:
    from pyspark.sql import functions as f

    def misfits(item: Column) -> Column:
        found = _misfits(item, have, want, unit)
        return f.lit(False) if found is None else f.coalesce(found, f.lit(False))

    return None if _misfits(items, have, want, unit) is None else f.exists(items, misfits)


def _either(*conditions: Column | None) -> Column | None:
    from pyspark.sql import functions as f

    there = [f.coalesce(each, f.lit(False)) for each in conditions if each is not None]
    return reduce(lambda one, other: one | other, there) if there else None
