"""LIKE and regular expressions.

Java's regular expressions are given to RE2 (through Arrow) where both mean the same, and to
Python's `re`, once for each distinct text, where RE2 lacks something (look-around, references to
groups, `$` before a final line end).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from unicodedata import category

import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import Array, Value, as_array, is_scalar, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.expansion import LONGEST_COLUMN, check_texts
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.strings import lower
from driftline.plan.expressions import Call, Literal
from driftline.plan.types import BOOLEAN, STRING

_ANY, _ONE = object(), object()
_LINE_END = r"(?=(?:\r\n|[\n\r\u0085\u2028\u2029])?\Z)"
_NOT_LINE_END = r"[^\n\r\u0085\u2028\u2029]"
_NOT_IN_RE2 = re.compile(
    r"\(\?[=!<>]|\\[1-9]|[*+?}]\+|\$|\\[pPGXRhHvVNkbBZ]|\[.*(&&|\[)", re.DOTALL
)
_PLAIN = re.compile(r"[^\\.\[\]{}()*+?^$|]+")
_POSIX = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Punct": r"!-/:-@\[-`{-~",
    "Space": r" \t\n\x0b\f\r",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "ASCII": r"\x00-\x7f",
}
"""Java's classes of ASCII characters."""
_CATEGORIES = {
    "LETTER": "L",
    "DIGIT": "Nd",
    "PUNCTUATION": "P",
    "CONTROL": "Cc",
    "TITLECASE": "Lt",
}
"""Java's names (after Is) that are a category of Unicode."""
_CATEGORY = re.compile(r"C[cfson]?|L[ultmo]?|M[nec]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|L[CD]")
_LAST_CHARACTER = 0x10FFFF


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

    return per_distinct(matches, [as_array(text, len(pattern)), pattern], BOOLEAN)


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


@lru_cache(maxsize=1024)
def java_regex(pattern: str, function: str) -> re.Pattern[str]:
    """A pattern of Java's, for Python."""
    try:
        return re.compile(_translated(pattern), re.ASCII)
    except re.error as error:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE.PATTERN", f"{function}: {pattern!r} is not a pattern: {error}"
        ) from None


def _translated(pattern: str) -> str:
    """Java's syntax in Python's: `.`, `$`, `\\z`, `\\Z`, `\\Q…\\E` and POSIX classes differ."""
    out: list[str] = []
    position, in_class = 0, False
    while position < len(pattern):
        two = pattern[position : position + 2]
        if two == r"\Q":
            end = pattern.find(r"\E", position)
            end = len(pattern) if end < 0 else end
            out.append(re.escape(pattern[position + 2 : end]))
            position = end + 2
            continue
        if two in (r"\p", r"\P"):
            name = pattern[position + 2 :]
            name = name[1 : name.index("}")] if name.startswith("{") else name[:1]
            known = _class(name, negated=two[1] == "P")
            out.append(known if in_class else f"[{known}]")
            position += 2 + (len(name) + 2 if pattern[position + 2 : position + 3] == "{" else 1)
            continue
        if two.startswith("\\") and len(two) > 1:
            out.append(
                {
                    r"\z": r"\Z",
                    r"\Z": _LINE_END,
                    r"\h": r"[ \t]",
                    r"\R": r"(?:\r\n|[\n\r])",
                    r"\b": r"(?u:\b)",
                    r"\B": r"(?u:\B)",
                }.get(two, two)
            )
            position += 2
            continue
        character = pattern[position]
        if in_class and (character == "[" or pattern.startswith("&&", position)):
            raise re.error("a class inside a class, and &&, are not supported: write (?=…) or |")
        if character == "[":
            out.append("[")
            in_class = True
        elif character == "]" and in_class:
            out.append("]")
            in_class = False
        elif character == "." and not in_class:
            out.append(_NOT_LINE_END if "(?s" not in pattern else ".")
        elif character == "$" and not in_class:
            out.append(_LINE_END if "(?m" not in pattern else "$")
        else:
            out.append(character)
        position += 1
    return "".join(out)


@lru_cache(maxsize=256)
def _class(name: str, negated: bool) -> str:
    """The characters of a named class, as they are written in brackets."""
    if name in _POSIX:
        if not negated:
            return _POSIX[name]
        matches = re.compile(f"[{_POSIX[name]}]").match
        return _ranges(lambda character: matches(character) is None)
    plain = re.sub(r"^(Is|general_category=|gc=)", "", name)
    plain = _CATEGORIES.get(plain.upper(), plain) if name.startswith("Is") else plain
    if plain == "LC":
        return _ranges(lambda each: (category(each) in ("Lu", "Ll", "Lt")) != negated)
    if _CATEGORY.fullmatch(plain) is None:
        raise re.error(
            f"the class {name} is not supported: there are categories such as L, Lu, N and P, and "
            f"{', '.join(_POSIX)}"
        )
    return _ranges(lambda each: category(each).startswith(plain) != negated)


def _ranges(belongs: Callable[[str], bool]) -> str:
    """The characters for which something is true."""
    found: list[str] = []
    start = -1
    for code in range(_LAST_CHARACTER + 2):
        inside = code <= _LAST_CHARACTER and belongs(chr(code))
        if inside and start < 0:
            start = code
        elif not inside and start >= 0:
            found.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = -1
    return "".join(found)


def re2_pattern(pattern: str) -> str | None:
    """The pattern for RE2, or None if RE2 would not mean the same."""
    if _NOT_IN_RE2.search(pattern) or "\\Q" in pattern:
        return None
    if "." in pattern:
        return _translated(pattern).replace(r"\Z", r"\z")
    return pattern


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
        quick = re2_pattern(pattern)
        if quick is not None:
            try:
                return pc.match_substring_regex(args[0], quick)
            except pa.ArrowInvalid:
                pass

    def matches(text: str, written: str) -> bool:
        return java_regex(written, "rlike").search(text) is not None

    return per_distinct(matches, _rows(args), BOOLEAN)


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

    return per_distinct(extract, _rows(args), STRING)


@kernel("regexp_replace", scalars=True)
def _regexp_replace(call: Call, args: Sequence[Value]) -> Array:
    pattern, replacement, position = constant_text(args[1]), constant_text(args[2]), args[3]
    plain = replacement is not None and not set(replacement) & set("\\$")
    at_start = is_scalar(position) and position.as_py() == 1
    if pattern is not None and plain and at_start and not is_scalar(args[0]):
        java_regex(pattern, "regexp_replace")
        quick = re2_pattern(pattern)
        empty = java_regex(pattern, "regexp_replace").search("") is not None
        if quick is not None and not empty:
            if args[0].nbytes * (len(replacement or "") + 1) > LONGEST_COLUMN:
                found = float(pc.sum(pc.count_substring_regex(args[0], quick)).as_py() or 0)
                size = args[0].nbytes + found * len((replacement or "").encode())
                check_texts(call.brief(), size)
            return pc.replace_substring_regex(args[0], quick, replacement)
    return per_distinct(_replaced, _rows(args), STRING)


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
    return text[:start] + regex.sub(build, text[start:])


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
    return per_distinct(_split_one, _rows(args), call.kind)


def _split_one(text: str, pattern: str, limit: int) -> list[str]:
    if text and not pattern:
        count = len(text) if limit <= 0 or limit > len(text) else limit
        return [*text[: count - 1], text[count - 1 :]]
    parts: list[str] = []
    index = 0
    for match in java_regex(pattern, "split").finditer(text):
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() == 0:  # nothing before an empty match at the start
            continue
        parts.append(text[index : match.start()])
        index = match.end()
    return [*parts, text[index:]]
