"""Words by which the rows of a partition are kept in order.

    words(r) < words(s)  ⇒  r comes before s, by an ORDER BY and then by the whole row

column by column, two words each: whether the value is null, and its order key. Of text and bytes
the key is the beginning, so that what has the same words may still be one before the other: no
column follows such a one, nor a few others. Unlike order keys those words hold for ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.state.fingerprints import is_bytes, string_buffers
from driftline.engine.state.order_keys import DIGITS_OF_A_WORD, order_keys, valid
from driftline.kernels import compiled
from driftline.model.arrays import Bytes, Int64s

MOST_COLUMNS = 3
"""Ties are seldom, and members would become long."""
WORDS_OF_A_COLUMN = 2
BITS_OF_A_WORD = 64
_BYTES_OF_A_WORD = 8
_SIGN = np.int64(-(2**63))


@dataclass(frozen=True)
class OrderBy:
    """One item of an ORDER BY."""

    column: str
    descending: bool = False
    nulls_first: bool | None = None  # None: first when ascending, last when descending

    @property
    def starts_with_nulls(self) -> bool:
        return not self.descending if self.nulls_first is None else self.nulls_first

    def mirrored(self) -> OrderBy:
        """The other way round."""
        return OrderBy(self.column, not self.descending, not self.starts_with_nulls)


def with_nulls(column: pa.Array, item: OrderBy) -> tuple[Int64s, Int64s]:
    """Two keys: whether a value is null (in the order of nulls and values), and its own."""
    return _sided(column, order_keys(column), item)


def _sided(column: pa.Array, key: Int64s, item: OrderBy) -> tuple[Int64s, Int64s]:
    there = valid(column)
    side = there if item.starts_with_nulls else ~there
    return side.astype(np.int64), np.where(there, key, 0)


class OrderWords:
    """`width`: how many words there are; `of_order`: how many of them are of the ORDER BY;
    `orders`: whether these tell all its keys apart, and `is_exact`: whether the words tell all rows
    apart."""

    def __init__(self, schema: pa.Schema, order: list[OrderBy], ties: list[OrderBy]) -> None:
        by = {item.column: item for item in reversed(order)}
        items = {item.column: item for item in reversed([*order, *ties])}
        self.items: list[OrderBy] = []
        self.is_exact = True
        for name in dict.fromkeys(item.column for item in [*order, *ties]):
            kind = schema.field(name).type
            if len(self.items) == MOST_COLUMNS or not (is_bytes(kind) or _is_word(kind)):
                self.is_exact = False
                break
            self.items.append(items[name])
            if is_bytes(kind):
                self.is_exact = False
                break
        comparable = [item for item in self.items if not is_bytes(schema.field(item.column).type)]
        self.width = WORDS_OF_A_COLUMN * len(self.items)
        self.of_order = WORDS_OF_A_COLUMN * min(len(by), len(self.items))
        self.orders = len(comparable) >= len(by)

    def of(self, rows: pa.RecordBatch) -> list[Int64s]:
        """The words of some rows."""
        found: list[Int64s] = []
        for item in self.items:
            column = rows.column(item.column)
            side, key = _sided(column, _key(column), item)
            found += [side, ~key if item.descending else key]
        return found


def _is_word(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_boolean(kind)
        or (pa.types.is_temporal(kind) and kind.bit_width <= BITS_OF_A_WORD)
        or pa.types.is_floating(kind)
        or (pa.types.is_decimal(kind) and kind.precision <= DIGITS_OF_A_WORD)
    )


def _key(column: pa.Array) -> Int64s:
    if not is_bytes(column.type):
        return order_keys(column)
    offsets, data = string_buffers(column)
    return _beginnings(offsets, data)


@compiled
def _beginnings(offsets: Int64s, data: Bytes) -> Int64s:
    """The first bytes of each text, as words in the order of these."""
    words = np.empty(len(offsets) - 1, np.int64)
    for row in range(len(words)):
        word = np.int64(0)
        for place in range(offsets[row], offsets[row] + _BYTES_OF_A_WORD):
            word = word << 8
            if place < offsets[row + 1]:
                word |= np.int64(data[place])
        words[row] = word ^ _SIGN
    return words
