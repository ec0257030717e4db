"""Conditions that look at rows of the match, as code for a small stack machine.

Values are words of 64 bits with a flag for null: whole numbers, truth values and times as they are,
floats by their bits, anything else by an order key (`state.order_keys`). What is computed of one
row alone is a cell: a column that was computed before, with one value more at its end, for no row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.by_rows.piece_kernels import rounded
from driftline.engine.state.exact_floats import two_product, two_sum
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Floats, FloatTable, Int64s, Int64Table, Mask, MaskTable

(
    CONSTANT, LOAD, LOAD_BY_LABEL, NUMBER, AGGREGATE, JUMP, JUMP_UNLESS, JUMP_IF_FALSE,
    JUMP_IF_TRUE, JUMP_IF_THERE, AND, OR, NOT, IS_NULL, SAME, EQUAL, LESS, LESS_EQUAL, EQUAL_FLOAT,
    LESS_FLOAT, LESS_EQUAL_FLOAT, ADD, SUBTRACT, MULTIPLY, NEGATE, ABSOLUTE, ADD_FLOAT,
    SUBTRACT_FLOAT, MULTIPLY_FLOAT, DIVIDE_FLOAT, NEGATE_FLOAT, ABSOLUTE_FLOAT, TO_FLOAT, SWAP,
    SAME_FLOAT, LOOKUP, LOAD_ROW,
) = range(37)  # fmt: skip

COUNT_ROWS, COUNT, SUM, SUM_FLOAT, AVERAGE, AVERAGE_FLOAT, LEAST, GREATEST, LEAST_FLOAT, GREATEST_FLOAT = range(10)  # fmt: skip  # noqa: E501

# Columns of a row of `places`, which says where a value is found.
LAST, OFFSET, PHYSICAL, IS_CURRENT = range(4)

ALWAYS, MASKED, CODED = range(3)

NO_ERROR, OVERFLOW, DIVISION_BY_ZERO = range(3)

_SURELY_FITS, _SURELY_TOO_GREAT = 9.2e18, 9.3e18
DEEPEST_STACK = 4096
"""Operands that wait for others."""
PARTIALS = 64
"""Sums of floats that do not overlap are never more than about forty."""


class RowConditions(NamedTuple):
    """The conditions of all variables over the rows of a call.

    `kind`: of each variable: always true, a mask, or code; `base`: its first mask, or its first
    instruction; `ahead`: how many rows after the current one it looks at; a mask is there once for
    every number of rows that are there after the current one, up to `ahead`. `masks`: [mask, row].
    `code`: [instruction, (operation, operand, operand)]; `stop`: the end of a variable's code.
    `places`, `of`: where values are found, and among the rows of which variables. `words`, `null`:
    [cell, row], `floats` the same words as floats. `constants`. `aggregates`: [aggregate,
    (function, cell, row of `of`, whether the cell goes by label)].
    `by_order`, `by_order_null`: the first column of the order, for `within`.
    """

    kind: Int64s
    base: Int64s
    stop: Int64s
    ahead: Int64s
    masks: MaskTable
    code: Int64Table
    places: Int64Table
    of: MaskTable
    words: Int64Table
    floats: FloatTable
    null: MaskTable
    constants: Int64s
    constant_null: Mask
    aggregates: Int64Table
    by_order: Int64s
    by_order_null: Mask


class Lookups(NamedTuple):
    """What was computed outside of the kernel for operations that it does not know: a table by
    `keys` [entry, (number of the operation, operand …)] (`used` says which entries are), with
    `words` and `null`. What is not there yet is asked for: `asked` [question, …], and `asks` how
    many; `widths`: the number of operands of each operation."""

    used: Mask
    keys: Int64Table
    words: Int64s
    null: Mask
    asked: Int64Table
    asks: Int64s
    widths: Int64s


class ConditionMachine(NamedTuple):
    """Room to compute in: the stack, as words and as floats; `error`: the last error."""

    words: Int64s
    floats: Floats
    null: Mask
    partials: Floats
    error: Int64s


@inlined
def _found(
    conditions: RowConditions, place: int, size: int, start: int, at: int, labels: Int64s
) -> int:
    """The position of a row that is looked at; -1: there is none."""
    places, of = conditions.places, conditions.of
    found = -1
    if places[place, IS_CURRENT]:
        found = at
    elif places[place, LAST]:
        left = places[place, OFFSET]
        position = at
        while position >= start:
            if of[place, labels[position] >> 1]:
                if left == 0:
                    found = position
                    break
                left -= 1
            position -= 1
    else:
        left = places[place, OFFSET]
        for position in range(start, at + 1):
            if of[place, labels[position] >> 1]:
                if left == 0:
                    found = position
                    break
                left -= 1
    if found < 0:
        return -1
    found += places[place, PHYSICAL]
    return found if 0 <= found < size else -1


@inlined
def _is_less(one: float, other: float) -> bool:
    """NaN is the greatest number."""
    if np.isnan(other):
        return not np.isnan(one)
    return one < other


@inlined
def _is_equal(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and np.isnan(other))


@inlined
def _overflows(one: int, other: int, product: int) -> bool:
    """Whether a product is not that of two numbers."""
    about = abs(float(one) * float(other))
    if about < _SURELY_FITS:
        return False
    if one == -1 or other == -1:
        return product == np.iinfo(np.int64).min
    return about > _SURELY_TOO_GREAT or product // one != other


@in_place
def _aggregated(
    conditions: RowConditions,
    number: int,
    alive: Int64s,
    start: int,
    at: int,
    labels: Int64s,
    machine: ConditionMachine,
    top: int,
) -> None:
    """Put an aggregate over the rows from the start to the current one on the stack."""
    function, cell, of, by_label = (
        conditions.aggregates[number, 0],
        conditions.aggregates[number, 1],
        conditions.aggregates[number, 2],
        conditions.aggregates[number, 3],
    )
    count, whole, size = 0, 0, 0
    real = 0.0
    nans, above, below = 0, 0, 0
    for position in range(start, at + 1):
        variable = labels[position] >> 1
        if not conditions.of[of, variable]:
            continue
        if function == COUNT_ROWS:
            count += 1
            continue
        row = alive[position]
        column = cell + variable + 1 if by_label else cell
        if conditions.null[column, row]:
            continue
        count += 1
        if function == COUNT:
            continue
        if function in (SUM, AVERAGE):
            word = conditions.words[column, row]
            total = whole + word
            if (whole > 0 and word > 0 and total < 0) or (whole < 0 and word < 0 and total >= 0):
                machine.error[0] = OVERFLOW
            whole = total
        elif function in (SUM_FLOAT, AVERAGE_FLOAT):
            value = conditions.floats[column, row]
            if np.isnan(value):
                nans += 1
            elif value == np.inf:
                above += 1
            elif value == -np.inf:
                below += 1
            else:
                kept = 0
                for partial in range(size):
                    value, rest = two_sum(value, machine.partials[partial])
                    if rest != 0.0:
                        machine.partials[kept] = rest
                        kept += 1
                if value != 0.0:
                    machine.partials[kept] = value
                    kept += 1
                size = kept
        elif function in (LEAST, GREATEST):
            word = conditions.words[column, row]
            if count == 1 or (word < whole if function == LEAST else word > whole):
                whole = word
        else:
            value = conditions.floats[column, row]
            if count == 1 or (
                _is_less(value, real) if function == LEAST_FLOAT else _is_less(real, value)
            ):
                real = value
    machine.null[top] = False
    if function in (COUNT_ROWS, COUNT):
        machine.words[top] = count
    elif count == 0:
        machine.null[top] = True
        machine.words[top] = 0
    elif function in (SUM, LEAST, GREATEST):
        machine.words[top] = whole
    elif function == AVERAGE:
        machine.floats[top] = whole / count
    elif function in (LEAST_FLOAT, GREATEST_FLOAT):
        machine.floats[top] = real + 0.0
    else:
        high, low = 0.0, 0.0
        if nans > 0 or (above > 0 and below > 0):
            real = np.nan
        elif above > 0 or below > 0:
            real = np.inf if above > 0 else -np.inf
        elif size > 0:
            real, high, low = rounded(machine.partials, size)
        if function == AVERAGE_FLOAT and np.isfinite(real):
            quotient = high / count
            product, product_rest = two_product(quotient, float(count))
            real = quotient + ((high - product) - product_rest + low) / count
        machine.floats[top] = real


@inlined
def _looked_up(lookups: Lookups, machine: ConditionMachine, operation: int, top: int) -> int:
    """The place of an answer in the table; -1: it is not there, and is asked for now."""
    width = lookups.widths[operation]
    code = np.uint64(operation + 1)
    for operand in range(top - width, top):
        code = _mixed(code, machine.words[operand], machine.null[operand])
    mask = np.uint64(len(lookups.used) - 1)
    place = np.int64(code & mask)
    while lookups.used[place]:
        same = lookups.keys[place, 0] == operation
        for operand in range(width):
            same = same and (
                lookups.keys[place, 1 + 2 * operand] == machine.words[top - width + operand]
                and lookups.keys[place, 2 + 2 * operand] == machine.null[top - width + operand]
            )
        if same:
            return int(place)
        place = (place + 1) & np.int64(mask)
    if lookups.asks[0] < len(lookups.asked):
        question = lookups.asks[0]
        lookups.asked[question, 0] = operation
        for operand in range(width):
            lookups.asked[question, 1 + 2 * operand] = machine.words[top - width + operand]
            lookups.asked[question, 2 + 2 * operand] = machine.null[top - width + operand]
    lookups.asks[0] += 1
    return -1


@in_place
def is_true(
    conditions: RowConditions,
    lookups: Lookups,
    machine: ConditionMachine,
    variable: int,
    alive: Int64s,
    size: int,
    start: int,
    at: int,
    labels: Int64s,
    number: int,
) -> bool:
    """Whether the code of a variable's condition is true of the row at a position, which has its
    label already. `start`: where the match begins; `number`: of the match."""
    words, floats, null = machine.words, machine.floats, machine.null
    step, stop, top = conditions.base[variable], conditions.stop[variable], 0
    while step < stop:
        operation = conditions.code[step, 0]
        one, two = conditions.code[step, 1], conditions.code[step, 2]
        step += 1
        if operation in (LOAD, LOAD_BY_LABEL):
            position = _found(conditions, two, size, start, at, labels)
            row = alive[position] if position >= 0 else -1
            column = one
            if operation == LOAD_BY_LABEL and start <= position <= at:
                column += 1 + (labels[position] >> 1)
            if row < 0:
                row = conditions.words.shape[1] - 1
            words[top], null[top] = conditions.words[column, row], conditions.null[column, row]
            top += 1
        elif operation == LOAD_ROW:  # the row, and its label if that matters
            position = _found(conditions, two, size, start, at, labels)
            row = alive[position] if position >= 0 else conditions.words.shape[1] - 1
            label = 0
            if one and start <= position <= at:
                label = 1 + (labels[position] >> 1)
            words[top], null[top] = row * (conditions.of.shape[1] + 1) + label, False
            top += 1
        elif operation == CONSTANT:
            words[top], null[top] = conditions.constants[one], conditions.constant_null[one]
            top += 1
        elif operation == NUMBER:
            words[top], null[top] = number, False
            top += 1
        elif operation == AGGREGATE:
            _aggregated(conditions, one, alive, start, at, labels, machine, top)
            top += 1
        elif operation == JUMP:
            step = one
        elif operation == JUMP_UNLESS:
            top -= 1
            if null[top] or words[top] == 0:
                step = one
        elif operation == JUMP_IF_FALSE:  # and keep it
            if not null[top - 1] and words[top - 1] == 0:
                step = one
        elif operation == JUMP_IF_TRUE:
            if not null[top - 1] and words[top - 1] != 0:
                step = one
        elif operation == JUMP_IF_THERE:
            if null[top - 1]:
                top -= 1
            else:
                step = one
        elif operation == NOT:
            words[top - 1] = words[top - 1] == 0
        elif operation == IS_NULL:
            words[top - 1], null[top - 1] = null[top - 1], False
        elif operation == NEGATE or operation == ABSOLUTE:
            if words[top - 1] == -one - 1 and not null[top - 1]:
                machine.error[0] = OVERFLOW
            if operation == NEGATE or words[top - 1] < 0:
                words[top - 1] = -words[top - 1]
        elif operation == NEGATE_FLOAT:
            floats[top - 1] = -floats[top - 1]
        elif operation == ABSOLUTE_FLOAT:
            floats[top - 1] = abs(floats[top - 1])
        elif operation == TO_FLOAT:
            floats[top - 1] = float(words[top - 1])
        elif operation == SWAP:
            words[top - 1], words[top - 2] = words[top - 2], words[top - 1]
            null[top - 1], null[top - 2] = null[top - 2], null[top - 1]
        elif operation == LOOKUP:
            place = _looked_up(lookups, machine, one, top)
            top -= lookups.widths[one]
            if place >= 0:
                words[top], null[top] = lookups.words[place], lookups.null[place]
            else:
                words[top], null[top] = 0, True
            top += 1
        else:  # two operands
            top -= 1
            a, b = words[top - 1], words[top]
            x, y = floats[top - 1], floats[top]
            if operation == AND or operation == OR:
                decides = operation == OR
                if (not null[top - 1] and (a != 0) == decides) or (
                    not null[top] and (b != 0) == decides
                ):
                    words[top - 1], null[top - 1] = decides, False
                else:
                    null[top - 1] = null[top - 1] or null[top]
                    words[top - 1] = not decides
                continue
            if operation == SAME or operation == SAME_FLOAT:
                same = a == b if operation == SAME else _is_equal(x, y)
                if null[top - 1] or null[top]:
                    same = null[top - 1] and null[top]
                words[top - 1], null[top - 1] = same, False
                continue
            if null[top - 1] or null[top]:
                words[top - 1], null[top - 1] = 0, True
            elif operation == EQUAL:
                words[top - 1] = a == b
            elif operation == LESS:
                words[top - 1] = a < b
            elif operation == LESS_EQUAL:
                words[top - 1] = a <= b
            elif operation == EQUAL_FLOAT:
                words[top - 1] = _is_equal(x, y)
            elif operation == LESS_FLOAT:
                words[top - 1] = _is_less(x, y)
            elif operation == LESS_EQUAL_FLOAT:
                words[top - 1] = not _is_less(y, x)
            elif operation == ADD_FLOAT:
                floats[top - 1] = x + y
            elif operation == SUBTRACT_FLOAT:
                floats[top - 1] = x - y
            elif operation == MULTIPLY_FLOAT:
                floats[top - 1] = x * y
            elif operation == DIVIDE_FLOAT:
                if y == 0.0:
                    machine.error[0] = DIVISION_BY_ZERO
                    floats[top - 1] = 0.0
                else:
                    floats[top - 1] = x / y
            else:
                result = a + b
                wrong = (a >= 0) == (b >= 0) and (result >= 0) != (a >= 0)
                if operation == SUBTRACT:
                    result = a - b
                    wrong = (a >= 0) != (b >= 0) and (result >= 0) != (a >= 0)
                elif operation == MULTIPLY:
                    result = a * b
                    wrong = _overflows(a, b, result)
                # `one` is the greatest number of the type
                if wrong or result > one or result < -one - 1:
                    machine.error[0] = OVERFLOW
                words[top - 1] = result
    return not null[0] and words[0] != 0


@compiled
def remember(lookups: Lookups, keys: Int64Table, words: Int64s, null: Mask) -> None:
    """Put answers into the table."""
    mask = np.int64(len(lookups.used) - 1)
    for number in range(len(keys)):
        width = lookups.widths[keys[number, 0]]
        code = np.uint64(keys[number, 0] + 1)
        for operand in range(width):
            code = _mixed(code, keys[number, 1 + 2 * operand], keys[number, 2 + 2 * operand] != 0)
        place = np.int64(code & np.uint64(mask))
        while lookups.used[place]:
            place = (place + 1) & mask
        lookups.used[place] = True
        lookups.keys[place] = keys[number]
        lookups.words[place], lookups.null[place] = words[number], null[number]


@inlined
def _mixed(code: np.uint64, word: int, is_null: bool) -> np.uint64:
    code = (code ^ (np.uint64(word) + np.uint64(is_null))) * np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(29))
