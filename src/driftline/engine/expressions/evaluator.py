"""Evaluation: an expression becomes, once, a tree of steps; a step turns columns into a value.

Which rows an operand is evaluated on follows Spark, because an operand may fail:
- a branch of CASE is evaluated on the rows that take it, a later value of COALESCE on the rows
  where those before are null, a later item of IN on the rows that have not matched;
- the right side of AND is evaluated where the left is not false, of OR where it is not true;
- an argument of any other function where the arguments before it are not null.
Operands that cannot fail are evaluated on all rows, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Value,
    as_array,
    is_scalar,
    to_mask,
    valid_mask,
)
from driftline.engine.expressions.casts import cast, cast_is_total
from driftline.engine.expressions.comparison import compare_values
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.expansion import TOO_LARGE, full_column
from driftline.engine.expressions.frames import CompiledExpression, ExpressionInput
from driftline.engine.expressions.higher_order import HIGHER_ORDER_STEPS
from driftline.engine.expressions.java_patterns import TOO_SLOW
from driftline.engine.expressions.literals import scalar_of
from driftline.engine.expressions.registry import KERNELS, FunctionKernel
from driftline.event_log.text import plain_values
from driftline.plan.depth import SPARE, again_with_room, room
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    FieldAccess,
    Lambda,
    Literal,
    Variable,
)

_KEPT_AS = "_compiled"
_CALLS_A_LEVEL = 8
"""Python's calls, at most, for each level of operands."""


def evaluate(expression: Expression, columns: Any) -> Array:
    """The values of an expression over the rows of a RecordBatch or Table.

    >>> from driftline.plan import Schema, parse_expression
    >>> rows = pa.table({"x": [1, 0, None]})
    >>> test = parse_expression("CASE WHEN x <> 0 THEN 10 / x END", Schema.from_arrow(rows.schema))
    >>> evaluate(test, rows).to_pylist()
    [10.0, None, None]
    """
    try:
        return _values(expression, columns)
    except pa.ArrowCapacityError:
        raise full_column(expression.brief()) from None
    except EvaluationError as error:
        if error.place is None and error.condition not in _OF_NO_ROW:
            error.place = partial(_place_of_error, expression, columns)
        raise


@again_with_room
def _values(expression: Expression, columns: Any) -> Array:
    return compiled(expression).array(ExpressionInput(columns))


def _place_of_error(expression: Expression, columns: Any) -> str:
    """The expression, and the first row for which it fails, as far as it reads that."""
    low, high = 0, columns.num_rows
    while low + 1 < high:  # the first `low` rows are fine, and the first `high` are not
        middle = (low + high) // 2
        try:
            _values(expression, columns.slice(0, middle))
            low = middle
        except EvaluationError:
            high = middle
    names = sorted(name for name in expression.columns() if not name.startswith("$"))
    row = ", ".join(f"{name} = {_short(columns.column(name), low)}" for name in names if high)
    return f"in {expression.brief()}, where {row}" if row else f"in {expression.brief()}"


_OF_NO_ROW = (TOO_LARGE, TOO_SLOW)
"""Errors about all rows, or that would take long to find again."""

_LONGEST_SHOWN = 60


def _short(column: Any, row: int) -> str:
    value = column.slice(row, 1)
    (plain,) = plain_values(
        value if isinstance(value, pa.ChunkedArray) else pa.chunked_array([value])
    )
    text = repr(plain) if isinstance(plain, str) else str(plain)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def evaluate_predicate(expression: Expression, columns: Any) -> Mask:
    """Where a condition is true; null is not true.

    >>> from driftline.plan import Schema, parse_expression
    >>> rows = pa.table({"x": [1, 0, None]})
    >>> evaluate_predicate(parse_expression("x > 0", Schema.from_arrow(rows.schema)), rows)
    array([ True, False, False])
    """
    return to_mask(evaluate(expression, columns))


def compiled(expression: Expression) -> CompiledExpression:
    """The steps of an expression, made once and kept with it."""
    found: CompiledExpression | None = expression.__dict__.get(_KEPT_AS)
    if found is None:
        calls = expression.height * _CALLS_A_LEVEL
        with room(calls):
            found = _compile(expression)
        if calls > SPARE:
            found = replace(found, run=room(calls)(found.run))
        expression.__dict__[_KEPT_AS] = found
    return found


def _compile(expression: Expression) -> CompiledExpression:
    if isinstance(expression, Column):
        name, kind = expression.name, expression.kind
        return CompiledExpression(lambda frame: frame.column(name, kind), kind, total=True)
    if isinstance(expression, Variable):
        variable = expression.name
        return CompiledExpression(
            lambda frame: frame.variable(variable), expression.kind, total=True
        )
    if isinstance(expression, Literal):
        scalar = scalar_of(expression)
        return CompiledExpression(
            lambda _frame: scalar, scalar.type, total=True, constant=True, fixed=True
        )
    if isinstance(expression, AggregateCall):
        raise ExpressionError(f"{expression.brief()} is a value of a group, not of a row")
    if isinstance(expression, Lambda):
        return replace(_compile(expression.body), fixed=False)
    operands = [_compile(child) for child in expression.children]
    step = _compile_operation(expression, operands)
    return _folded(step) if operands and all(operand.fixed for operand in operands) else step


def _compile_operation(
    expression: Expression, operands: list[CompiledExpression]
) -> CompiledExpression:
    if isinstance(expression, Cast):
        return _cast_step(expression, operands)
    if isinstance(expression, Case):
        return _case_step(expression, operands)
    if isinstance(expression, FieldAccess):
        return _field_step(expression, operands)
    if isinstance(expression, Call):
        special = _LAZY.get(expression.function, _call_step)
        return special(expression, operands)
    raise TypeError(f"{type(expression).__name__} is not an expression")


_ONE_ROW = pa.table({"": [0]})
_UNKNOWN = pa.scalar(None, pa.bool_())


def _folded(step: CompiledExpression) -> CompiledExpression:
    """A step without columns, computed once. One that fails keeps failing when it is run."""
    try:
        value = step.array(ExpressionInput(_ONE_ROW))[0]
    except EvaluationError:
        return replace(step, fixed=True)
    return CompiledExpression(
        lambda _frame: value, step.kind, total=True, constant=True, fixed=True
    )


def _cast_step(expression: Cast, operands: list[CompiledExpression]) -> CompiledExpression:
    (child,) = operands
    source, target, lenient = expression.value.type, expression.kind, expression.lenient

    def run(frame: ExpressionInput) -> Value:
        return cast(child.array(frame), source, target, lenient)

    return CompiledExpression(
        run, target, child.total and (lenient or cast_is_total(source, target))
    )


def _field_step(expression: FieldAccess, operands: list[CompiledExpression]) -> CompiledExpression:
    child, index = operands[0], expression.index

    def run(frame: ExpressionInput) -> Value:
        return pc.struct_field(child.array(frame), [index])

    return CompiledExpression(run, expression.type, child.total)


def _call_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    found = KERNELS.get(call.function)
    if found is None:
        raise ExpressionError(f"the function {call.function} cannot be evaluated")
    total = found.total(call) and all(step.total for step in steps)
    arguments = _arguments_in_order(found, call, steps)

    def run(frame: ExpressionInput) -> Value:
        values = arguments(frame)
        if not found.scalars or all(map(is_scalar, values)):
            values = [as_array(value, frame.length) for value in values]
        if not values:
            return found.compute(call, [as_array(pa.scalar(0), frame.length)])
        return found.compute(call, values)

    return CompiledExpression(run, call.kind, total)


def _arguments_in_order(
    found: FunctionKernel, call: Call, steps: list[CompiledExpression]
) -> Callable[[ExpressionInput], list[Value]]:
    if not found.strict(call) or all(step.total for step in steps):
        return lambda frame: [step.run(frame) for step in steps]
    order = list(range(len(steps)))
    if found.right_first:
        order.reverse()
    zero_is_null = found.right_first and call.function.startswith("try_")

    def run(frame: ExpressionInput) -> list[Value]:
        values: list[Value] = [None] * len(steps)
        needed: Mask | None = None
        for place in order:
            step = steps[place]
            everywhere = needed is None or step.constant
            value = step.run(frame) if everywhere else step.array_where(frame, needed)
            values[place] = value
            usable = _usable(value, frame.length, zero_is_null and place == order[0])
            if usable is not None:
                needed = usable if needed is None else needed & usable
        return values

    return run


def _usable(value: Value, length: int, zero_is_null: bool) -> Mask | None:
    """Where an argument is not null, and not zero if that is as good as null; None: everywhere."""
    if is_scalar(value) and not value.is_valid:
        return np.zeros(length, dtype=np.bool_)
    if zero_is_null:
        array = as_array(value, length)
        zero = pc.equal(array, pa.scalar(0, array.type))
        return ~to_mask(pc.fill_null(zero, True))
    if is_scalar(value) or value.null_count == 0:
        return None
    return valid_mask(value)


def _case_step(expression: Case, steps: list[CompiledExpression]) -> CompiledExpression:
    branches = list(zip(steps[:-1:2], steps[1:-1:2], strict=True))
    otherwise = steps[-1]
    total = all(step.total for step in steps)

    def run(frame: ExpressionInput) -> Value:
        undecided = np.ones(frame.length, dtype=np.bool_)
        choice = np.full(frame.length, len(branches), dtype=np.int64)
        values: list[Value] = []
        for place, (when, then) in enumerate(branches):
            taken = to_mask(when.array_where(frame, undecided)) & undecided
            choice[taken] = place
            undecided &= ~taken
            values.append(_on_rows(then, frame, taken))
        values.append(_on_rows(otherwise, frame, undecided))
        return _choose(choice, values, frame.length)

    return CompiledExpression(run, expression.kind, total)


def _on_rows(step: CompiledExpression, frame: ExpressionInput, rows: Mask) -> Value:
    return step.run(frame) if step.constant else step.array_where(frame, rows)


def _choose(choice: Any, values: Sequence[Value], length: int) -> Array:
    """For each row the value whose place is chosen."""
    if len(values) == 2 and not pa.types.is_nested(values[0].type):  # noqa: PLR2004 - IF
        return as_array(pc.if_else(pa.array(choice == 0), *values), length)
    parts = [as_array(value, length) for value in values]
    rows = np.arange(length) + choice * length
    return pa.concat_arrays(parts).take(pa.array(rows))


def _coalesce_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    def run(frame: ExpressionInput) -> Value:
        found = steps[0].array(frame)
        for step in steps[1:]:
            if found.null_count == 0:
                break
            missing = ~valid_mask(found)
            other = step.array_where(frame, missing)
            found = _choose(missing.astype(np.int64), [found, other], frame.length)
        return found

    return CompiledExpression(run, call.kind, all(step.total for step in steps))


def _logic_step(call: Call, operands: list[CompiledExpression]) -> CompiledExpression:
    left, right = operands
    total = left.total and right.total
    conjunction = call.function == "and"
    combine = pc.and_kleene if conjunction else pc.or_kleene

    def run(frame: ExpressionInput) -> Value:
        first = left.array(frame)
        if right.total:
            return combine(first, right.run(frame))
        open_rows = pc.fill_null(first if conjunction else pc.invert(first), True)
        return combine(first, right.array_where(frame, to_mask(open_rows)))

    return CompiledExpression(run, call.kind, total)


def _in_step(call: Call, operands: list[CompiledExpression]) -> CompiledExpression:
    value, *items = operands
    kind = call.args[0].type
    total = all(step.total for step in operands)
    sample = ExpressionInput(_ONE_ROW)
    # Where no item can fail, their order does not matter: constants first, all at once.
    at_once = all(item.total for item in items)
    known = [item.run(sample) for item in items if item.constant and at_once]
    others = [item for item in items if not (item.constant and at_once)]

    def run(frame: ExpressionInput) -> Value:
        subject = value.array(frame)
        found = _matches(subject, known, kind)
        for item in others:
            open_rows = valid_mask(subject) & ~to_mask(found)
            other = item.array_where(frame, open_rows)
            found = pc.or_kleene(found, compare_values("equal", subject, other, kind))
        return found

    return CompiledExpression(run, call.kind, total)


def _matches(subject: Array, known: list[Any], kind: Any) -> Array:
    """`subject IN (constants)`, by a set where Arrow's equality is Spark's."""
    present = [item for item in known if item.is_valid]
    found = pc.if_else(subject.is_valid(), pa.scalar(False), _UNKNOWN)
    if not (pa.types.is_nested(kind) or pa.types.is_null(kind)):
        if present:
            members = pc.is_in(_plain(subject), value_set=_plain(pa.array(present, kind)))
            found = pc.or_kleene(found, pc.if_else(members, True, found))
        return found if len(present) == len(known) else pc.or_kleene(found, _UNKNOWN)
    for item in known:
        found = pc.or_kleene(found, compare_values("equal", subject, item, kind))
    return found


def _plain(array: Array) -> Array:
    """The values in the form in which equal ones are alike: 0.0 for -0.0, and one NaN."""
    if not pa.types.is_floating(array.type):
        return array
    same = pc.add(array, pa.scalar(0.0, array.type))
    return pc.if_else(pc.is_nan(same), pa.scalar(np.nan, array.type), same)


_LAZY: dict[str, Callable[[Call, list[CompiledExpression]], CompiledExpression]] = {
    "and": _logic_step,
    "or": _logic_step,
    "coalesce": _coalesce_step,
    "in": _in_step,
    **HIGHER_ORDER_STEPS,
}
