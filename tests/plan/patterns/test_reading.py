from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.patterns import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Variable,
)
from driftline.plan.errors import ExpressionError
from driftline.plan.patterns.reading import parse_pattern

A, B, C = (Variable(name) for name in "ABC")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("A", A),
        ("A B | C", Alternate((Concat((A, B)), C))),
        ("A (B | C)", Concat((A, Alternate((B, C))))),
        (
            "A* B+? C??",
            Concat((Repeat(A, 0, None), Repeat(B, 1, None, False), Repeat(C, 0, 1, False))),
        ),
        ("A{2}B{2,}C{,4}", Concat((Repeat(A, 2, 2), Repeat(B, 2, None), Repeat(C, 0, 4)))),
        ("(A B){1, 3}?", Repeat(Concat((A, B)), 1, 3, False)),
        ("A{0}", Repeat(A, 0, 0)),
        ("^ A $", Concat((Anchor("start"), A, Anchor("end")))),
        ("A {- B C -}", Concat((A, Exclude(Concat((B, C)))))),
        ("() | A", Alternate((Empty(), A))),
        ("PERMUTE(A, B C | A)", Permute((A, Alternate((Concat((B, C)), A))))),
        ("permute", Variable("permute")),
        ("A a", Concat((A, A))),
        ('`a b` "c"', Concat((Variable("a b"), Variable("c")))),
        ("A -- a comment\n /* and\nanother */ B", Concat((A, B))),
    ],
)
def test_what_a_text_means(text: str, pattern: Pattern) -> None:
    assert parse_pattern(text) == pattern
    assert parse_pattern(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is none: write .. for a pattern without rows .line 1, column 1"),
        ("A |", "a variable is expected .line 1, column 4"),
        ("| A", "a variable is expected .line 1, column 1"),
        ("A\n (B", r"a \) is missing .line 2, column 4"),
        ("A)", r"\) is not expected here .line 1, column 2"),
        ("* A", r"\* needs something before it to repeat .line 1, column 1"),
        ("A**", r"two quantifiers follow each other: write \(A\+\)\* with brackets"),
        ("A{3,2}", r"\{3,2\}: the second number is less than the first .line 1, column 2"),
        ("A{}", r"a quantifier is \{3\}"),
        ("A{x}", r"a quantifier is \{3\}"),
        ("A{1001}", "a quantifier goes up to 1000"),
        ("^*", r"\^ cannot be repeated .line 1, column 2"),
        ("A {- B", "a -} is missing"),
        ("A ; B", "';' has no meaning here .line 1, column 3"),
        ("PERMUTE(A,B,C,D,E,F,G)", "PERMUTE takes at most 6 patterns"),
        ("(" * 300, "nested more than 200 deep"),
    ],
)
def test_errors_have_places(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=f"PATTERN: .*{message}"):
        parse_pattern(text)


def test_a_pattern_in_a_greater_text_has_errors_there() -> None:
    with pytest.raises(ExpressionError, match="line 7, column 12"):
        parse_pattern("A ;", line=7, column=10)
    with pytest.raises(ExpressionError, match="line 8, column 2"):
        parse_pattern("A\n ;", line=7, column=10)


PATTERNS = st.recursive(
    st.sampled_from([A, B, Empty(), Variable("a name")]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Concat(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Alternate(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Permute(tuple(parts))),
        inner.map(Exclude),
        st.builds(Repeat, inner, st.integers(0, 2), st.none() | st.integers(2, 3), st.booleans()),
    ),
    max_leaves=8,
)


@given(PATTERNS)
def test_a_pattern_is_read_as_it_is_written(pattern: Pattern) -> None:
    assert str(parse_pattern(str(pattern))) == str(pattern)
    assert parse_pattern(str(pattern)).variables() == pattern.variables()


@pytest.mark.parametrize(
    ("text", "shortest", "longest", "starts"),
    [
        ("A", 1, 1, "A"),
        ("A? B{2,3}", 2, 4, "AB"),
        ("A* B", 1, None, "AB"),
        ("(A | B C) ^", 1, 2, "AB"),
        ("PERMUTE(A?, B)", 1, 2, "AB"),
        ("A{0} B", 1, 1, "B"),
        ("() {- C -}", 1, 1, "C"),
        ("(() | ^)* B", 1, 1, "B"),
    ],
)
def test_lengths_and_starts(text: str, shortest: int, longest: int | None, starts: str) -> None:
    pattern = parse_pattern(text)
    assert (pattern.shortest(), pattern.longest()) == (shortest, longest)
    assert pattern.starts() == frozenset(starts)
