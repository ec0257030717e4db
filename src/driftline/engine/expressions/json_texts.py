"""get_json_object and json_tuple: what a path or a name leads to in a JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import java_float
from driftline.plan.expressions import Call
from driftline.plan.types import STRING

_STEP = re.compile(r"(\.\*|\['\*'\])|(\[\*\])|\.([^.\[\]]+)|\['([^'?]+)'\]|\[(\d+)\]")
_SMALL_ESCAPE = re.compile(r"\\u00([01][0-9a-f])")
_SPACES = " \t\r\n"
_STRINGS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)

Step = str | int | None
"""A step of a path: the name of a field, the place of an item, or None, which is [*]."""
Style = Literal["raw", "quoted", "flat"]
"""How what is found is written: a text as it is, as JSON, or the items of lists by themselves."""


class _Object(list[tuple[str, Any]]):
    """An object: a list of its fields, of which two may have the same name."""


@kernel("$json_field", total=True)
def _json_field(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(json_field, list(args), STRING)


def json_field(text: str, name: str) -> str | None:
    """The field of an object, as json_tuple gives it: the last of several with the name."""
    value = _parsed(text.lstrip(_SPACES))
    if not isinstance(value, _Object):
        return None
    found = [item for own, item in value if own == name]
    if not found or found[-1] is None:
        return None
    return found[-1] if isinstance(found[-1], str) else written(found[-1])


@kernel("get_json_object", total=True)
def _get_json_object(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(json_object, list(args), STRING)


def json_object(text: str, path: str) -> str | None:
    """The value at a path, as a text if it is one, else as JSON; None if there is none.

    >>> json_object('{"a":[1,{"b":"x"}]}', "$.a[1].b"), json_object('{"a":[1, 2.50]}', "$.a")
    ('x', '[1,2.5]')
    """
    steps = steps_of(path)
    if steps is None:
        return None
    value = _parsed(text.lstrip(_SPACES))
    if None in steps:
        parts: list[str] = []
        return "".join(parts) if _collected(value, steps, "raw", parts) else None
    found = _found(value, steps)
    if found is None or isinstance(found, str):
        return found
    return written(found)


def _parsed(text: str) -> Any:
    """The first value of a text; strings may be in single quotes. None if there is none."""
    try:
        value, end = _DECODER.raw_decode(text)
        return value if _ends(value, text[end : end + 1]) else None
    except (ValueError, RecursionError):
        again = _STRINGS.sub(_in_double_quotes, text)
        return None if again == text else _parsed(again)


def _ends(value: Any, following: str) -> bool:
    """Whether a value can end before a character: 12abc is no number, nullable no null."""
    if isinstance(value, (str, list)) or not following:
        return True
    if isinstance(value, bool) or value is None:
        return not (following.isalnum() or following in "_$")
    return following in _SPACES


def _in_double_quotes(string: re.Match[str]) -> str:
    if string[0].startswith('"'):
        return string[0]
    return '"' + string[0][1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


@lru_cache(maxsize=1000)
def steps_of(path: str) -> tuple[Step, ...] | None:
    """The steps of a path; None if it is none."""
    if not path.startswith("$"):
        return None
    steps: list[Step] = []
    place = 1
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            return None
        if step[1] is not None:
            return None  # Spark reads .* and finds nothing by it
        steps.append(
            None if step[2] else int(step[5]) if step[5] is not None else step[3] or step[4]
        )
        place = step.end()
    return tuple(steps)


def parsed_length(text: str) -> int | None:
    """How many items a JSON array has; None if it is none."""
    value = parsed(text)
    return len(value) if isinstance(value, list) and not isinstance(value, _Object) else None


def parsed_keys(text: str) -> list[str] | None:
    """The names of a JSON object's fields; None if it is none."""
    value = parsed(text)
    return [name for name, _ in value] if isinstance(value, _Object) else None


def parsed(text: str) -> Any:
    """The value of a JSON text; None if it has none. An object is a list of names and values."""
    return _parsed(text.lstrip(_SPACES))


def is_object(value: Any) -> bool:
    """Whether a value of `parsed` is an object, and no list."""
    return isinstance(value, _Object)


def _found(value: Any, steps: tuple[Step, ...]) -> Any:
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if isinstance(first, int):
        is_list = isinstance(value, list) and not isinstance(value, _Object)
        return _found(value[first], rest) if is_list and first < len(value) else None
    if isinstance(value, _Object):
        for name, item in value:
            if name == first and (found := _found(item, rest)) is not None:
                return found
    return None


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, _Object)


def _collected(value: Any, steps: tuple[Step, ...], style: Style, parts: list[str]) -> bool:
    """Whether a path with [*] leads to something, which is added to the parts. What several items
    lead to is a list, unless it is one; [*][*] makes one list of all, as Hive does."""
    if not steps:
        if style == "flat" and _is_list(value):
            found_some = [_collected(item, (), style, parts) for item in value]
            return any(found_some)
        parts.append(value if style == "raw" and isinstance(value, str) else written(value))
        return True
    first, rest = steps[0], steps[1:]
    if isinstance(first, str):
        named = (
            (item for name, item in value if name == first and item is not None)
            if isinstance(value, _Object)
            else ()
        )
        return any(_collected(item, rest, style, parts) for item in named)
    if not _is_list(value):
        return False
    if isinstance(first, int):
        inner: Style = "quoted" if rest and rest[0] is None else style
        return first < len(value) and _collected(value[first], rest, inner, parts)
    found: list[str] = []
    if rest and rest[0] is None:
        some = [_collected(item, rest[1:], "flat", found) for item in value]
        parts.append(f"[{','.join(found)}]")
        return any(some)
    some = [_collected(item, rest, "quoted" if style == "raw" else style, found) for item in value]
    if style == "quoted" or sum(some) > 1:
        parts.append(f"[{','.join(found)}]")
    elif any(some):
        parts.append(",".join(found))
    return any(some)


def written(value: Any) -> str:
    """A value of `parsed` as JSON, numbers as Java writes them."""
    if isinstance(value, _Object):
        return "{" + ",".join(f"{quoted(name)}:{written(item)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    return java_float(value) if isinstance(value, float) else json.dumps(value)


def quoted(text: str) -> str:
    """A text as JSON."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _SMALL_ESCAPE.sub(lambda match: match[0].upper().replace("\\U", "\\u"), quoted)


def _refused(word: str) -> Any:
    raise ValueError(word)  # NaN and Infinity are no JSON


_DECODER = json.JSONDecoder(object_pairs_hook=_Object, strict=False, parse_constant=_refused)
