"""get_json_object: what a path leads to in a JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import java_float
from driftline.plan.expressions import Call
from driftline.plan.types import STRING

_STEP = re.compile(r"(\.\*|\[\*\]|\['\*'\])|\.([^.\[\]]+)|\['([^'?]+)'\]|\[(\d+)\]")
_SMALL_ESCAPE = re.compile(r"\\u00([01][0-9a-f])")
_SPACES = " \t\r\n"
_STRINGS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""", re.DOTALL)

Step = str | int


class _Object(list[tuple[str, Any]]):
    """An object: a list of its fields, of which two may have the same name."""


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
    found = _found(value, steps)
    if found is None or isinstance(found, str):
        return found
    return _written(found)


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
            raise EvaluationError(
                "UNSUPPORTED_PATH", f"get_json_object does not take * in a path: {path}"
            )
        steps.append(int(step[4]) if step[4] is not None else step[2] or step[3])
        place = step.end()
    return tuple(steps)


def parsed_length(text: str) -> int | None:
    """How many items a JSON array has; None if it is none."""
    value = _whole(text)
    return len(value) if isinstance(value, list) and not isinstance(value, _Object) else None


def parsed_keys(text: str) -> list[str] | None:
    """The names of a JSON object's fields; None if it is none."""
    value = _whole(text)
    return [name for name, _ in value] if isinstance(value, _Object) else None


def _whole(text: str) -> Any:
    return _parsed(text.lstrip(_SPACES))


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


def _written(value: Any) -> str:
    """A value as JSON, numbers as Java writes them."""
    if isinstance(value, _Object):
        return "{" + ",".join(f"{quoted(name)}:{_written(item)}" for name, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
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
