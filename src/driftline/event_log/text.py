"""Arrow columns as JSON text, without Python per value.

Every type becomes text by joining the texts of its parts: a struct its fields, a list its items, a
map its entries. What JSON does not have is written as Spark writes it: NaN and the infinities as
strings, decimals as numbers with all their digits, bytes as base64, the keys of maps as strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.event_log.bad import Unsayable
from driftline.event_log.base64 import encoded
from driftline.event_log.fields import WORDS
from driftline.model.arrays import (
    Int64s,
    list_lengths,
    repeated,
    stored,
    text_scalar,
    to_arrow,
    to_numpy,
)
from driftline.model.time import INFINITY, TICKS_PER_SECOND, format_date, format_timestamp

TEXT = pa.large_string()

FIRST_ISO = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * TICKS_PER_SECOND
_DAY = 86_400 * TICKS_PER_SECOND
_MANY_DAYS = 10_000_000
"""More than 64 bits of microseconds would be too many."""
LAST_ISO = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp() + 1) * TICKS_PER_SECOND
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    **{chr(code): orjson.dumps(chr(code)).decode()[1:-1] for code in range(0x20)},
}
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_VISIBLE = {code: _ESCAPES.get(chr(code), f"\\u{code:04x}") for code in _CONTROLS}
_NEEDS_ESCAPE = '["\\\\\\x00-\\x1f]'


def quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def joined(parts: Sequence[str | pa.Array]) -> pa.Array:
    """The texts of all parts one after another, row by row."""
    texts = [text_scalar(part) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, text_scalar(""), null_handling="skip")


def times_text(times: Int64s, timestamps: bool) -> pa.Array:
    """Times as JSON: null for infinity, ISO strings on a TIMESTAMP stream.

    >>> times_text(np.array([5, INFINITY]), False).to_pylist()
    ['5', 'null']
    >>> times_text(np.array([1_500_000]), True).to_pylist()
    ['"1970-01-01T00:00:01.5Z"']
    """
    text = joined(['"', iso_text(times), '"']) if timestamps else to_arrow(times).cast(TEXT)
    infinite = times == INFINITY
    return pc.if_else(to_arrow(infinite), text_scalar("null"), text) if infinite.any() else text


def iso_text(times: Int64s) -> pa.Array:
    """Microseconds as ISO 8601. Arrow knows the years from 0001 to 9999; others have a sign.

    >>> iso_text(np.array([1_500_000, 2**62])).to_pylist()
    ['1970-01-01T00:00:01.5Z', '+148108-07-06T14:00:27.387904Z']
    """
    far = is_far(times)
    iso = to_arrow(np.where(far, 0, times)).cast(pa.timestamp("us")).cast(TEXT)
    # 1970-01-01 00:00:01.500000 becomes 1970-01-01T00:00:01.5Z
    iso = pc.utf8_replace_slice(iso, len("1970-01-01"), len("1970-01-01 "), "T")
    iso = joined([pc.utf8_rtrim(pc.utf8_rtrim(iso, "0"), "."), "Z"])
    if not far.any():
        return iso
    others = pa.array([format_timestamp(time) for time in times[far].tolist()], TEXT)
    return pc.replace_with_mask(iso, to_arrow(far), others)


def is_far(times: Int64s) -> NDArray[np.bool_]:
    """Which are before the year 0001 or after 9999."""
    found: NDArray[np.bool_] = (times < FIRST_ISO) | (times >= LAST_ISO)
    return found


def has_far(column: pa.ChunkedArray) -> bool:
    """Whether a column, or a part of it, has dates or timestamps of such years."""
    kind = column.type
    if pa.types.is_nested(kind):
        parts = (chunk.flatten() for chunk in column.chunks)
        return any(
            has_far(pa.chunked_array([part]))
            for found in parts
            for part in (found if isinstance(found, list) else [found])
        )
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
        first, last = FIRST_ISO, LAST_ISO - 1
    elif pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
        first, last = FIRST_ISO // _DAY, LAST_ISO // _DAY - 1
    else:
        return False
    ends = pc.min_max(column)
    return (
        bool(ends["min"].is_valid)
        and not first <= ends["min"].as_py() <= ends["max"].as_py() <= last
    )


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column for people: as Python has them, or, where it has none, as JSON has
    them."""
    if not has_far(column):
        return list(column.to_pylist())
    texts = (values_text(chunk, "") for chunk in column.chunks)
    return [orjson.loads(text) for part in texts for text in part.to_pylist()]


def visible(text: str) -> str:
    """A text without the characters that a terminal would act on.

    >>> print(visible("a\\x1b[2J\\tb"))
    a\\u001b[2J\\tb
    """
    return text.translate(_VISIBLE)


def moments_text(array: pa.Array) -> pa.Array:
    """A column of dates or timestamps as ISO 8601."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us"), safe=False)
        return _masked(iso_text(_numbers(array.cast(pa.int64()))), array)
    days = _numbers(array.cast(pa.date32()).cast(pa.int32())).astype(np.int64)
    far = is_far(np.clip(days, -_MANY_DAYS, _MANY_DAYS) * _DAY)
    iso = to_arrow(np.where(far, 0, days).astype(np.int32)).cast(pa.date32()).cast(TEXT)
    if far.any():
        others = [format_date(day) for day in days[far].tolist()]
        iso = pc.replace_with_mask(iso, to_arrow(far), pa.array(others, TEXT))
    return _masked(iso, array)


def _numbers(array: pa.Array) -> NDArray[Any]:
    """The numbers of a column, 0 where there is none."""
    return np.where(to_numpy(array.is_valid()), stored(array), 0)


def rows_text(table: pa.Table, count: int) -> pa.Array:
    """Each row as a JSON object.

    >>> rows_text(pa.table({"a": [1, None], "b": [["x"], []]}), 2).to_pylist()
    ['{"a":1,"b":["x"]}', '{"a":null,"b":[]}']
    """
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    return _object_text(columns, count)


def _object_text(columns: dict[str, pa.Array], count: int) -> pa.Array:
    if not columns:
        return repeated("{}", count)
    parts: list[str | pa.Array] = []
    for name, column in columns.items():
        parts += [f"{',' if parts else '{'}{quoted(name)}:", values_text(column, name)]
    return joined([*parts, "}"])


def values_text(array: pa.Array, column: str) -> pa.Array:
    """Each value as JSON, null included."""
    kind = array.type
    if pa.types.is_null(kind):
        return repeated("null", len(array))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        text = array.cast(TEXT)
    elif pa.types.is_floating(kind):
        text = _floats_text(array)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = _strings_text(array)
    elif pa.types.is_dictionary(kind):
        return values_text(array.dictionary_decode(), column)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        text = _lists_text(array, column)
    elif pa.types.is_struct(kind):
        fields = {field.name: part for field, part in zip(kind, array.flatten(), strict=True)}
        text = _masked(_object_text(fields, len(array)), array)
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        text = _masked(joined(['"', moments_text(array), '"']), array)
    elif pa.types.is_time(kind):
        times = array.cast(pa.time64("us"), safe=False).cast(TEXT)
        short = pc.replace_substring_regex(times, r"\.0+$|(\.\d*[1-9])0+$", r"\1")
        text = _masked(joined(['"', short, '"']), array)
    elif pa.types.is_decimal(kind):
        text = _decimals_text(array)
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        text = joined(['"', encoded(array), '"'])
        text = _masked(text, array)
    elif pa.types.is_map(kind):
        text = _maps_text(array, column)
    else:
        raise Unsayable(f'column "{column}" is of type {kind}, which an event log cannot hold')
    return pc.fill_null(text, text_scalar("null")) if text.null_count else text


def _masked(text: pa.Array, array: pa.Array) -> pa.Array:
    """The text where the array has a value, null where it has none."""
    return pc.if_else(array.is_valid(), text, text_scalar(None)) if array.null_count else text


def _floats_text(array: pa.Array) -> pa.Array:
    text = array.cast(TEXT)
    whole = pc.invert(pc.match_substring_regex(text, "[.en]"))  # 10 must stay a float: 10.0
    if pc.any(whole).as_py():
        text = pc.if_else(whole, joined([text, ".0"]), text)
    if pc.all(pc.is_finite(array)).as_py() is not False:
        return text
    for arrows, word in zip(("nan", "inf", "-inf"), WORDS, strict=True):
        text = pc.if_else(pc.equal(text, text_scalar(arrows)), text_scalar(f'"{word}"'), text)
    return text


def _decimals_text(array: pa.Array) -> pa.Array:
    """All digits, without an exponent: 0.0000000010.

    >>> from decimal import Decimal
    >>> _decimals_text(pa.array([Decimal("-0.50"), Decimal("12.00")])).to_pylist()
    ['-0.50', '12.00']
    """
    scale = array.type.scale
    if scale <= 0:
        return array.cast(pa.decimal128(38, 0)).cast(TEXT)
    array = array.cast(pa.decimal128(38, scale))
    buffers = array.buffers()
    unscaled = pa.Array.from_buffers(pa.decimal128(38, 0), len(array), buffers, offset=array.offset)
    text = unscaled.cast(TEXT)
    digits = pc.utf8_lpad(pc.utf8_ltrim(text, "-"), scale + 1, "0")
    sign = pc.if_else(pc.starts_with(text, "-"), text_scalar("-"), text_scalar(""))
    whole, fraction = (
        pc.utf8_slice_codeunits(digits, 0, -scale),
        pc.utf8_slice_codeunits(digits, -scale, None),
    )
    return _masked(joined([sign, whole, ".", fraction]), array)


def _strings_text(array: pa.Array) -> pa.Array:
    encoded = array.dictionary_encode()
    text = encoded.dictionary.cast(TEXT)
    if pc.any(pc.match_substring_regex(text, _NEEDS_ESCAPE)).as_py():
        for character, escape in _ESCAPES.items():
            text = pc.replace_substring(text, character, escape)
    return joined(['"', text, '"']).take(encoded.indices)


def _lists_text(array: pa.Array, column: str) -> pa.Array:
    return _around("[", values_text(array.flatten(), column), "]", array)


def _maps_text(array: pa.Array, column: str) -> pa.Array:
    kind = array.type
    if pa.types.is_nested(kind.key_type):
        raise Unsayable(
            f'column "{column}" is of type {kind}, which an event log cannot hold: the keys of a '
            "JSON object are strings"
        )
    lists = array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    keys, items = (values_text(part, column) for part in lists.flatten().flatten())
    bare = pc.invert(pc.starts_with(keys, '"'))
    keys = pc.if_else(bare, joined(['"', keys, '"']), keys)
    return _around("{", joined([keys, ":", items]), "}", lists)


def _around(opening: str, items: pa.Array, closing: str, lists: pa.Array) -> pa.Array:
    """The texts of the items of each list, with commas between them."""
    lengths: NDArray[np.int64] = list_lengths(lists)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    texts = pa.ListArray.from_arrays(to_arrow(offsets), items.cast(pa.string()))
    return _masked(joined([opening, pc.binary_join(texts, ",").cast(TEXT), closing]), lists)
