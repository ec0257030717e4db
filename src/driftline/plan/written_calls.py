"""How operators and functions are written in SQL, by their canonical names."""

from __future__ import annotations

OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "remainder": "%",
    "integral_divide": "DIV",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "null_safe_equal": "<=>",
    "and": "AND",
    "or": "OR",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shiftleft": "<<",
    "shiftright": ">>",
    "rlike": "RLIKE",
    # Dates and times: the same signs, other operations.
    "add_interval": "+",
    "subtract_interval": "-",
    "add_months_interval": "+",
    "subtract_months_interval": "-",
    "subtract_dates": "-",
    "subtract_timestamps": "-",
    "add_to_time": "+",
    "subtract_to_time": "-",
    "subtract_times": "-",
    "multiply_interval": "*",
    "divide_interval": "/",
}
"""The canonical names that SQL writes between their two operands."""

_TEMPLATES = {
    "not": "(NOT {0})",
    "negate": "(- {0})",
    "bitwise_not": "(~ {0})",
    "is_null": "({0} IS NULL)",
    "like": "({0} LIKE {1} ESCAPE {2})",
    "ilike": "({0} ILIKE {1} ESCAPE {2})",
    "get_item": "{0}[{1}]",
    "trim": "TRIM(BOTH {1} FROM {0})",
    "ltrim": "TRIM(LEADING {1} FROM {0})",
    "rtrim": "TRIM(TRAILING {1} FROM {0})",
    "array_sort_by": "array_sort({0}, {1})",
    "round_ceil": "ceil({0}, {1})",
    "round_floor": "floor({0}, {1})",
    "try_remainder": "try_mod({0}, {1})",
    "second_fraction": "EXTRACT(SECOND FROM {0})",
    "dayofweek_iso": "EXTRACT(DAYOFWEEK_ISO FROM {0})",
    "yearofweek": "EXTRACT(YEAROFWEEK FROM {0})",
    "of_months": "make_ym_interval(0, {0})",
    "time_as_moment": "{0}",
    "time_format": "date_format({0}, {1})",
    "moment_of": "make_timestamp({0}, {1})",
    "moment_of_ntz": "make_timestamp_ntz({0}, {1})",
    "interval_day": "EXTRACT(DAY FROM {0})",
    "interval_hour": "EXTRACT(HOUR FROM {0})",
    "interval_minute": "EXTRACT(MINUTE FROM {0})",
    "interval_second": "EXTRACT(SECOND FROM {0})",
}
"""The canonical names that SQL writes in a form of their own."""

_WITH_UNIT = ("timestampadd", "timestampdiff")


def call_text(function: str, texts: list[str], *, of_literal: bool) -> str:
    """An operator with its operands in brackets, or a call; `of_literal`: the first operand is a
    constant.

    >>> call_text("add", ["a", "1"], of_literal=False)
    '(a + 1)'
    """
    if function in OPERATORS:
        return f"({texts[0]} {OPERATORS[function]} {texts[1]})"
    if function == "negate" and of_literal:
        return f"negative({texts[0]})"  # a sign before a number would be part of it
    if function in _TEMPLATES:
        return _TEMPLATES[function].format(*texts)
    if function == "in":
        return f"({texts[0]} IN ({', '.join(texts[1:])}))"
    if function in _WITH_UNIT:
        texts = [texts[0].strip("'"), *texts[1:]]
    name = function
    if name.startswith("try_") and name[4:] in OPERATORS:
        sign = OPERATORS[name[4:]]
        name = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}.get(sign, "try_divide")
    return f"{name}({', '.join(texts)})"
