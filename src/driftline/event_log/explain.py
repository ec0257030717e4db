"""The exact reader of one line: its event, or precisely what is wrong with it.

This reader is slow and right. The fast reader takes the lines that are plainly fine, and leaves the
others to this one. Checks that depend on other events (the columns of the stream's earlier rows,
its ctis, its lifetimes) are not made here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

from driftline.event_log.scan import DEEPEST
from driftline.model.columns import CTI, INSERT, KIND_NAMES, NO_CLOCK
from driftline.model.event import Event, ExternalCti, Insert, Retract, malformed
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY, parse_timestamp

_KINDS = "insert, retract, cti or external_cti"
_ARTICLES = ("an insert", "a retract", "a cti", "an external cti")
_NEEDS: tuple[tuple[str, ...], ...] = (
    ("stream", "vs", "ve", "row"),
    ("stream", "vs", "ve", "vn", "row"),
    ("stream", "t"),
    ("stream", "from", "to", "count"),
)
CONSISTENT = "consistent"
"""The kind of a mark: what was emitted so far is the answer for a prefix of the inputs."""
_TIMES = ("vs", "ve", "vn", "t", "from", "to")
_MAY_BE_INFINITE = ("ve", "t", "to")
_MANY_DIGITS = re.compile(rb"\d{19}")
_LONGEST_INTEGER = 39  # as text, with its sign
_BEYOND = 10**38


class Refused(ValueError):
    """The line is not an event; the message says why."""


class PassedOver(Exception):
    """The line is a mark, which is no event of its stream."""


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """One event as its line has it, in the layout of `StreamColumns`."""

    stream: str
    kind: int
    vs: int
    ve: int
    vn: int
    at: int
    iso: bool
    row: dict[str, Any] | None


def explain(line: bytes) -> str | None:
    """What is wrong with a line, or None when nothing is.

    >>> explain(b'{"stream":"s","kind":"cti"}')
    'a cti needs "t"'
    """
    try:
        parse_line(line)
    except Refused as refused:
        return str(refused)
    except PassedOver:
        return None
    return None


def parse_line(line: bytes) -> ParsedLine:
    """The event of a line; a mark is passed over."""
    event = _loads(line)
    if not isinstance(event, dict):
        raise Refused(f"an event is a JSON object, but this is {_json_kind(event)}")
    if event.get("kind") == CONSISTENT:
        _check_mark(event)
        raise PassedOver
    kind = _kind(event)
    for name in _NEEDS[kind]:
        if name not in event:
            raise Refused(f'{_ARTICLES[kind]} needs "{name}"{_hint(name)}')
    if not isinstance(event["stream"], str) or not event["stream"]:
        raise Refused(f'"stream" must be the name of a stream, not {_shown(event["stream"])}')
    times = {name: _time(name, event[name]) for name in _NEEDS[kind] if name in _TIMES}
    iso = any(isinstance(event[name], str) for name in times)
    at = NO_CLOCK if event.get("at") is None else _integer("at", event["at"], "milliseconds")
    row = None
    match kind:
        case 0 | 1:
            row = _row(event["row"])
            vs, ve, vn = times["vs"], times["ve"], times.get("vn", 0)
            plain: Event = Insert(vs, ve, Row()) if kind == INSERT else Retract(vs, ve, vn, Row())
        case 2:
            return ParsedLine(event["stream"], CTI, times["t"], 0, 0, at, iso, None)
        case _:
            vs, ve, vn = times["from"], times["to"], _integer("count", event["count"], "events")
            plain = ExternalCti(vs, ve, vn)
    if reason := malformed(plain, iso):
        raise Refused(reason)
    return ParsedLine(event["stream"], kind, vs, ve, vn, at, iso, row)


def _check_mark(event: dict[str, Any]) -> None:
    """Refuses a mark that does not say which prefix it is about."""
    prefix = event.get("prefix")
    if not isinstance(prefix, dict):
        raise Refused('a mark needs "prefix": how many events of each input')
    for name, count in prefix.items():
        if _integer(name, count, "events") < 0:
            raise Refused(f'"prefix" counts events: "{name}" cannot be {count}')


def _loads(line: bytes) -> Any:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            f"not UTF-8 text: byte {error.start + 1} is {line[error.start]:#04x}"
        ) from None
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Refused(f"malformed JSON: {error.msg} at column {error.colno}") from None
    if _MANY_DIGITS.search(line):  # orjson reads an integer beyond 64 bits as a float
        event = json.loads(line, parse_int=_exactly)
    return event


def _exactly(text: str) -> int:
    if len(text) <= _LONGEST_INTEGER:
        return int(text)
    return -_BEYOND if text.startswith("-") else _BEYOND


def _kind(event: dict[str, Any]) -> int:
    if "kind" not in event:
        raise Refused(f'an event needs "kind": {_KINDS}')
    kind = event["kind"]
    if not isinstance(kind, str) or kind not in KIND_NAMES:
        raise Refused(f"unknown kind {_shown(kind)}: it is {_KINDS}")
    return KIND_NAMES.index(kind)


def _hint(name: str) -> str:
    if name in ("ve", "to"):
        return ", null if it is infinite"
    return ""


def _time(name: str, value: Any) -> int:
    if value is None:
        if name in _MAY_BE_INFINITE or name == "vn":
            return INFINITY
        raise Refused(f'"{name}" must be a time, not null')
    if isinstance(value, str):
        try:
            return parse_timestamp(value)
        except ValueError as error:
            raise Refused(f'"{name}": {error}') from None
    return _integer(name, value, "ticks, or an ISO 8601 time in quotes")


def _integer(name: str, value: Any, unit: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f'"{name}" must be a whole number of {unit}, not {_shown(value)}')
    if not BEGINNING < value <= INFINITY:
        raise Refused(f'"{name}" must lie between -(2^63 - 1) and 2^63 - 1, unlike {_shown(value)}')
    return value


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise Refused(f'"row" must be a JSON object, not {_shown(row)}')
    _check_values(row, "", 1)
    return row


def _check_values(value: Any, path: str, depth: int) -> None:
    """Refuses integers that no decimal holds, and nesting that is too deep."""
    if depth > DEEPEST:
        raise Refused(f"the row is nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        for name, item in value.items():
            _check_values(item, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_values(item, f"{path}[]", depth + 1)
    elif isinstance(value, int) and abs(value) >= _BEYOND:
        raise Refused(
            f'column "{path}" holds an integer of more than 38 digits; '
            "write it as a string or with a decimal point"
        )


def _json_kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


_LONGEST_SHOWN = 40


def _shown(value: Any) -> str:
    """A value as JSON if that is short, and what it is otherwise."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _BEYOND:
        return "this number"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else _json_kind(value)
