"""Functions that choose among values."""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Case, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, cast_to, register, same_type
from driftline.plan.functions.months import months, of_months
from driftline.plan.functions.operators import case, compare, condition, is_not_null
from driftline.plan.types import INT, INTERVAL_MONTHS, STRING, VOID, is_orderable, type_name


@register("coalesce", 1, None)
def coalesce(args: Arguments) -> Expression:
    """The first value that is not null. A value is evaluated only where those before are null."""
    typed = same_type(args, "coalesce")
    return Call("coalesce", typed, typed[0].type)


@register("nvl ifnull", 2, 2)
def _nvl(args: Arguments) -> Expression:
    return coalesce(args)


@register("if iff", 3, 3)
def choose(args: Arguments) -> Expression:
    """The second value where the condition is true, otherwise the third."""
    then, otherwise = same_type(args[1:], "if")
    return Case(((condition(args[0], "the first argument of if"), then),), otherwise, then.type)


@register("nvl2", 3, 3)
def _nvl2(args: Arguments) -> Expression:
    return choose((is_not_null(args[:1]), *args[1:]))


@register("nullif", 2, 2)
def _nullif(args: Arguments) -> Expression:
    value = args[0]
    return case(((compare("equal", *args), Literal(None, VOID)),), value)


@register("zeroifnull", 1, 1)
def _zeroifnull(args: Arguments) -> Expression:
    return coalesce((args[0], Literal(0, INT)))


@register("nullifzero", 1, 1)
def _nullifzero(args: Arguments) -> Expression:
    return _nullif((args[0], Literal(0, INT)))


def _extreme(name: str) -> None:
    @register(name, 2, None)
    def build(args: Arguments) -> Expression:
        typed = same_type(args, name, promote_strings=False)
        kind = typed[0].type
        if not is_orderable(kind):
            raise ExpressionError(f"values of type {type_name(kind)} cannot be compared")
        if kind == INTERVAL_MONTHS:
            return of_months(Call(name, tuple(map(months, typed)), INT))
        return Call(name, tuple(cast_to(arg, kind) for arg in typed), kind)


_extreme("greatest")
_extreme("least")


@register("raise_error", 1, 1)
def _raise_error(args: Arguments) -> Expression:
    return Call("raise_error", (argument(args[0], STRING, "raise_error", 1),), VOID)


@register("assert_true", 1, 2)
def _assert_true(args: Arguments) -> Expression:
    holds = condition(args[0], "assert_true")
    text = (
        argument(args[1], STRING, "assert_true", 2)
        if args[1:]
        else Literal(f"'{args[0].sql()}' is not true!", STRING)
    )
    return Case(((holds, Literal(None, VOID)),), Call("raise_error", (text,), VOID), VOID)
