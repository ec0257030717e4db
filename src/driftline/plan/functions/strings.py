"""Functions of texts and their types."""

from __future__ import annotations

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Case, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    constant,
    define,
    register,
    same_type,
    wrong_argument,
)
from driftline.plan.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    VOID,
    is_array,
    is_numeric,
    type_name,
)

for _name in ("upper ucase", "lower lcase", "initcap"):
    define(_name, [STRING], STRING)
define("ascii", [STRING], INT)
define("repeat", [STRING, INT], STRING)
define("instr", [STRING, STRING, INT, INT], INT, optional=2)
define("split_part", [STRING, STRING, INT], STRING)
for _name in ("startswith", "endswith", "contains"):
    define(_name, [STRING, STRING], BOOLEAN)
define("rlike regexp regexp_like", [STRING, STRING], BOOLEAN)
define("translate", [STRING, STRING, STRING], STRING)
define("space", [INT], STRING)
define("quote", [STRING], STRING)
define("parse_url", [STRING, STRING, STRING], STRING, optional=1)
define("try_parse_url", [STRING, STRING, STRING], STRING, optional=1)
define("jaro_winkler_similarity", [STRING, STRING], DOUBLE)


_COLLATION = "UTF8_BINARY"


@register("collation", 1, 1)
def _collation(args: Arguments) -> Expression:
    if args[0].type not in (STRING, VOID):
        raise wrong_argument("collation", 1, "STRING", args[0])
    return Literal(f"SYSTEM.BUILTIN.{_COLLATION}", STRING)


@register("collate", 2, 2)
def _collate(args: Arguments) -> Expression:
    name = constant(args[1], "the collation of collate")
    if not isinstance(name, str) or name.upper() != _COLLATION:
        raise ExpressionError(f"there is one collation, {_COLLATION}, and no {name}")
    return argument(args[0], STRING, "collate", 1)


@register("levenshtein", 2, 3)
def _levenshtein(args: Arguments) -> Expression:
    texts = tuple(argument(arg, STRING, "levenshtein", i) for i, arg in enumerate(args[:2], 1))
    distance = Call("levenshtein", texts, INT)
    if len(args) == 2:  # noqa: PLR2004 - no threshold
        return distance
    most = argument(args[2], INT, "levenshtein", 3)
    near = Call("less_equal", (distance, most), BOOLEAN)
    far = Call("less", (most, distance), BOOLEAN)
    return Case(((near, distance), (far, Literal(-1, INT))), Literal(None, INT), INT)


def _like_function(name: str) -> None:
    @register(name, 2, 3)
    def build(args: Arguments) -> Expression:
        escape = constant(args[2], "the escape of LIKE") if args[2:] else "\\"
        return like(name, args[0], args[1], str(escape))


_like_function("like")
_like_function("ilike")


define("get_json_object", [STRING, STRING], STRING)
define("$json_field", [STRING, STRING], STRING)


def _of_session(name: str, value: str) -> None:
    """What is the same in every session here: the zone is UTC, and names have one part."""

    @register(name, 0, 0)
    def build(args: Arguments) -> Expression:
        return Literal(value, STRING)


_of_session("current_timezone", "UTC")
_of_session("current_catalog", "spark_catalog")
_of_session("current_database", "default")
_of_session("current_schema", "default")


@register("format_number", 2, 2)
def _format_number(args: Arguments) -> Expression:
    if args[0].type == VOID:
        return Literal(None, STRING)
    if not is_numeric(args[0].type):
        raise wrong_argument("format_number", 1, "number", args[0])
    if args[1].type == STRING:
        return Call("format_number", args, STRING)
    return Call("format_number", (args[0], argument(args[1], INT, "format_number", 2)), STRING)


def _with_defaults(
    names: str, kinds: list[object], defaults: list[Literal], result: object
) -> None:
    """A function whose last arguments have defaults, which are written out in the call."""
    canonical = names.split(maxsplit=1)[0]

    @register(names, len(kinds) - len(defaults), len(kinds))
    def build(args: Arguments) -> Expression:
        missing = len(kinds) - len(args)
        filled = (*args, *defaults[len(defaults) - missing :])
        typed = tuple(
            argument(arg, kind, canonical, place)
            for place, (arg, kind) in enumerate(zip(filled, kinds, strict=True), start=1)
        )
        return Call(canonical, typed, result)


_SPACE, _EMPTY = Literal(" ", STRING), Literal("", STRING)
_ZERO = Literal(b"\0", BINARY)
_ONE, _NO_LIMIT = Literal(1, INT), Literal(-1, INT)


def _pad(name: str) -> None:
    @register(name, 2, 3)
    def build(args: Arguments) -> Expression:
        of_bytes = all(arg.type == BINARY for arg in (args[0], *args[2:]))
        kind = BINARY if of_bytes else STRING
        filling = args[2] if len(args) > 2 else _ZERO if of_bytes else _SPACE  # noqa: PLR2004
        kinds = enumerate(((args[0], kind), (args[1], INT), (filling, kind)), start=1)
        return Call(name, tuple(argument(arg, of, name, place) for place, (arg, of) in kinds), kind)


_pad("lpad")
_pad("rpad")
_with_defaults("replace", [STRING, STRING, STRING], [_EMPTY], STRING)
_with_defaults("locate position", [STRING, STRING, INT], [_ONE], INT)
_with_defaults("split", [STRING, STRING, INT], [_NO_LIMIT], pa.list_(STRING))
_with_defaults("regexp_extract", [STRING, STRING, INT], [_ONE], STRING)
_with_defaults("regexp_replace", [STRING, STRING, STRING, INT], [_ONE], STRING)
_with_defaults("sentences", [STRING] * 3, [_EMPTY, _EMPTY], pa.list_(pa.list_(STRING)))
define("chr char", [pa.int64()], STRING)
define("substring_index", [STRING, STRING, INT], STRING)
define("find_in_set", [STRING, STRING], INT)
define("regexp_count", [STRING, STRING], INT)
define("regexp_substr", [STRING, STRING], STRING)
_with_defaults("regexp_instr", [STRING, STRING, INT], [Literal(0, INT)], INT)
_with_defaults("regexp_extract_all", [STRING, STRING, INT], [_ONE], pa.list_(STRING))


@register("overlay", 3, 4)
def _overlay(args: Arguments) -> Expression:
    """One text over a part of another; or bytes over bytes."""
    kind = BINARY if BINARY in (args[0].type, args[1].type) else STRING
    for place, each in enumerate(args[:2], start=1):
        if kind == BINARY and each.type not in (BINARY, VOID):
            raise wrong_argument("overlay", place, "BINARY", each)
    wanted = (kind, kind, INT, INT)
    filled = (*args, _NO_LIMIT)[: len(wanted)]
    typed = tuple(
        argument(arg, each, "overlay", place)
        for place, (arg, each) in enumerate(zip(filled, wanted, strict=True), start=1)
    )
    return Call("overlay", typed, kind)


@register("mask", 1, 5)
def _mask(args: Arguments) -> Expression:
    """The text with other characters: X for capitals, x for small letters, n for digits."""
    defaults = (*(Literal(each, STRING) for each in "Xxn"), Literal(None, STRING))
    given = (*args, *defaults[len(args) - 1 :])
    for each in given[1:]:
        by = constant(each, "a character of mask")
        if by is not None and len(str(by)) != 1:
            raise ExpressionError(f"mask takes one character for each kind, not {by!r}")
    typed = tuple(argument(arg, STRING, "mask", place) for place, arg in enumerate(given, 1))
    return Call("mask", typed, STRING)


@register("elt", 2, None)
def _elt(args: Arguments) -> Expression:
    place = argument(args[0], INT, "elt", 1)
    typed = (argument(arg, STRING, "elt", at) for at, arg in enumerate(args[1:], 2))
    return Call("elt", (place, *typed), STRING)


@register("format_string printf", 1, None)
def _format_string(args: Arguments) -> Expression:
    for place, each in enumerate(args[1:], 2):
        if not (is_numeric(each.type) or each.type in (STRING, BOOLEAN, VOID)):
            raise wrong_argument("format_string", place, "number, STRING or BOOLEAN", each)
    return Call("format_string", (argument(args[0], STRING, "format_string", 1), *args[1:]), STRING)


def trim(name: str, text: Expression, characters: Expression | None) -> Expression:
    """`name` is trim, ltrim or rtrim."""
    removed = _SPACE if characters is None else argument(characters, STRING, name, 2)
    return Call(name, (argument(text, STRING, name, 1), removed), STRING)


def _trims(name: str) -> None:
    @register(name, 1, 2)
    def build(args: Arguments) -> Expression:
        # The characters come first, as in TRIM(characters FROM text).
        return trim(name, args[-1], args[0] if len(args) > 1 else None)


_trims("trim")
_trims("ltrim")
_trims("rtrim")


@register("btrim", 1, 2)
def _btrim(args: Arguments) -> Expression:
    return trim("trim", args[0], args[1] if len(args) > 1 else None)


@register("length char_length character_length len", 1, 1)
def _length(args: Arguments) -> Expression:
    value = args[0] if args[0].type == BINARY else argument(args[0], STRING, "length", 1)
    return Call("length", (value,), INT)


@register("octet_length", 1, 1)
def _octet_length(args: Arguments) -> Expression:
    value = args[0] if args[0].type == BINARY else argument(args[0], STRING, "octet_length", 1)
    return Call("octet_length", (value,), INT)


@register("bit_length", 1, 1)
def _bit_length(args: Arguments) -> Expression:
    value = args[0] if args[0].type == BINARY else argument(args[0], STRING, "bit_length", 1)
    return Call("bit_length", (value,), INT)


@register("substring substr", 2, 3)
def _substring(args: Arguments) -> Expression:
    value = args[0] if args[0].type == BINARY else argument(args[0], STRING, "substring", 1)
    start = argument(args[1], INT, "substring", 2)
    length = args[2] if len(args) > 2 else Literal(2**31 - 1, INT)  # noqa: PLR2004 - the third
    length = argument(length, INT, "substring", 3)
    return Call("substring", (value, start, length), value.type)


def _end(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        value = args[0] if args[0].type == BINARY else argument(args[0], STRING, name, 1)
        return Call(name, (value, argument(args[1], INT, name, 2)), value.type)


_end("left")
_end("right")


@register("reverse", 1, 1)
def _reverse(args: Arguments) -> Expression:
    kept = is_array(args[0].type) or args[0].type == BINARY
    value = args[0] if kept else argument(args[0], STRING, "reverse", 1)
    return Call("reverse", (value,), value.type)


@register("concat", 0, None)
def concat(args: Arguments) -> Expression:
    """Texts one after the other, or arrays, or bytes; null if any of them is."""
    if not args:
        return Literal("", STRING)
    if any(is_array(arg.type) for arg in args):
        typed = same_type(args, "concat")
    elif all(arg.type == BINARY for arg in args):
        typed = args
    else:
        typed = tuple(argument(arg, STRING, "concat", place) for place, arg in enumerate(args, 1))
    return Call("concat", typed, typed[0].type)


@register("concat_ws", 1, None)
def _concat_ws(args: Arguments) -> Expression:
    typed = [argument(args[0], STRING, "concat_ws", 1)]
    for place, arg in enumerate(args[1:], start=2):
        wanted = pa.list_(STRING) if is_array(arg.type) else STRING
        typed.append(argument(arg, wanted, "concat_ws", place))
    return Call("concat_ws", tuple(typed), STRING)


def like(name: str, text: Expression, pattern: Expression, escape: str = "\\") -> Expression:
    """`text LIKE pattern ESCAPE escape`; `name` is like or ilike."""
    if len(escape) != 1:
        raise ExpressionError(f"ESCAPE takes one character, not {escape!r}")
    shown = name.upper()
    typed = (argument(text, STRING, shown, 1), argument(pattern, STRING, shown, 2))
    return Call(name, (*typed, Literal(escape, STRING)), BOOLEAN)


def _hash(name: str) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        return Call(name, (_bytes(args[0], name),), STRING)


_hash("md5")
_hash("sha1")
_hash("sha")


@register("sha2", 2, 2)
def _sha2(args: Arguments) -> Expression:
    return Call("sha2", (_bytes(args[0], "sha2"), argument(args[1], INT, "sha2", 2)), STRING)


def _bytes(value: Expression, name: str) -> Expression:
    if value.type not in (STRING, BINARY, VOID):
        raise ExpressionError(
            f"{name} takes BINARY or STRING: {value.brief()} has the type {type_name(value.type)}"
        )
    return argument(value, BINARY, name, 1)
