"""What a window function means: its function, its frame, and what it is computed from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlglot import exp

from driftline.plan.coercion import can_cast
from driftline.plan.expressions import AggregateCall, Cast, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions import AGGREGATES, aggregate_value, ordered_aggregate
from driftline.plan.nodes import Frame, OrderItem, OverColumn, Unit
from driftline.plan.types import (
    DATE,
    INTERVAL,
    INTERVAL_MONTHS,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_timestamp,
    type_name,
)
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse

NEIGHBOURS = ("lag", "lead")
MICROS_OF_A_DAY = 86_400_000_000
DIGITS_OF_A_WORD = 18
_MOST_ARGUMENTS = 3

Resolve = Callable[[exp.Expr], Expression]


@dataclass(frozen=True)
class WindowCall:
    """A function as it was written before OVER."""

    name: str
    args: list[exp.Expr]
    distinct: bool = False
    filter: exp.Expr | None = None
    ignore_nulls: bool = False
    order: tuple[exp.Expr, ...] | None = None
    """The items of WITHIN GROUP (ORDER BY …)."""


def called(window: exp.Window) -> WindowCall:
    """The function of a window function."""
    node, where, ignore, order = window.this, None, False, None
    uses(window, "this", "partition_by", "order", "spec", "over")
    while isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        if isinstance(node, exp.Filter):
            uses(node, "this", "expression")
            uses(node.expression, "this")
            where = node.expression.this
        elif isinstance(node, exp.WithinGroup):
            uses(node, "this", "expression")
            uses(node.expression, "expressions")
            order = tuple(node.expression.expressions)
        else:
            uses(node, "this")
        ignore = ignore or isinstance(node, exp.IgnoreNulls)
        node = node.this
    if isinstance(node, exp.Any):  # any(x), which is a word of the grammar
        uses(node, "this")
        return WindowCall("any", [node.this.unnest()], False, where, ignore, order)
    if not isinstance(node, exp.Anonymous):
        return WindowCall("", [])
    uses(node, "this", "expressions")
    args = list(node.expressions)
    distinct = bool(args) and isinstance(args[0], exp.Distinct)
    if distinct:
        uses(args[0], "expressions")
        args = list(args[0].expressions)
        args += node.expressions[1:]
    return WindowCall(str(node.this).lower(), args, distinct, where, ignore, order)


def is_known(name: str) -> bool:
    return name in AGGREGATES or name in (*NEIGHBOURS, "nth_value")


def column_of(
    window: exp.Window, name: str, order: tuple[OrderItem, ...], resolve: Resolve
) -> OverColumn:
    """The column of a window function; `resolve` reads expressions over the rows."""
    call = called(window)
    if call.name in NEIGHBOURS:
        return _neighbour(window, call, name, order, resolve)
    frame = frame_of(window, order, resolve)
    if call.name == "nth_value":
        return _nth(window, call, name, frame, resolve)
    star = len(call.args) == 1 and isinstance(call.args[0], exp.Star)
    if star:
        uses(call.args[0])
    if not call.args and call.order is None:
        raise refuse(f"{call.name} takes at least 1 argument, or * to count rows", window)
    args = () if star else tuple(resolve(each) for each in call.args)
    where = None if call.filter is None else resolve(call.filter)
    with at(window):
        if call.order is None:
            value = aggregate_value(call.name, args, call.distinct, where, call.ignore_nulls)
        else:
            by = order_of([resolve(each.this) for each in call.order], call)
            value = ordered_aggregate(call.name, args, by, call.distinct, where)
    if not isinstance(value, AggregateCall):
        raise refuse(f"{call.name} OVER (…) is not supported", window)
    by_place = value.function in ("first", "last", "any_value")
    if by_place and where is None and not value.ignore_nulls:
        return OverColumn(name, value.args[0], frame, -1 if value.function == "last" else 1)
    return OverColumn(name, value, frame)


def order_of(values: list[Expression], call: WindowCall) -> list[tuple[Expression, bool, bool]]:
    """Values that WITHIN GROUP orders by, each with whether it descends, and whether its nulls come
    first."""
    found = []
    for value, item in zip(values, call.order or (), strict=True):
        uses(item, "this", "desc", "nulls_first")
        found.append((value, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return found


def _neighbour(
    window: exp.Window, call: WindowCall, name: str, order: tuple[OrderItem, ...], resolve: Resolve
) -> OverColumn:
    word = call.name.upper()
    _refuse_extras(window, call)
    if not order:
        raise refuse(f"{word} needs an order: OVER (… ORDER BY …)", window)
    if window.args.get("spec") is not None:
        raise refuse(f"{word} takes no ROWS or RANGE", window)
    if not 1 <= len(call.args) <= _MOST_ARGUMENTS:
        raise refuse(f"{word} takes a value, a number of rows and a default", window)
    value = resolve(call.args[0])
    distance = _whole(call.args[1], f"the distance of {word}", resolve) if call.args[1:] else 1
    places = -distance if call.name == "lag" else distance
    column = OverColumn(name, value, Frame("rows", places, places), 1)
    if call.ignore_nulls and places:
        before = places < 0
        frame = Frame("rows", None, -1) if before else Frame("rows", 1, None)
        column = OverColumn(name, value, frame, places, ignore_nulls=True)
    if len(call.args) < _MOST_ARGUMENTS:
        return column
    default = resolve(call.args[2])
    if not can_cast(default.type, value.type):
        raise refuse(
            f"the default of {word} is a {type_name(default.type)}, which cannot be cast to the "
            f"{type_name(value.type)} of its value",
            call.args[2],
        )
    if default.type != value.type:
        default = Cast(default, value.type)  # so it is in Spark
    return replace(column, default=default)


def _nth(
    window: exp.Window, call: WindowCall, name: str, frame: Frame, resolve: Resolve
) -> OverColumn:
    _refuse_extras(window, call)
    if len(call.args) != 2:  # noqa: PLR2004 - the value and the place
        raise refuse("NTH_VALUE takes a value and a place", window)
    place = _whole(call.args[1], "the place of NTH_VALUE", resolve)
    if place < 1:
        raise refuse("the place of NTH_VALUE is 1 or more", call.args[1])
    value = resolve(call.args[0])
    return OverColumn(name, value, frame, place, ignore_nulls=call.ignore_nulls)


def _refuse_extras(window: exp.Window, call: WindowCall) -> None:
    for there, word in (
        (call.distinct, "DISTINCT"),
        (call.filter is not None, "FILTER"),
    ):
        if there:
            raise refuse(f"{call.name.upper()} takes no {word}", window)


def _whole(node: exp.Expr, what: str, resolve: Resolve) -> int:
    value = folded(resolve(node))
    if not isinstance(value, Literal) or not is_integer(value.type) or value.value is None:
        raise refuse(f"{what} is a whole number", node)
    return int(value.value)


def frame_of(window: exp.Window, order: tuple[OrderItem, ...], resolve: Resolve) -> Frame:
    """The frame of a window, or the one that it has if none is written."""
    spec = window.args.get("spec")
    if spec is None:
        return Frame("range", None, 0 if order else None)
    exclude = spec.args.get("exclude")
    if exclude is not None:
        if exclude.name.upper() != "NO OTHERS":
            raise refuse(
                f"EXCLUDE {exclude.name} is not supported: subtract the row's own value", window
            )
        uses(exclude, "this")
    uses(spec, "kind", "start", "start_side", "end", "end_side", "exclude")
    unit = str(spec.args.get("kind") or "").lower()
    if unit not in ("rows", "range"):
        raise refuse(f"a frame goes by ROWS or RANGE, not by {unit.upper()}", window)
    kind: Unit = "rows" if unit == "rows" else "range"
    start = _bound(window, "start", kind, order, resolve)
    end = _bound(window, "end", kind, order, resolve)
    bounds = [spec.args[each] for each in ("start", "end") if isinstance(spec.args[each], exp.Expr)]
    months = [kind == "range" and _is_months(each, order, resolve) for each in bounds]
    if len(set(months)) > 1:
        raise refuse("a RANGE goes by months at both ends, or at none", window)
    if start is not None and end is not None and start > end:
        raise refuse("the frame ends before it starts", window)
    return Frame(kind, start, end, any(months))


def _is_months(node: exp.Expr, order: tuple[OrderItem, ...], resolve: Resolve) -> bool:
    """Whether a distance is a number of months between dates or times."""
    kinds = (resolve(node).type, order[0].value.type)
    return bool(kinds[0] == INTERVAL_MONTHS and kinds[1] != INTERVAL_MONTHS)


def _bound(
    window: exp.Window, which: str, unit: Unit, order: tuple[OrderItem, ...], resolve: Resolve
) -> float | None:
    spec = window.args["spec"]
    bound, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
    if bound is None or bound == "CURRENT ROW":
        return 0
    if bound == "UNBOUNDED":
        if side != ("PRECEDING" if which == "start" else "FOLLOWING"):
            raise refuse(f"a frame does not {which} UNBOUNDED {side}", window)
        return None
    distance: float
    if unit == "rows":
        distance = _whole(bound, "the distance of ROWS", resolve)
    else:
        if len(order) != 1:
            raise refuse("a RANGE with a distance needs ORDER BY with one item", window)
        distance = _distance(bound, order[0].value, resolve)
    if distance < 0:
        raise refuse("the distance of a frame is not negative", bound)
    return -distance if side == "PRECEDING" else distance


def _distance(node: exp.Expr, by: Expression, resolve: Resolve) -> float:
    """A distance in units of the order column."""
    value = folded(resolve(node))
    kind = by.type
    if isinstance(value, Literal) and value.value is not None:
        number = value.value
        if value.type == INTERVAL:
            if is_timestamp(kind):
                return int(number)
            if kind == DATE and number % MICROS_OF_A_DAY == 0:
                return int(number // MICROS_OF_A_DAY)
            if kind == INTERVAL:
                return int(number)
        elif value.type == INTERVAL_MONTHS:
            if is_timestamp(kind) or kind in (DATE, INTERVAL_MONTHS):
                return int(number)
        elif is_integer(value.type) and (is_integer(kind) or kind == DATE):
            return int(number)
        elif is_float(kind) and is_numeric(value.type):
            return float(number)
        elif is_decimal(kind) and kind.precision <= DIGITS_OF_A_WORD:
            units = Decimal(str(number)).scaleb(kind.scale)
            if units == int(units):
                return int(units)
    raise refuse(
        f"the distance of a RANGE over a {type_name(kind)} is a constant that can be added to it",
        node,
    )
