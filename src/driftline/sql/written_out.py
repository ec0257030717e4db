"""Window functions that are expressions over other window functions: how each is written with them.

With n the rows of the partition, r the place of the row, and p the rows before its peers:

    cume_dist()      (rows up to the row and its peers) / n
    percent_rank()   p / (n - 1), 0 if n is 1
    ntile(k)         the number of the bucket of the row, when the n rows are put into k buckets in
                     order, of which the first n mod k have one row more
    counter_diff(c)  how much c is more than where it was last not null; null where it is less, or
                     where the counter was started anew
    max_by, min_by   the value of max(struct(by, value)), of the rows where `by` is not null
    f WITHIN GROUP   the aggregate that it is, over the window
    corr, listagg …  what they are as an expression over aggregates, each of these over the window
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlglot import exp

from driftline.plan.dialect import InOrder, parse_sql
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import AggregateCall, Column, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions import AGGREGATES, aggregate_value, ordered_aggregate
from driftline.plan.functions.rewritten import IN_ORDER
from driftline.plan.resolver import resolve
from driftline.plan.types import Schema, is_integer, is_numeric, is_timestamp, type_name
from driftline.sql.errors import at, refuse
from driftline.sql.window_functions import Resolve, WindowCall, called, order_of

COUNTER = "counter_diff"
SHARES = ("cume_dist", "percent_rank", "ntile")
EXTREMES = {"max_by": "max", "min_by": "min"}

_UP_TO_PEERS = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_FROM_PEERS = "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
_UP_TO_ROW = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def written_out(window: exp.Window, typed: Resolve) -> exp.Expr | None:
    """The expression that a window function means; None if it is one by itself. `typed` finds the
    types of its arguments."""
    call = called(window)
    if call.order is not None:
        for key, written in (("order", "ORDER BY"), ("spec", "frame")):
            if window.args.get(key) is not None:
                raise refuse(
                    f"{call.name} WITHIN GROUP (…) takes no {written} in OVER (…): it goes by all "
                    "rows of the partition",
                    window,
                )
        return _composed(window, call, typed)
    if call.name in SHARES:
        return _share(window, call)
    if call.name in EXTREMES:
        return _by(window, call)
    if call.name == COUNTER:
        return _counter(window, call, typed)
    if call.name in AGGREGATES and call.args and not isinstance(call.args[0], exp.Star):
        return _composed(window, call, typed)
    return None


def _composed(window: exp.Window, call: WindowCall, typed: Resolve) -> exp.Expr | None:
    ordered = call.order or ()
    given = [*call.args, *(each.this for each in ordered)]
    given += [] if call.filter is None else [call.filter]
    kinds = [folded(typed(each)) for each in given]
    parts = {f"$arg{place}": each for place, each in enumerate(given)}
    args = [
        kind if _is_constant(kind) else Column(name, kind.type)
        for name, kind in zip(parts, kinds, strict=True)
    ]
    where = None if call.filter is None else args.pop()
    by = [args.pop() for _ in ordered][::-1]
    with at(window), _as_written(parts):
        if call.order is None:
            value = aggregate_value(call.name, tuple(args), call.distinct, where, call.ignore_nulls)
        else:
            value = ordered_aggregate(
                call.name, tuple(args), order_of(by, call), call.distinct, where
            )
    if isinstance(value, AggregateCall):
        return None
    whole = parse_sql(value.sql())
    for each in list(whole.find_all(exp.Anonymous)):
        if str(each.this) == IN_ORDER:
            listed, directions = each.expressions
            each.replace(InOrder(this=listed, directions=directions.name))
    for each in list(whole.find_all(exp.Anonymous)):
        if str(each.this).lower() not in AGGREGATES:
            continue
        inner: exp.Expr = each
        while isinstance(inner.parent, (exp.Filter, exp.IgnoreNulls)):
            inner = inner.parent
        over = window.copy()
        each.meta.update(window.this.meta)
        copy = inner.copy()
        over.set("this", copy)
        inner.replace(over)
    return _with_parts(whole, parts)


@contextmanager
def _as_written(parts: Mapping[str, exp.Expr]) -> Iterator[None]:
    """Errors about the arguments of a call show them as they were written."""
    try:
        yield
    except ExpressionError as error:
        text = str(error)
        for name, each in parts.items():
            text = text.replace(f"`{name}`", each.sql("spark"))
        raise ExpressionError(text) from None


def _is_constant(value: Expression) -> bool:
    return not any(isinstance(part, (Column, AggregateCall)) for part in value.walk())


def _share(window: exp.Window, call: WindowCall) -> exp.Expr:
    if window.args.get("order") is None:
        raise refuse(f"{call.name} needs an order: OVER (… ORDER BY …)", window)
    if window.args.get("spec") is not None:
        raise refuse(f"{call.name} takes no ROWS or RANGE", window)
    if call.distinct or call.filter is not None or call.ignore_nulls:
        raise refuse(f"{call.name} takes no DISTINCT, FILTER or IGNORE NULLS", window)
    count = _count(window, _ALL)
    if call.name == "ntile":
        return _ntile(window, call, count)
    if call.args:
        raise refuse(f"{call.name}() takes no arguments", window)
    if call.name == "cume_dist":
        return _expression("up_to / n", up_to=_count(window, _UP_TO_PEERS), n=count)
    return _expression(
        "if(n = 1, 0.0D, (n - from_peers) / nullif(n - 1, 0))",
        n=count,
        from_peers=_count(window, _FROM_PEERS),
    )


def _ntile(window: exp.Window, call: WindowCall, count: exp.Expr) -> exp.Expr:
    (buckets,) = call.args if len(call.args) == 1 else (None,)
    number = 0
    if buckets is not None and buckets.find(exp.Column, exp.Query) is None:
        value = folded(resolve(buckets, Schema(())))
        if isinstance(value, Literal) and is_integer(value.type):
            number = value.value or 0
    if number < 1:
        raise refuse("NTILE takes a constant number of buckets, 1 or more", window)
    k = exp.Literal.number(number)
    # The first n mod k buckets have n div k + 1 rows each.
    return _expression(
        "CAST(if(r <= (n % k) * (n div k + 1), (r - 1) div (n div k + 1), "
        "n % k + (r - 1 - (n % k) * (n div k + 1)) div nullif(n div k, 0)) + 1 AS INT)",
        n=count,
        r=_count(window, _UP_TO_ROW),
        k=k,
    )


def _by(window: exp.Window, call: WindowCall) -> exp.Expr:
    if len(call.args) != 2:  # noqa: PLR2004 - the value, and by what
        raise refuse(f"{call.name} takes a value and what it goes by", window)
    value, by = call.args
    there = _expression("by IS NOT NULL", by=by)
    if call.filter is not None:
        there = exp.and_(exp.paren(call.filter.copy()), there)
    pair = _expression("named_struct('by', by, 'value', value)", by=by, value=value)
    function = exp.Anonymous(this=EXTREMES[call.name], expressions=[pair])
    function.meta.update(window.this.meta)
    over = window.copy()
    over.set("this", exp.Filter(this=function, expression=exp.Where(this=there)))
    return exp.Dot(this=exp.paren(over, copy=False), expression=exp.to_identifier("value"))


def _counter(window: exp.Window, call: WindowCall, typed: Resolve) -> exp.Expr:
    if window.args.get("order") is None:
        raise refuse(f"{COUNTER} needs an order: OVER (… ORDER BY …)", window)
    if len(call.args) not in (1, 2):
        raise refuse(f"{COUNTER} takes a counter, and when it was started", window)
    if window.args.get("spec") is not None:
        raise refuse(f"{COUNTER} takes no ROWS or RANGE", window)
    if call.distinct or call.filter is not None or call.ignore_nulls:
        raise refuse(f"{COUNTER} takes no DISTINCT, FILTER or IGNORE NULLS", window)
    kinds = [typed(each).type for each in call.args]
    if not is_numeric(kinds[0]) or not all(map(is_timestamp, kinds[1:])):
        raise refuse(f"{COUNTER} takes a number, and a TIMESTAMP if it is started anew", window)
    value, start = (*call.args, exp.Null())[:2]
    pair = _expression("if(c IS NULL, NULL, named_struct('c', c, 's', s))", c=value, s=start)
    before = exp.Anonymous(this="lag", expressions=[pair])
    before.meta.update(window.this.meta)
    over = window.copy()
    over.set("this", exp.IgnoreNulls(this=before))
    last = [
        exp.Dot(this=exp.paren(over.copy(), copy=False), expression=exp.to_identifier(name))
        for name in ("c", "s")
    ]
    return _expression(
        "CAST(CASE WHEN c < 0 THEN raise_error('counter_diff: a counter is not negative') "
        "WHEN s < last_s THEN raise_error('counter_diff: a counter is not started earlier') "
        f"WHEN s > last_s OR c < last_c THEN NULL ELSE c - last_c END AS {type_name(kinds[0])})",
        c=value,
        s=start,
        last_c=last[0],
        last_s=last[1],
    )


def _count(window: exp.Window, frame: str) -> exp.Expr:
    """count(*) over the same rows in the same order, with a frame."""
    framed = parse_sql(f"count(*) OVER (ORDER BY 1 {frame})")
    framed.this.meta.update(window.this.meta)
    framed.set("partition_by", [each.copy() for each in window.args.get("partition_by") or ()])
    framed.set("order", window.args["order"].copy())
    return framed


def _expression(text: str, **parts: exp.Expr) -> exp.Expr:
    """An expression with others in the place of some names."""

    return _with_parts(parse_sql(text), parts)


def _with_parts(whole: exp.Expr, parts: Mapping[str, exp.Expr]) -> exp.Expr:
    def put_in(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in parts:
            return exp.paren(parts[node.name].copy(), copy=False)
        return node

    return whole.transform(put_in)
