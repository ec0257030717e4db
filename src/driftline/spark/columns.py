"""The columns of a DataFrame with the types of a stream.

same type   the column as it is
structs     field by field, by their names, whatever their case and order; what is not there is
            null
else        Spark's cast. A value that does not fit ends the query with a sentence about it,
            whether the session is in ANSI mode or not; and a fraction is no integer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.plan.coercion import can_cast
from driftline.plan.errors import PlanError
from driftline.plan.types import canonical, type_name

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructField, StructType


def typed(column: Column, have: DataType, kind: pa.DataType, name: str, stream: str) -> Column:
    """A column that has some type with the type that a stream gives it. `name`, `stream`: what it
    is called."""
    from pyspark.sql.pandas.types import from_arrow_type

    want = from_arrow_type(kind)
    if not _fits(have, want):
        raise PlanError(
            f"the column {name} of {stream} is a {have.simpleString().upper()}, which cannot be a "
            f"{type_name(kind)}: declare another type"
        )
    return _Typing(name, stream).of(column, have, want)


def _fits(have: DataType, want: DataType) -> bool:
    """Can values of one type be those of the other?"""
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


@dataclass(frozen=True)
class _Typing:
    name: str
    stream: str

    def of(self, value: Column, have: DataType, want: DataType) -> Column:
        from pyspark.sql import functions as f
        from pyspark.sql.types import ArrayType, MapType, StructType

        if have.simpleString() == want.simpleString():
            return value
        if isinstance(have, ArrayType) and isinstance(want, ArrayType):
            items = have.elementType, want.elementType
            return f.transform(value, lambda item: self.of(item, *items))
        if isinstance(have, MapType) and isinstance(want, MapType):
            keys, values = (have.keyType, want.keyType), (have.valueType, want.valueType)
            return f.map_from_arrays(
                f.transform(f.map_keys(value), lambda key: self.of(key, *keys)),
                f.transform(f.map_values(value), lambda item: self.of(item, *values)),
            )
        if isinstance(have, StructType) and isinstance(want, StructType):
            fields = [
                (
                    f.lit(None).cast(each.dataType)
                    if place is None
                    else self.of(
                        value.getField(have[place].name), have[place].dataType, each.dataType
                    )
                ).alias(each.name)
                for each, place in _places(have, want)
            ]
            return f.when(value.isNotNull(), f.struct(*fields))
        return self._cast(value, have, want)

    def _cast(self, value: Column, have: DataType, want: DataType) -> Column:
        from pyspark.sql import functions as f
        from pyspark.sql.types import FractionalType, IntegralType, StringType

        if isinstance(want, StringType):
            return value.cast(want)
        cast = value.try_cast(want)
        misfits = value.isNotNull() & cast.isNull()
        if isinstance(have, FractionalType) and isinstance(want, IntegralType):
            misfits |= cast.cast(have) != value
        shown = value.cast("string")
        if isinstance(have, StringType):
            shown = f.concat(f.lit("'"), shown, f.lit("'"))
        said = (
            f" in the column {self.name} of {self.stream} is no {want.simpleString().upper()}: "
            "declare another type, or STRING and use try_cast"
        )
        complaint = f.raise_error(f.concat(shown, f.lit(said)))
        return f.when(misfits, complaint.cast(want)).otherwise(cast)
