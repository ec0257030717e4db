from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.event_log.base64 import decoded, encoded


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20))), st.integers(0, 3))
def test_as_the_standard_library(values: list[bytes | None], first: int) -> None:
    array = pa.array(values, pa.binary()).slice(first)
    texts = [None if each is None else base64.b64encode(each).decode() for each in values[first:]]
    assert encoded(array).to_pylist() == texts
    assert decoded(pa.array(texts, pa.string())).to_pylist() == values[first:]


@pytest.mark.parametrize("text", ["A", "A===", "AA!=", "AA===", "é"])
def test_what_is_no_base64(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        decoded(pa.array(["AAAA", text]))
