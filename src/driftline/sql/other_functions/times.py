"""Functions of dates and times, and intervals."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.dialect import parse_sql
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import PAIR, TRIPLE, called, put

_UNITS = (
    *("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR"),
    *("DAY", "MONTH", "QUARTER", "YEAR"),
)
_DATE_UNITS = ("MONTH", "QUARTER", "YEAR")


def _unit(node: exp.Expr) -> str:
    """A unit of time that is written as a name."""
    is_name = isinstance(node, exp.Var) or (isinstance(node, exp.Column) and not node.table)
    word = node.name.upper() if is_name else ""
    return "WEEK" if word == "ISOWEEK" else word if word in _UNITS else ""


def truncated(node: exp.Anonymous) -> exp.Expr | None:
    if len(node.expressions) != PAIR or not _unit(node.expressions[1]):
        return None
    if isinstance(node.expressions[0], exp.Literal):  # date_trunc('DAY', month)
        return None
    value, unit = node.expressions[0].copy(), _unit(node.expressions[1])
    if str(node.this).lower() != "date_trunc":
        return called("date_trunc", exp.Literal.string(unit), value)
    if unit in (*_DATE_UNITS, "WEEK"):
        return called("trunc", value, exp.Literal.string(unit))
    return called("to_date", value) if unit == "DAY" else None


def shifted(node: exp.Anonymous) -> exp.Expr | None:
    """timestamp_add(t, INTERVAL …) and its like."""
    if len(node.expressions) != PAIR or not isinstance(node.expressions[1], exp.Interval):
        return None
    kind = exp.Sub if str(node.this).lower().endswith("_sub") else exp.Add
    value, interval = (each.copy() for each in node.expressions)
    return exp.paren(kind(this=exp.paren(value), expression=interval))


def difference(node: exp.Anonymous) -> exp.Expr | None:
    """timestamp_diff(later, earlier, UNIT), and date_diff of days."""
    if len(node.expressions) != TRIPLE or not _unit(node.expressions[2]):
        return None
    if _unit(node.expressions[0]):  # date_diff(DAY, day, month)
        return None
    later, earlier, unit = (each.copy() for each in node.expressions)
    if str(node.this).lower() == "timestamp_diff":
        return called("timestampdiff", exp.Var(this=_unit(unit)), earlier, later)
    if _unit(unit) == "DAY":
        return called("datediff", later, earlier)
    raise refuse("a difference of dates in other units than DAY is timestampdiff(UNIT, a, b)", node)


def interval_of(node: exp.Expr) -> exp.Expr:
    """A text such as '5 minutes' as an INTERVAL."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        return node
    quoted = node.this.replace("'", "")
    return parse_sql(f"INTERVAL '{quoted}'")


def cast(node: exp.Cast) -> None:
    """'1 day'::interval."""
    is_text = isinstance(node.this, exp.Literal) and node.this.is_string
    if is_text and node.to.this == exp.DataType.Type.INTERVAL and not node.to.expressions:
        uses(node, "this", "to")
        put(node, interval_of(node.this))


def bucket(node: exp.Anonymous) -> exp.Expr | None:
    """date_bin(size, t, origin) and timestamp_bucket(t, size, origin)."""
    parts = [each.copy() for each in node.expressions]
    if len(parts) < PAIR:
        return None
    if str(node.this).lower() == "timestamp_bucket":
        parts[:2] = parts[1::-1]
    parts[0] = interval_of(parts[0])
    if len(parts) > PAIR and isinstance(parts[2], exp.Literal):
        parts[2] = exp.cast(parts[2], "TIMESTAMP")
    if str(node.this).lower() == "time_bucket" and parts == node.expressions:
        return None
    return called("time_bucket", *parts)


def refuse_zone(node: exp.AtTimeZone) -> None:
    raise refuse("AT TIME ZONE is written from_utc_timestamp(ts, 'zone') here", node)


_FIELDS = {"ISODOW": "DOW_ISO", "ISOWEEK": "WEEK", "ISOYEAR": "YEAROFWEEK"}


def extract(node: exp.Extract) -> None:
    field = node.this.name.upper() if isinstance(node.this, exp.Var) else ""
    if field in _FIELDS:
        node.this.set("this", _FIELDS[field])
    elif field == "DATE":
        uses(node, "this", "expression")
        put(node, called("to_date", node.expression.copy()))
    elif field == "EPOCH":
        uses(node, "this", "expression")
        put(node, _since_1970(node.expression))


def seconds(node: exp.Anonymous) -> exp.Expr | None:
    """epoch(t): seconds since 1970, with their parts."""
    return None if len(node.expressions) != 1 else _since_1970(node.expressions[0])


def _since_1970(value: exp.Expr) -> exp.Expr:
    micros = exp.cast(called("unix_micros", value.copy()), "DOUBLE")
    return exp.paren(exp.Div(this=micros, expression=exp.Literal.number(1_000_000)))


def frame(node: exp.WindowSpec) -> None:
    """RANGE '1 minute' PRECEDING."""
    for side in ("start", "end"):
        if node.args.get("kind") == "RANGE" and isinstance(node.args.get(side), exp.Literal):
            node.set(side, interval_of(node.args[side]))
