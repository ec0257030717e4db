"""Windows: brackets after a table, and TUMBLE(…), HOP(…), CUMULATE(…) and SESSION(…)."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.durations import ticks
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.facts import Facts
from driftline.plan.resolver import resolve
from driftline.plan.types import BIGINT, INTERVAL, INTERVAL_MONTHS, Schema, is_integer, is_timestamp
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.scope import column_of
from driftline.sql.syntax import Bracket, Duration, WindowTable

EMPTY = "a window lasts at least one tick: in one of 0 no row would live"
_LENGTHS = {
    "TUMBLE": ["a size"],
    "HOP": ["a slide", "a size"],
    "CUMULATE": ["a step", "a size"],
}
LIFETIME = Schema.of({"vs": BIGINT, "ve": BIGINT})
"""What the expressions of [FROM e FOR d] are about."""


def window(plan: nodes.Node, bracket: Bracket) -> nodes.Node:
    """The lifetimes that a bracket gives to the rows of a plan."""
    uses(bracket, "form", "size", "slide", "start", "duration", "most", "keys", "other", "on")
    stamps = plan.timestamps
    match bracket.args["form"]:
        case "now":
            return nodes.Window(plan, "now")
        case "unbounded":
            return nodes.Window(plan, "unbounded")
        case "stitch":
            return nodes.Stitch(plan)
        case "session":
            return _session(plan, bracket)
        case "from":
            start, lasts = (_time(bracket.args[key], stamps) for key in ("start", "duration"))
            if isinstance(lasts, Literal) and (lasts.value is None or lasts.value <= 0):
                raise refuse(EMPTY, bracket.args["duration"])
            return nodes.Window(plan, "general", start=start, duration=lasts)
    size = duration(bracket.args["size"], stamps)
    if size == 0:
        raise refuse(EMPTY, bracket.args["size"])
    slide = bracket.args.get("slide")
    if slide is None:
        return nodes.Window(plan, "sliding", size)
    step = duration(slide, stamps)
    if step == 0:
        raise refuse("a hopping window needs a slide of at least one tick", slide)
    return nodes.Window(plan, "hopping", size, step)


def window_columns(plan: nodes.Node, node: WindowTable) -> nodes.Node:
    """The rows of a plan with the columns window_start and window_end."""
    name, durations = node.args["name"], node.expressions
    if name == "SESSION":
        return _session_columns(plan, node)
    wanted = _LENGTHS[name]
    durations, moved = durations[: len(wanted)], durations[len(wanted) :]
    if len(durations) != len(wanted) or len(moved) > 1:
        raise refuse(f"{name} takes a table and {' and '.join(wanted)}, and an offset", node)
    stamps, time = plan.timestamps, None
    if node.args.get("time") is not None:
        column = column_of(plan.schema, node.args["time"])
        if not is_timestamp(column.type) and not is_integer(column.type):
            raise refuse(
                f"{name} takes a TIMESTAMP or an integer column, which {column.name} is not",
                node.args["time"],
            )
        stamps, time = is_timestamp(column.type), column
    lengths = [duration(each, stamps) for each in durations]
    for length, each in zip(lengths, durations, strict=True):
        if length == 0:
            raise refuse("a window needs a slide and a size of at least one tick", each)
    _refuse_clash(plan, name, node)
    step, size = lengths[0], lengths[-1]
    if name == "CUMULATE" and size % step:
        raise refuse("the size of CUMULATE is a multiple of its step", durations[-1])
    cumulative = name == "CUMULATE"
    offset = duration(moved[0], stamps) if moved else 0
    if not offset:
        return nodes.WindowColumns(plan, step, size, time, cumulative=cumulative)
    if time is None:
        raise refuse(f"{name} with an offset goes by a column: DESCRIPTOR(ts)", moved[0])
    earlier = _moved("subtract", time, offset)
    return _later(nodes.WindowColumns(plan, step, size, earlier, cumulative=cumulative), offset)


def _moved(function: str, time: Expression, offset: int) -> Expression:
    """A time an offset earlier or later."""
    if is_timestamp(time.type):
        return Call(f"{function}_interval", (time, Literal(offset, INTERVAL)), time.type)
    return Call(function, (time, Literal(offset, time.type)), time.type)


def _later(plan: nodes.Node, offset: int) -> nodes.Node:
    """Rows with windows that are an offset later."""
    columns = []
    for name, each in zip(plan.schema.names, plan.schema, strict=True):
        value: Expression = Column(name, each.type, each.qualifier)
        if each.name in ("window_start", "window_end") and each.qualifier is None:
            value = _moved("add", value, offset)
        columns.append(nodes.Named(each.name, value))
    qualifiers = {each.qualifier for each in plan.schema if each.qualifier}
    moved = nodes.Project(plan, tuple(columns))
    return nodes.Alias(moved, qualifiers.pop()) if len(qualifiers) == 1 else moved


def _refuse_clash(plan: nodes.Node, name: str, node: exp.Expr) -> None:
    clash = [each for each in ("window_start", "window_end") if plan.schema.find(each)]
    if clash:
        raise refuse(
            f"{name} adds the column {clash[0]}, and there is one already: give that another name",
            node,
        )


def _session(plan: nodes.Node, bracket: Bracket) -> nodes.Node:
    """`[SESSION gap MAX d PER k, …]`."""
    gap, most = bracket.args["size"], bracket.args.get("most")
    at_most = None if most is None else _gap(most, plan.timestamps)
    keys = _keys(plan, bracket.args.get("keys"))
    return nodes.Session(plan, keys, _gap(gap, plan.timestamps), at_most)


def _session_columns(plan: nodes.Node, node: WindowTable) -> nodes.Node:
    """`SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), gap)`."""
    if len(node.expressions) != 1:
        raise refuse("SESSION takes a table and a gap", node)
    time = node.args.get("time")
    if time is not None:
        column = column_of(plan.schema, time)
        place = plan.schema.places[column.name]
        if Facts(plan.sources()).after_vs(plan, place) != 0:
            raise refuse(
                f"SESSION goes by the time of the stream, which {column.name} is not: leave "
                "DESCRIPTOR out, or declare the stream WITH (time = …) by it",
                time,
            )
    _refuse_clash(plan, "SESSION", node)
    keys = _keys(plan, node.args.get("keys"))
    return nodes.SessionColumns(plan, keys, _gap(node.expressions[0], plan.timestamps))


def _gap(node: exp.Expr, stamps: bool) -> int:
    gap = duration(node, stamps)
    if gap == 0:
        raise refuse("a session needs a gap, and a length, of at least one tick", node)
    return gap


def _keys(plan: nodes.Node, keys: list[exp.Expr] | None) -> tuple[Expression, ...]:
    found = []
    for key in keys or ():
        with at(key):
            value = resolve(key, plan.schema)
            if value.aggregates():
                raise refuse("sessions go by values of single rows, and not by aggregates", key)
        found.append(value)
    return tuple(found)


def duration(node: exp.Expr, stamps: bool) -> int:
    """A duration in ticks."""
    with at(node):
        if stamps and is_bare(node):
            raise refuse(f"{node.this} has no unit: write {node.this} SECONDS or the like", node)
        if isinstance(node, Duration):
            uses(node, "this")
            return ticks(node.this, stamps)
        if node.find(exp.Column) is not None:
            raise refuse("a duration must be a constant, such as 5 MINUTES or 10", node)
        value = resolve(node, Schema(()))
        if not isinstance(value, Literal) or value.value is None:
            raise refuse("a duration must be a constant, such as 5 MINUTES or 10", node)
        if value.type == INTERVAL_MONTHS:
            raise refuse("months and years differ in length: say it in days", node)
        if value.type == INTERVAL:
            return ticks(value.value if stamps else str(node.sql("spark")), stamps)
        if not is_integer(value.type):
            raise refuse("a duration is a number of ticks or an INTERVAL", node)
        if stamps and value.value:
            raise refuse(f"{value.value} has no unit: write {value.value} SECONDS", node)
        return ticks(int(value.value), stamps)


def is_bare(node: exp.Expr) -> bool:
    """Whether it is a number without a unit; zero needs none."""
    text = str(node.this) if isinstance(node, (Duration, exp.Literal)) else ""
    return text.isdigit() and int(text) > 0


def _time(node: exp.Expr, stamps: bool) -> Expression:
    """An expression over vs and ve, in which intervals are numbers of ticks."""
    with at(node):
        if isinstance(node, Duration):
            uses(node, "this")
            if stamps and is_bare(node):
                raise refuse(f"{node.this} has no unit: write {node.this} SECONDS", node)
            return resolve(_number(ticks(node.this, stamps)), LIFETIME)
        copy = node.copy()
        for each in list(copy.find_all(exp.Interval, Duration)):
            number = _number(duration(each, stamps))
            if each is copy:
                copy = number
            else:
                each.replace(number)
        value = resolve(copy, LIFETIME)
        if not is_integer(value.type):
            raise refuse("a time or a duration is a whole number of ticks", node)
        return value


def _number(value: int) -> exp.Expr:
    return exp.Literal(this=str(value), is_string=False)
