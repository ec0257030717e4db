"""Formats of times as other engines write them, as the patterns of date_format and to_timestamp.

to_char(t, 'YYYY-MM-DD HH24:MI')            date_format(t, 'yyyy-MM-dd HH:mm')
to_timestamp(x, 'YYYY-MM-DD')               to_timestamp(x, 'yyyy-MM-dd')
format_timestamp('%Y-%m', t), strftime(t, '%Y-%m')    date_format(t, 'yyyy-MM')
parse_date('%F', x), strptime(x, '%F')                to_date(x, 'yyyy-MM-dd'), to_timestamp(…)
"""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import PAIR, called

_POSTGRES = {
    "YYYY": "yyyy", "YY": "yy", "MM": "MM", "DDD": "DDD", "DD": "dd", "HH24": "HH", "HH12": "hh",
    "HH": "hh", "MI": "mm", "SS": "ss", "MS": "SSS", "US": "SSSSSS", "AM": "a", "PM": "a",
}  # fmt: skip
"""Parts of a format of Postgres, which are the same in upper and lower case."""
_PERCENT = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "j": "DDD", "H": "HH", "I": "hh", "M": "mm",
    "S": "ss", "p": "a", "b": "MMM", "B": "MMMM", "a": "EEE", "A": "EEEE", "f": "SSSSSS",
    "F": "yyyy-MM-dd", "T": "HH:mm:ss", "R": "HH:mm",
}  # fmt: skip
"""Parts of a format of C, after a %."""
_IS_POSTGRES = re.compile(r"Y|HH24|HH12|MI")
"""What no pattern of Spark has, or nobody means."""
_PARTS = re.compile(
    rf'({"|".join(sorted(_POSTGRES, key=len, reverse=True))})|"([^"]*)"|([A-Za-z]+)|([^A-Za-z"]+)',
    re.IGNORECASE,
)


def by_letters(node: exp.Anonymous) -> exp.Expr | None:
    """to_char, to_timestamp and to_date with a format of Postgres."""
    if len(node.expressions) != PAIR:
        return None
    value, given = node.expressions
    if not isinstance(given, exp.Literal) or not given.is_string:
        return None
    if not _IS_POSTGRES.search(given.this):
        return None
    pattern = ""
    for known, quoted, unknown, between in _PARTS.findall(given.this):
        if unknown:
            raise refuse(f"{unknown} in {given.this!r} is not a part of a time here", given)
        pattern += _POSTGRES[known.upper()] if known else _plain(quoted) if quoted else between
    name = str(node.this).lower()
    name = "date_format" if name in ("to_char", "to_varchar") else name
    return called(name, value.copy(), exp.Literal.string(pattern))


def by_percent(node: exp.Anonymous) -> exp.Expr | None:
    """format_timestamp and its like, strftime and strptime."""
    if len(node.expressions) != PAIR:
        return None
    name = str(node.this).lower()
    given, value = node.expressions
    if name.startswith("str"):  # the value comes first
        given, value = value, given
    if not isinstance(given, exp.Literal) or not given.is_string:
        raise refuse(f"the format of {name} is a text, such as '%Y-%m-%d'", node)
    pattern = ""
    for part, plain in re.findall(r"%(.?)|([^%]+)", given.this):
        if not plain and part not in _PERCENT and part != "%":
            raise refuse(f"%{part} in {given.this!r} is not a part of a time here", given)
        pattern += _plain(plain or "%") if plain or part == "%" else _PERCENT[part]
    reads = "to_date" if name == "parse_date" else "to_timestamp"
    is_read = name.startswith("parse") or name == "strptime"
    return called(reads if is_read else "date_format", value.copy(), exp.Literal.string(pattern))


def _plain(text: str) -> str:
    """A text that stands in a pattern as it is."""
    return re.sub(
        r"[A-Za-z'\[\]{}#]+", lambda found: f"'{found[0].replace(chr(39), chr(39) * 2)}'", text
    )
