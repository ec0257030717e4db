"""The file of dead letters: the events that were refused, each with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from driftline.event_log.atomic import atomic_file
from driftline.event_log.bad import BadEvent


def write_dead_letters(bad: Iterable[BadEvent], path: str | Path) -> None:
    """Writes dead letters as JSON Lines: source, line, the column and its value where one is to
    blame, reason, and the event (its text if not JSON)."""
    with atomic_file(path) as file:
        file.writelines(dead_letter(event) for event in bad)


def dead_letter(bad: BadEvent) -> bytes:
    r"""One line of the file.

    >>> dead_letter(BadEvent("a.jsonl", 3, "malformed JSON", b"{oops"))
    b'{"source":"a.jsonl","line":3,"reason":"malformed JSON","event":"{oops"}\n'
    >>> dead_letter(BadEvent("a.jsonl", 4, "a cti needs \"t\"", b'{"kind": "cti"}'))
    b'{"source":"a.jsonl","line":4,"reason":"a cti needs \\"t\\"","event":{"kind": "cti"}}\n'
    >>> dead_letter(BadEvent("a.csv", 5, "no INT", b"one,7", "x", "one"))
    b'{"source":"a.csv","line":5,"column":"x","value":"one","reason":"no INT","event":"one,7"}\n'
    """
    place: dict[str, Any] = {"source": bad.source, "line": bad.line}
    if bad.column is not None:
        place |= {"column": bad.column, "value": bad.value}
    letter = {**place, "reason": bad.reason, "event": as_json(bad.text)}
    return orjson.dumps(letter, option=orjson.OPT_APPEND_NEWLINE)


def to_text(bad: BadEvent) -> str:
    r"""A bad record as JSON, with its text as it was.

    >>> from_text(to_text(BadEvent("a.csv", 5, "no INT", b"one,7", "x", "one")))
    BadEvent(source='a.csv', line=5, reason='no INT', text=b'one,7', column='x', value='one')
    """
    text = bad.text.decode(errors="replace")
    place = {"source": bad.source, "line": bad.line, "column": bad.column, "value": bad.value}
    return orjson.dumps({**place, "reason": bad.reason, "text": text}).decode()


def from_text(written: str) -> BadEvent:
    """What `to_text` wrote; what is null may be missing."""
    given = orjson.loads(written)
    text = given.get("text", "").encode()
    column, value = given.get("column"), given.get("value")
    return BadEvent(given["source"], given["line"], given["reason"], text, column, value)


def as_json(text: bytes) -> Any:
    r"""What stood in a line, for orjson: JSON as it was written, to the last digit; else a text.

    >>> orjson.dumps([as_json(b'{"x":\n1.10}'), as_json(b'{"x":')])
    b'[{"x": 1.10},"{\\"x\\":"]'
    """
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return text.decode(errors="replace")
    return orjson.Fragment(text.replace(b"\r", b" ").replace(b"\n", b" "))
