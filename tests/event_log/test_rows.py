import numpy as np
import orjson
import pyarrow as pa
import pytest

from driftline.event_log import rows
from driftline.event_log.bad import Misfits
from driftline.event_log.explain import ParsedLine
from driftline.event_log.rows import RowReader
from driftline.event_log.scan import scan_row


class Asked(list[int]):
    """Hands rows out one by one, and remembers which were asked for."""

    def __init__(self, texts: list[bytes]) -> None:
        self.texts = texts

    def __call__(self, i: int) -> ParsedLine:
        self.append(i)
        return ParsedLine("s", 0, 0, 1, 0, 0, False, orjson.loads(self.texts[i]))


def add(reader: RowReader, *texts: bytes) -> tuple[Misfits, list[int]]:
    """Adds rows to a reader; gives the refusals, and which rows had to be read one by one."""
    block = np.frombuffer(b"".join(texts), np.uint8)
    ends = np.cumsum([len(text) for text in texts])
    starts = ends - [len(text) for text in texts]
    facts = [scan_row(block, a, b) for a, b in zip(starts, ends, strict=True)]
    asked = Asked(list(texts))
    names = np.array([name for _, name, _ in facts])
    big = np.array([large for _, _, large in facts])
    refused = reader.add(block, starts, ends, names, big, np.ones(len(texts), np.bool_), asked)
    return refused, list(asked)


def test_a_bad_row_among_many_costs_few_looks() -> None:
    reader = RowReader("s")
    texts = [b'{"a":1}'] * 5000
    texts[3000] = b'{"a":"x"}'
    refused, asked = add(reader, *texts)
    assert list(refused) == [3000]
    assert len(asked) <= 2 * rows.ONE_BY_ONE
    assert reader.table()[0].num_rows == 4999


def test_known_types_hold_from_block_to_block() -> None:
    reader = RowReader("s")
    add(reader, *[b'{"a":null,"b":1}'] * 300)
    add(reader, *[b'{"a":"2024-05-01","b":2}'] * 300)
    refused, asked = add(reader, *[b'{"a":"x","b":2.5}'] * 300)
    assert (refused, asked) == ({}, [])
    table, _ = reader.table()
    assert table.schema == pa.schema([("a", pa.string()), ("b", pa.float64())])
    assert table.column("a").to_pylist()[299:301] == [None, "2024-05-01"]


@pytest.mark.parametrize("first", [b"{}", b'{"a":null}', b'{"a":{}}', b'{"a":[]}'])
def test_first_rows_that_say_little(first: bytes) -> None:
    reader = RowReader("s")
    refused, _ = add(reader, *[first] * 600)
    assert refused == {}
    assert reader.table()[0].num_columns == (first != b"{}")
