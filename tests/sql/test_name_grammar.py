"""IDENTIFIER('name') is the name."""

from __future__ import annotations

import pytest

from tests.sql.declared import plan, pointed_at


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT IDENTIFIER('k'), identifier('t.' || 'x') FROM t", "SELECT k, t.x FROM t"),
        ("SELECT IDENTIFIER('`t`.`k`') AS a FROM IDENTIFIER('t')", "SELECT k AS a FROM t"),
        ("SELECT IDENTIFIER('ab' || 's')(x) AS a FROM t", "SELECT abs(x) AS a FROM t"),
        ("SELECT k FROM (SELECT k AS IDENTIFIER('k') FROM t)", "SELECT k FROM (SELECT k FROM t)"),
        ("SELECT identifier FROM (SELECT k AS identifier FROM t)",
         "SELECT `identifier` FROM (SELECT k AS `identifier` FROM t)"),
    ],
)  # fmt: skip
def test_it_stands_for_a_name(one: str, other: str) -> None:
    assert plan(one) == plan(other)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT IDENTIFIER(k) FROM t", "takes the constant text of a name @ IDENTIFIER(k)"),
        ("SELECT IDENTIFIER() FROM t", "takes the constant text of a name @ IDENTIFIER()"),
        ("SELECT x, IDENTIFIER('k k') FROM t", "'k k' is not a name @ IDENTIFIER('k k')"),
        ("SELECT IDENTIFIER('') FROM t", "'' is not a name @ IDENTIFIER('')"),
        ("SELECT IDENTIFIER('kk') FROM t", "there is no column kk; did you mean k? @ IDENTIFIER("),
        ("SELECT x FROM IDENTIFIER('tt')", "there is no stream or view tt @ IDENTIFIER('tt')"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    found, _, there = pointed_at(text).partition(" @ ")
    assert message in found
    assert there.startswith(place)
