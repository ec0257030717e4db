"""LIKE and regular expressions.

Java's regular expressions are given to RE2 (through Arrow) where both mean the same, and to
Python's `re`, once for each distinct text, where RE2 lacks something (look-around, references to
groups, `$` before a final line end).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import WORTH_A_LOOK, Array, Value, as_array, is_scalar
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.expansion import check_texts
from driftline.engine.expressions.java_patterns import (
    finds,
    java_regex,
    per_text,
    re2_pattern,
    re2_search,
)
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.strings import lower
from driftline.plan.expressions import Call, Literal
from driftline.plan.types import BOOLEAN, STRING

_ANY, _ONE = object(), object()
_PLAIN = re.compile(r"[^\\.\[\]{}()*+?^$|]+")


# LIKE


@lru_cache(maxsize=1024)
def _like_parts(pattern: str, escape: str) -> tuple[object, ...]:
    """The texts and wildcards of a LIKE pattern."""
    parts: list[object] = []
    text = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None:
                raise EvaluationError(
                    "INVALID_FORMAT", f"the pattern {pattern!r} ends with its escape"
                )
            if following not in ("_", "%", escape):
                raise EvaluationError(
                    "INVALID_FORMAT", f"{escape!r} cannot stand before {following!r} in {pattern!r}"
                )
            text += following
        elif character in "%_":
            parts += [text] if text else []
            text = ""
            parts.append(_ANY if character == "%" else _ONE)
        else:
            text += character
    return (*parts, text) if text else tuple(parts)


def _pattern_is_fine(call: Call) -> bool:
    """Is the pattern a constant that has been found to be one? Then nothing can fail."""
    pattern, escape = call.args[1], call.args[2]
    if not (isinstance(pattern, Literal) and isinstance(escape, Literal)):
        return False
    try:
        _like_parts(pattern.value or "", escape.value)
    except EvaluationError:
        return False
    return True


@kernel("like ilike", scalars=True, total=_pattern_is_fine)
def _like(call: Call, args: Sequence[Value]) -> Array:
    text, pattern, escape = args
    escape_character = escape.as_py() if is_scalar(escape) else escape[0].as_py()
    if call.function == "ilike":
        text, pattern = (_lowered(part) for part in (text, pattern))
    if is_scalar(pattern):
        if not pattern.is_valid:
            return pa.nulls(len(text), BOOLEAN)
        if text.null_count == len(text):
            return pa.nulls(len(text), BOOLEAN)
        return _like_constant(text, _like_parts(pattern.as_py(), escape_character))

    def matches(value: str, written: str) -> bool:
        return _like_regex(_like_parts(written, escape_character)).fullmatch(value) is not None

    rows = [as_array(text, len(pattern)), pattern]
    return per_text(call.function, matches, rows, BOOLEAN)


def _lowered(value: Value) -> Value:
    return lower(pa.array([value]))[0] if is_scalar(value) else lower(value)


def _like_constant(text: Array, parts: tuple[object, ...]) -> Array:
    texts = [part for part in parts if isinstance(part, str)]
    wild = [part is _ANY for part in parts]
    if len(texts) <= 1 and _ONE not in parts:
        found = texts[0] if texts else ""
        if not any(wild):
            return pc.equal(text, found)
        if len(parts) == 1:  # %
            return pc.if_else(text.is_valid(), True, pa.scalar(None, BOOLEAN))
        if parts[-1] is found:
            return pc.ends_with(text, found)
        return pc.starts_with(text, found) if parts[0] is found else pc.match_substring(text, found)
    pieces = (re.escape(p) if isinstance(p, str) else (".*" if p is _ANY else ".") for p in parts)
    return pc.match_substring_regex(text, rf"(?s)\A{''.join(map(_re2_escape, pieces))}\z")


def _re2_escape(piece: str) -> str:
    # Python writes "\ " and the like, which RE2 reads too; only NUL and newlines need care.
    return piece.replace("\\\n", "\\n").replace("\\\x00", "\\x00")


@lru_cache(maxsize=1024)
def _like_regex(parts: tuple[object, ...]) -> re.Pattern[str]:
    pieces = (re.escape(p) if isinstance(p, str) else (".*" if p is _ANY else ".") for p in parts)
    return re.compile("".join(pieces), re.DOTALL)


# Regular expressions


def constant_text(value: Value) -> str | None:
    """The text of a constant; None for a column or null."""
    return str(value.as_py()) if is_scalar(value) and value.is_valid else None


def _rows(args: Sequence[Value]) -> list[Array]:
    length = next(len(arg) for arg in args if not is_scalar(arg))
    return [as_array(arg, length) for arg in args]


def _regex_is_fine(call: Call) -> bool:
    pattern = call.args[1]
    if not isinstance(pattern, Literal):
        return False
    try:
        java_regex(pattern.value or "", call.function)
    except EvaluationError:
        return False
    return True


@kernel("rlike", scalars=True, total=_regex_is_fine)
def _rlike(call: Call, args: Sequence[Value]) -> Array:
    pattern = constant_text(args[1])
    if pattern is not None:
        java_regex(pattern, "rlike")
        lines = pattern.endswith("$") and pc.any(pc.match_substring(args[0], "\r\n")).as_py()
        quick = None if lines else re2_search(pattern)
        if quick is not None:
            with suppress(pa.ArrowInvalid):  # RE2 has limits of its own
                return pc.match_substring_regex(args[0], quick)

    def matches(text: str, written: str) -> bool:
        return java_regex(written, "rlike").search(text) is not None

    return per_text(call.function, matches, _rows(args), BOOLEAN)


@kernel("regexp_extract", scalars=True)
def _regexp_extract(call: Call, args: Sequence[Value]) -> Array:
    def extract(text: str, pattern: str, group: int) -> str:
        regex = java_regex(pattern, "regexp_extract")
        match = regex.search(text)
        if match is not None and not 0 <= group <= regex.groups:
            raise EvaluationError(
                "INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
                f"regexp_extract: {pattern!r} has {regex.groups} groups, so no group {group}",
            )
        return "" if match is None else match[group] or ""

    return per_text(call.function, extract, _rows(args), STRING)


@kernel("regexp_replace", scalars=True)
def _regexp_replace(call: Call, args: Sequence[Value]) -> Array:
    pattern, replacement, position = constant_text(args[1]), constant_text(args[2]), args[3]
    plain = replacement is not None and not set(replacement) & set("\\$")
    at_start = is_scalar(position) and position.as_py() == 1
    if pattern is not None and plain and at_start and not is_scalar(args[0]):
        empty = java_regex(pattern, "regexp_replace").search("") is not None
        quick = None if empty else re2_pattern(pattern)
        if quick is not None:
            if args[0].nbytes * (len(replacement or "") + 1) > WORTH_A_LOOK:
                found = float(pc.sum(pc.count_substring_regex(args[0], quick)).as_py() or 0)
                size = args[0].nbytes + found * len((replacement or "").encode())
                check_texts(call.brief(), size)
            with suppress(pa.ArrowInvalid):  # RE2 has limits of its own
                return pc.replace_substring_regex(args[0], quick, replacement)
    return per_text(call.function, _replaced, _rows(args), STRING)


def _replaced(text: str, pattern: str, replacement: str, position: int) -> str:
    regex = java_regex(pattern, "regexp_replace")
    if position < 1:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE", f"regexp_replace: the position {position} is not positive"
        )
    start = position - 1
    if start and start >= len(text):
        return text
    build = _replacement(replacement, regex)
    parts = [text[:start]]
    rest, place, size = text[start:], 0, len(text)
    for match in finds(regex, rest):
        parts += [rest[place : match.start()], build(match)]
        place = match.end()
        size += len(parts[-1])
        check_texts("regexp_replace", size)
    return "".join([*parts, rest[place:]])


def _replacement(written: str, regex: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
    """Java's replacement text: $1 is a group, a backslash takes the next character as it is."""
    parts: list[str | int] = []
    position = 0
    while position < len(written):
        character = written[position]
        if character == "\\" and position + 1 < len(written):
            parts.append(written[position + 1])
            position += 2
        elif character == "$":
            digits = re.match(r"\d", written[position + 1 :], re.ASCII)
            group = int(digits[0]) if digits else -1
            position += 2
            if not 0 <= group <= regex.groups:
                raise EvaluationError(
                    "INVALID_REGEXP_REPLACE", f"{written!r} names a group that the pattern lacks"
                )
            # More digits belong to the number as long as there is such a group.
            while written[position : position + 1].isdigit():
                longer = group * 10 + int(written[position])
                if longer > regex.groups:
                    break
                group, position = longer, position + 1
            parts.append(group)
        elif character == "\\":
            raise EvaluationError("INVALID_REGEXP_REPLACE", f"{written!r} ends with a backslash")
        else:
            parts.append(character)
            position += 1
    return lambda match: "".join(
        part if isinstance(part, str) else match[part] or "" for part in parts
    )


@kernel("split", scalars=True)
def _split(call: Call, args: Sequence[Value]) -> Array:
    pattern, limit = constant_text(args[1]), args[2]
    unlimited = is_scalar(limit) and limit.is_valid and limit.as_py() <= 0
    if pattern is not None and unlimited and _PLAIN.fullmatch(pattern):
        return pc.split_pattern(args[0], pattern)
    return per_text(call.function, split_text, _rows(args), call.kind)


def split_text(text: str, pattern: str, limit: int) -> list[str]:
    """The parts of a text between the matches, at most as many as the limit if that is positive."""
    if text and not pattern:
        count = len(text) if limit <= 0 or limit > len(text) else limit
        return [*text[: count - 1], text[count - 1 :]]
    parts: list[str] = []
    index = 0
    for match in finds(java_regex(pattern, "split"), text):
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() == 0:  # nothing before an empty match at the start
            continue
        parts.append(text[index : match.start()])
        index = match.end()
    return [*parts, text[index:]]
