"""Regular expressions that would be tried for ever: in linear time where RE2 means the same, and
otherwise an error after some seconds."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.expressions import EvaluationError, java_patterns
from driftline.engine.expressions.java_patterns import java_regex, re2_search

S = dl.stream("s", {"k": "STRING"})
LONG = "a" * 41 + "!"


def run(expression: str, *texts: str) -> list[object]:
    query = dl.sql(f"SELECT {expression} AS x FROM s", s=S)
    events = [dl.Insert(n, dl.INFINITY, dl.Row(k=text)) for n, text in enumerate(texts)]
    found: list[object] = query.run(s=events).history().column("x").to_pylist()
    return found


def test_linear_where_re2_means_the_same() -> None:
    start = time.monotonic()
    assert run("k RLIKE '(a+)+$'", LONG, "aa", "aa\n", "b") == [False, True, True, False]
    assert time.monotonic() - start < 5


PIECES = st.sampled_from(
    ["a", "b", ".", "a+", "(a|b)", "(?:a*)", "[ab]", "\\r", "\\n", "\\$", "|", "^"]
)
TEXTS = st.text("ab\r\n\u2028$", max_size=5)


@given(pieces=st.lists(PIECES, max_size=4), texts=st.lists(TEXTS, min_size=1, max_size=4))
@example(pieces=["a", "|", "b"], texts=["a!", "b\n", "b!"])
@example(pieces=["a", "\\r"], texts=["a\r\n"])
@example(pieces=[], texts=["", "a"])
def test_the_end_of_a_text_is_the_same_to_both(pieces: list[str], texts: list[str]) -> None:
    pattern = "".join(pieces) + "$"
    wanted = [java_regex(pattern, "rlike").search(text) is not None for text in texts]
    written = pattern.replace("\\", "\\\\")
    assert run(f"k RLIKE '{written}'", *texts) == wanted


def test_most_ends_are_linear() -> None:
    assert all(re2_search(each) for each in ("a$", "(a+)+$", "a|b$", "^(a|aa)*b$", "$"))
    assert not any(re2_search(each) for each in ("a\\$", "[$", "\\Qa$", "(?=a)$", "a$b$"))


SLOW = [
    "regexp_extract(k, '(a+)+$', 0)",
    "regexp_replace(k, '(a+)+$', 'b')",
    "k RLIKE '(?=b)c|(a+)+$'",
    "regexp_count(k, '(a+)+$')",
    "regexp_substr(k, '(a+)+$')",
    "regexp_instr(k, '(a+)+$')",
    "size(regexp_extract_all(k, '(a+)+$', 0))",
    "size(split(k, '(a+)+$'))",
    "size(str_to_map(k, '(a+)+$', ':'))",
]


@pytest.mark.parametrize("expression", SLOW)
def test_what_is_tried_for_ever_is_an_error(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_patterns, "SLOWEST", 0.05)
    with pytest.raises(EvaluationError, match="seconds the pattern is still being tried") as found:
        run(expression, "a" * 60 + "!")
    assert "\n" not in str(found.value)
    assert len(run(expression, "b", "ab")) == 2


def test_other_threads_can_use_patterns() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend(run("regexp_count(k, 'a$')", "ba")))
    thread.start()
    thread.join()
    assert found == [1]
