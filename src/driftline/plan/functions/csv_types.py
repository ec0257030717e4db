"""from_csv, to_csv and schema_of_csv, and the options that these and their likes for JSON take."""

from __future__ import annotations

from driftline.plan.csv_lines import Line, type_of_text
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    constant,
    register,
    wrong_argument,
)
from driftline.plan.types import (
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    is_nested,
    is_struct,
    type_name,
)

TIME_FORMATS = ("timestampFormat", "timestampNTZFormat", "dateFormat")
READING = (*TIME_FORMATS, "mode", "columnNameOfCorruptRecord")
"""Options of from_json and from_csv."""
_CSV = ("sep", "delimiter", "quote", "escape", "nullValue", "emptyValue")
_SPACES = ("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace")
MODES = ("PERMISSIVE", "FAILFAST")


def options(value: Expression, function: str, known: tuple[str, ...]) -> dict[str, str]:
    """The options that a constant map has, by their names in lower case."""
    parts = value.args if isinstance(value, Call) and value.function == "map" else ()
    if not parts or not all(
        isinstance(each, Literal) and isinstance(each.value, str) for each in parts
    ):
        raise ExpressionError(
            f"the options of {function} are constants, such as map('{known[0]}', '…')"
        )
    texts = [str(each.value) for each in parts if isinstance(each, Literal)]
    found = dict(zip(texts[::2], texts[1::2], strict=True))
    names = {name.lower() for name in known}
    for name in found:
        if name.lower() not in names:
            raise ExpressionError(
                f"{function} has no option {name} here: there are {', '.join(known)}"
            )
    lowered = {name.lower(): each for name, each in found.items()}
    mode = lowered.get("mode", MODES[0])
    if mode.upper() not in MODES:
        raise ExpressionError(f"the mode of {function} is {' or '.join(MODES)}, and not {mode}")
    return lowered


def check_separators(given: dict[str, str], function: str) -> None:
    """That there is something between the values of a line, and one character around them."""
    if "" in (given.get("sep", ","), given.get("delimiter", ",")):
        raise ExpressionError(f"{function}: something has to be between the values (sep)")
    for name in ("quote", "escape"):
        if len(given.get(name, "?")) != 1:
            raise ExpressionError(f"{function}: {name} is one character")


@register("from_csv", 2, 3)
def _from_csv(args: Arguments) -> Expression:
    from driftline.plan.functions.json_types import written_type

    text = argument(args[0], STRING, "from_csv", 1)
    written = constant(args[1], "the type of from_csv")
    kind = written_type(written) if isinstance(written, str) else VOID
    if not is_struct(kind):
        raise ExpressionError("the type of from_csv is a text, such as 'a INT, b STRING'")
    for field in kind:
        if is_nested(field.type) or field.type in (INTERVAL, INTERVAL_MONTHS, VOID):
            raise ExpressionError(f"from_csv does not read a {type_name(field.type)}")
    for each in args[2:]:
        given = options(each, "from_csv", ("sep", *READING, *_CSV[1:], *_SPACES))
        check_separators(given, "from_csv")
    return Call("from_csv", (text, Literal(written, STRING), *args[2:]), kind)


@register("to_csv", 1, 2)
def _to_csv(args: Arguments) -> Expression:
    if not is_struct(args[0].type):
        raise wrong_argument("to_csv", 1, "STRUCT", args[0])
    for field in args[0].type:
        if field.type in (INTERVAL, INTERVAL_MONTHS):
            raise ExpressionError("to_csv does not take intervals, which have no text")
    for each in args[1:]:
        given = options(each, "to_csv", (*_CSV, *TIME_FORMATS, "quoteAll", *_SPACES))
        check_separators(given, "to_csv")
    return Call("to_csv", args, STRING)


@register("schema_of_csv", 1, 2)
def _schema_of_csv(args: Arguments) -> Expression:
    text = constant(argument(args[0], STRING, "schema_of_csv", 1), "the text of schema_of_csv")
    if not text:
        raise ExpressionError("schema_of_csv takes a line of CSV that is not empty")
    given: dict[str, str] = {}
    for each in args[1:]:
        given = options(each, "schema_of_csv", _CSV)
        check_separators(given, "schema_of_csv")
    kinds = (f"_c{place}: {type_of_text(each)}" for place, each in enumerate(Line(given).cut(text)))
    return Literal(f"STRUCT<{', '.join(kinds)}>", STRING)
