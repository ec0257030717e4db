"""Tokens: after how many events they go in, and what they stand for."""

from __future__ import annotations

from driftline.engine.outputs.tokens import LONGEST, SHORTEST, Tokens
from driftline.model.prefix import Prefix


def test_a_token_after_every_so_many_events_of_all_sources_together() -> None:
    tokens = Tokens(10, 50, ["q"])
    numbers = []
    for events in range(4, 44, 4):
        token = tokens.next(Prefix({"a": events // 4, "b": events * 3 // 4}), int, at_once=False)
        numbers.append(None if token is None else token.number)
    assert numbers == [None, None, 1, None, None, 2, None, None, 3, None]
    assert tokens.prefixes[2] == Prefix({"a": 6, "b": 18})


def test_the_last_token_is_put_in_at_once() -> None:
    tokens = Tokens(10, 50, ["q"])
    token = tokens.next(Prefix({"a": 1}, closed=True), int, at_once=True)
    assert token is not None
    assert tokens.prefixes[token.number].closed


def test_an_adaptive_period_is_as_short_as_the_backlog_allows() -> None:
    tokens, events = Tokens("adaptive", 1_000, ["q"]), 0
    for _ in range(10):
        events += tokens.length
        tokens.next(Prefix({"a": events}), lambda: 0, at_once=False)
    assert tokens.length == SHORTEST
    for _ in range(30):
        events += tokens.length
        tokens.next(Prefix({"a": events}), lambda: 1 << 40, at_once=False)
    assert tokens.length == LONGEST


def test_a_prefix_is_forgotten_when_its_token_has_come_out_everywhere() -> None:
    tokens = Tokens(1, 50, ["p", "q"])
    marks = [tokens.next(Prefix({"a": n}), int, at_once=True) for n in (1, 2)]
    first, second = (mark for mark in marks if mark is not None)
    assert tokens.came_out("p", first) == tokens.came_out("q", first) == Prefix({"a": 1})
    assert list(tokens.prefixes) == [second.number]
