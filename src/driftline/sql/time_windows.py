"""Spark's windows: GROUP BY window(ts, '10 minutes', '5 minutes'), session_window(ts, '5 minutes').

A call adds the columns window_start and window_end to the rows of its SELECT, as HOP and SESSION
do, and stands for the struct of both; so does the name `window` (or `session_window`), where the
rows have no column of that name. Grouping by it is grouping by the two columns, so a group is
dropped when its window is over.

    window(ts, size)                   the window of a row, from a multiple of its size on
    window(ts, size, slide, start)     its windows, which begin a number of slides after `start`
    session_window(ts, gap)            its session among the rows with the same other keys

Sessions by the time of the stream are those of SESSION(…). Those by another column, or with a gap
that differs from row to row, are found with window functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.dialect import parse_sql
from driftline.plan.durations import ticks
from driftline.plan.expressions import Call, Case, Column, Expression, Literal
from driftline.plan.facts import Facts
from driftline.plan.functions import FUNCTIONS, aggregate
from driftline.plan.functions.base import cast_to
from driftline.plan.functions.operators import compare, logical
from driftline.plan.nodes import Frame, OrderItem, OverColumn
from driftline.plan.types import (
    DATE,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_integer,
    is_struct,
    is_timestamp,
    type_name,
)
from driftline.plan.used import uses_all
from driftline.sql.errors import at, refuse
from driftline.sql.grouping_sets import grouping_sets
from driftline.sql.query_parts import is_aggregate
from driftline.sql.scope import Scope, walked
from driftline.sql.syntax import Duration
from driftline.sql.windows import duration

WINDOW, SESSION = "window", "session_window"
_START, _END, _UNTIL = "window_start", "window_end", "$until"
_CLAUSES = ("group", "having", "order", "qualify", "windows")
_MOST = {WINDOW: 4, SESSION: 2}


@dataclass(frozen=True)
class TimeWindow:
    """The window of a SELECT: the rows with it, and what it is in expressions."""

    scope: Scope
    start: Expression
    end: Expression
    value: Expression


def is_time_window(node: exp.Expr) -> bool:
    """Whether it is a call of window(…) or session_window(…)."""
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _MOST


def time_window(select: exp.Select, scope: Scope) -> TimeWindow | None:
    """The window that a SELECT asks for, whose expressions are changed in place."""
    calls = [part for each in _parts(select) for part in walked(each) if is_time_window(part)]
    if not calls:
        return None
    first = calls[0]
    for other in calls[1:]:
        if other != first:
            raise refuse("one window(…) or session_window(…) in a SELECT: use a subquery", other)
    name = str(first.this).lower()
    clash = next((each for each in (_START, _END) if scope.schema.find(each)), None)
    if clash is not None:
        raise refuse(f"{name}(…) needs the name {clash}, and there is such a column", first)
    if not 2 <= len(first.expressions) <= _MOST[name]:  # noqa: PLR2004 - a time and a duration
        raise refuse(f"{name} takes a time and 1 to {_MOST[name] - 1} durations", first)
    with at(first):
        time = _time(scope, first, name)
        if name == SESSION:
            plan, start = _sessions(scope, select, first, time), 0
        else:
            plan, start = _hops(scope, first, time)
    for call in calls:
        uses_all(call)
    width = len(scope.schema)
    hidden = scope.hidden | frozenset(plan.schema.names[width:])
    scope = Scope(plan, scope.merged, hidden)
    written = _written(name, plan, start)
    _replace(select, scope, name, written)
    resolved = [scope.resolve(part) for part in (written["start"], written["end"], written[""])]
    return TimeWindow(scope, *resolved)


def _parts(select: exp.Select) -> list[exp.Expr]:
    """The parts of a SELECT in which a window has a meaning."""
    found = list(select.expressions)
    for clause in _CLAUSES:
        given = select.args.get(clause)
        if given:
            found += given if isinstance(given, list) else [given]
    return found


def _time(scope: Scope, call: exp.Expr, name: str) -> Expression:
    """When a row is: the first argument, or of a window the last moment in it."""
    value = scope.resolve(call.expressions[0])
    if is_struct(value.type) and {"start", "end"} <= {each.name for each in value.type}:
        return FUNCTIONS["window_time"]((value,))
    if value.type in (STRING, DATE):
        value = cast_to(value, TIMESTAMP)
    if not is_timestamp(value.type) and not is_integer(value.type):
        raise refuse(
            f"{name} goes by a TIMESTAMP, which {value.brief()} is not: it is a "
            f"{type_name(value.type)}",
            call.expressions[0],
        )
    return value


def _hops(scope: Scope, call: exp.Expr, time: Expression) -> tuple[nodes.Node, int]:
    """The rows with their windows, and when the first of all windows begins."""
    stamps = is_timestamp(time.type)
    size, *more = (_length(each, stamps) for each in call.expressions[1:])
    slide, start = more[0] if more else size, more[1] if more[1:] else 0
    if size == 0 or slide == 0:
        raise refuse("a window needs a slide and a size of at least one tick", call)
    if slide > size:
        raise refuse("the slide of window(…) is at most its size", call.expressions[2])
    if abs(start) >= slide:
        raise refuse("the start of window(…) is less than its slide", call.expressions[3])
    if start:
        kind = INTERVAL if stamps else time.type
        function = "subtract_interval" if stamps else "subtract"
        time = Call(function, (time, Literal(start, kind)), time.type)
    return nodes.WindowColumns(scope.plan, slide, size, time), start


def _length(node: exp.Expr, stamps: bool) -> int:
    """A duration, also as Spark has it: '10 minutes'."""
    if isinstance(node, exp.Literal) and node.is_string:
        text = node.this.strip()
        with at(node):
            if text.startswith("-"):  # the start of windows may be before 1970
                return -duration(Duration(this=text[1:]), stamps)
            return duration(Duration(this=text), stamps)
    return duration(node, stamps)


# Sessions


def _sessions(scope: Scope, select: exp.Select, call: exp.Expr, time: Expression) -> nodes.Node:
    keys = tuple(_session_keys(scope, select, call))
    plan, stamps = scope.plan, is_timestamp(time.type)
    gap = call.expressions[1]
    fixed = gap.find(exp.Column) is None
    if fixed and Facts(plan.sources()).value_after_vs(plan, time) == 0:
        length = _length(gap, stamps)
        if length == 0:
            raise refuse("a session needs a gap of at least one tick", gap)
        return nodes.SessionColumns(plan, keys, length)
    lasts: Expression
    if fixed:
        lasts = Literal(_length(gap, stamps), INTERVAL if stamps else time.type)
    else:
        lasts = _interval(scope.resolve(gap), gap)
    end = Call("add_interval" if stamps else "add", (time, lasts), time.type)
    return _found_sessions(nodes.Select(plan, compare("greater", end, time)), keys, time, end)


def _interval(value: Expression, node: exp.Expr) -> Expression:
    """A gap that differs from row to row: an INTERVAL, or texts that a CASE chooses from."""
    if isinstance(value, Literal) and value.value is None:
        return Literal(None, INTERVAL)
    if isinstance(value, Literal) and value.type == STRING:
        return Literal(ticks(value.value, timestamps=True), INTERVAL)
    if isinstance(value, Case):
        branches = tuple((when, _interval(then, node)) for when, then in value.branches)
        return Case(branches, _interval(value.otherwise, node), INTERVAL)
    if value.type == INTERVAL or is_integer(value.type):
        return value
    raise refuse("the gap of a session is an INTERVAL, or a CASE of constants '5 minutes'", node)


def _found_sessions(
    plan: nodes.Node, keys: tuple[Expression, ...], time: Expression, end: Expression
) -> nodes.Node:
    """The rows in the order of their time: one that comes after the end of all before it is the
    first of a session."""
    order = (OrderItem(time),)
    until = OverColumn(_UNTIL, aggregate("max", (end,)), Frame("rows", None, -1))
    plan = nodes.Over(plan, keys, order, (until,))
    before = Column(_UNTIL, time.type)
    first = logical("or", FUNCTIONS["isnull"]((before,)), compare("greater", time, before))
    start = FUNCTIONS["if"]((first, time, Literal(None, time.type)))
    begins = OverColumn(_START, aggregate("max", (start,)), Frame("rows", None, 0))
    plan = nodes.Over(plan, keys, order, (begins,))
    ends = OverColumn(_END, aggregate("max", (end,)), Frame("range", None, None))
    return nodes.Over(plan, (*keys, Column(_START, time.type)), (), (ends,))


def _session_keys(scope: Scope, select: exp.Select, call: exp.Expr) -> list[Expression]:
    """The other keys of GROUP BY."""
    group = select.args.get("group")
    if group is None:
        raise refuse("session_window(…) goes with GROUP BY", call)
    listed = select.expressions
    written = {each.alias.lower(): each.this for each in listed if isinstance(each, exp.Alias)}
    items = group.expressions
    if group.args.get("all"):
        items = [each.unalias() for each in listed if not is_aggregate(each)]
    elif grouping_sets(group) is not None:
        raise refuse("session_window(…) goes with plain keys, and not with grouping sets", call)
    keys = []
    for item in items:
        key = item
        if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(listed):
            key = listed[int(key.this) - 1].unalias()
        elif isinstance(key, exp.Column) and not scope.has(key):
            key = written.get(key.name.lower(), key)
        if key == call or _is_name(key, SESSION, scope):
            continue
        keys.append(scope.resolve(key))
    return keys


# What stands in the place of a window


def _written(name: str, plan: nodes.Node, start: int) -> dict[str, exp.Expr]:
    """How the start, the end and the window are written, over the rows with their columns."""
    shift = ""
    if start:
        stamps = is_timestamp(plan.schema.fields[-1].type)
        shift = f" + INTERVAL '{start / 1_000_000:.6f}' SECOND" if stamps else f" + {start}L"
    start_text, end_text = f"{_START}{shift}", f"{_END}{shift}"
    return {
        "start": parse_sql(f"({start_text})" if shift else start_text),
        "end": parse_sql(f"({end_text})" if shift else end_text),
        "": parse_sql(f"named_struct('start', {start_text}, 'end', {end_text})"),
    }


def _is_name(node: exp.Expr, name: str, scope: Scope) -> bool:
    """Whether it is `window`, or a field of it, and no column of the rows."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    return node.parts[0].name.lower() == name and not scope.has(node)


def _replace(select: exp.Select, scope: Scope, name: str, written: dict[str, exp.Expr]) -> None:
    def meaning(node: exp.Expr) -> tuple[str, exp.Expr] | None:
        """The name of the column that it is, and how that is written."""
        if is_time_window(node):
            return name, written[""]
        if not isinstance(node, exp.Column) or not _is_name(node, name, scope):
            return None
        path = [part.name.lower() for part in node.parts[1:]]
        if path and (len(path) > 1 or path[0] not in written):
            raise refuse(f"{name} has the fields start and end, and no {'.'.join(path)}", node)
        return (path[0], written[path[0]]) if path else (name, written[""])

    def changed(node: exp.Expr) -> exp.Expr:
        found = [(part, meaning(part)) for part in walked(node)]
        for part, what in found:
            if what is None:
                continue
            uses_all(part)
            new = what[1].copy()
            for each in new.walk():
                each.meta.update(
                    {
                        key: part.meta[key]
                        for key in ("line", "col", "start", "end")
                        if key in part.meta
                    }
                )
            if part is node:
                return new
            part.replace(new)
        return node

    def item(node: exp.Expr) -> exp.Expr:
        whole = meaning(node)
        new = changed(node)
        if whole is None:
            return new
        return exp.alias_(new, whole[0], quoted=True)

    select.set("expressions", [item(each) for each in select.expressions])
    for clause in _CLAUSES:
        given = select.args.get(clause)
        for each in given if isinstance(given, list) else [given] if given else []:
            changed(each)
