"""Windows of GROUP BY, and window_time of windows as columns."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.other_functions.syntax import PAIR, called, put
from driftline.sql.syntax import WindowTable

_WINDOWS = {"tumble": "window", "hop": "window", "session": "session_window"}
_PARTS = ("_start", "_end", "_rowtime")


def group_windows(select: exp.Select) -> None:
    """GROUP BY TUMBLE(t, d), HOP(t, slide, size) and SESSION(t, gap), as Flink had them, and what
    the select list says of these windows."""
    group = select.args.get("group")
    calls = [
        each
        for each in (group.expressions if group is not None else ())
        if isinstance(each, exp.Anonymous) and str(each.this).lower() in _WINDOWS
    ]
    if len(calls) != 1:
        return
    kind = str(calls[0].this).lower()
    arguments = [each.copy() for each in calls[0].expressions]
    if kind == "hop" and len(arguments) > PAIR:
        arguments[1:3] = arguments[2:0:-1]
    named = _WINDOWS[kind]
    for call in list(select.find_all(exp.Anonymous)):
        name = str(call.this).lower()
        part = name.removeprefix(kind)
        if call.parent_select is not select or not name.startswith(kind) or part not in _PARTS:
            continue
        uses(call, "this", "expressions")
        if call.expressions != calls[0].expressions:
            raise refuse(f"{name} takes the arguments that {kind} has in GROUP BY", call)
        field: exp.Expr = exp.column("start" if part == "_start" else "end", named)
        if part == "_rowtime":
            field = exp.paren(_before_end(field))
        put(call, field)
    uses(calls[0], "this", "expressions")
    put(calls[0], called(named, *arguments))


def add_window_time(select: exp.Select) -> None:
    """Writes out window_time, which TUMBLE and its like have in Flink beside window_end."""
    source = select.args.get("from_")
    tables = [source, *(select.args.get("joins") or ())]
    if not any(each is not None and _is_window_table(each.this) for each in tables):
        return
    for column in list(select.find_all(exp.Column)):
        if column.name.lower() != "window_time" or column.parent_select is not select:
            continue
        end = column.copy()
        end.set("this", exp.to_identifier("window_end"))
        value: exp.Expr = exp.paren(_before_end(end))
        if column.parent is select:
            value = exp.alias_(value, "window_time")
        put(column, value)


def _is_window_table(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) and isinstance(node.this, WindowTable)


def _before_end(end: exp.Expr) -> exp.Expr:
    """The last moment of a window, as Flink counts it."""
    one = exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MILLISECOND"))
    return exp.Sub(this=end, expression=one)
