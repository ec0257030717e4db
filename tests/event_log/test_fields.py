"""Values inside the JSON texts of rows, against a plain reading of the same rows."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.event_log.fields import WORDS, kept_as_text, may_hold_words, take_words_out

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, -1.5, 10**30, "", "NaN", "Infinity", "-Infinity", 'a"\\}']),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("aAé"), inner)
    ),
    max_leaves=5,
)
ROWS = st.lists(st.dictionaries(st.sampled_from(["a", "B", "é", 'x"y', "c,d"]), VALUES))


def written(rows: list[dict[str, Any]], spaces: bool) -> tuple[Any, Any]:
    separators = (" , ", " : ") if spaces else (",", ":")
    texts = [json.dumps(row, separators=separators, ensure_ascii=False) + "\n" for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(text.encode()) for text in texts])])
    return np.frombuffer("".join(texts).encode(), np.uint8).copy(), offsets.astype(np.int64)


@given(ROWS, st.booleans())
def test_values_kept_as_text(rows: list[dict[str, Any]], spaces: bool) -> None:
    text, offsets = kept_as_text(*written(rows, spaces), ["a", "b"])
    for place, row in enumerate(rows):
        found = json.loads(text[offsets[place] : offsets[place + 1]].tobytes())
        for name in {"a", "B"} & found.keys():
            if found[name] is not None:
                assert isinstance(found[name], str)
                found[name] = json.loads(found[name])
        assert found == row


@given(ROWS, st.booleans())
def test_words_are_taken_out_and_put_in(rows: list[dict[str, Any]], spaces: bool) -> None:
    text, offsets = written(rows, spaces)
    has_words = any(row.get(name) in list(WORDS) for row in rows for name in ("a", "B"))
    assert may_hold_words(text) or not has_words
    words = take_words_out(text, offsets, ["a", "B"])
    left = [json.loads(line) for line in text.tobytes().split(b"\n") if line]
    for name in ("a", "B"):
        numbers = [row.get(name) if isinstance(row.get(name), float) else None for row in left]
        table = words.put_in(pa.table({name: pa.array(numbers, pa.float64())}))
        for row, rest, number in zip(rows, left, table.column(name).to_pylist(), strict=True):
            if isinstance(row.get(name), str) and row[name] in WORDS:
                assert rest[name] is None
                assert number == float(row[name]) or math.isnan(number)
            else:
                assert rest.get(name) == row.get(name)
    others = ("é", 'x"y', "c,d")
    assert [{name: row.get(name) for name in others} for row in left] == [
        {name: row.get(name) for name in others} for row in rows
    ]
