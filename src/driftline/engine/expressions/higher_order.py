"""Functions that take functions, whose bodies are evaluated once for the items of all rows.

`items` is a frame of items: for each the row that it belongs to, and the values of the parameters.
Only aggregate and array_sort go step by step, by the places in the lists, each step for all rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Value,
    both_valid,
    numbers,
    to_mask,
    valid_mask,
)
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.frames import CompiledExpression, ExpressionInput, ItemFrame
from driftline.engine.expressions.lists import (
    Positions,
    any_per_row,
    items_of,
    keep_items,
    list_starts,
    lists_from,
    pick,
    rows_of_items,
)
from driftline.plan.expressions import Call, Lambda

Run = Callable[[ExpressionInput], Value]


def _function(call: Call, place: int) -> Lambda:
    function = call.args[place]
    assert isinstance(function, Lambda)
    return function


def _items(call: Call, frame: ExpressionInput, array: Array) -> ItemFrame:
    """The items of all lists, with their places from 0 if the function takes them."""
    parameters = _function(call, 1).parameters
    rows = rows_of_items(array)
    values = [items_of(array)]
    if len(parameters) > 1:
        values.append(pa.array((np.arange(len(rows)) - list_starts(array)[rows]).astype(np.int32)))
    named = {each.name: value for each, value in zip(parameters, values, strict=True)}
    return ItemFrame(frame, rows, named)


def transform_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """transform(array, x -> body)."""
    array, body = steps

    def run(frame: ExpressionInput) -> Value:
        lists = array.array(frame)
        made = body.array(_items(call, frame, lists))
        return lists_from(made, lengths_of(lists), both_valid(lists), call.kind)

    return CompiledExpression(run, call.kind, array.total and body.total)


def filter_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """filter(array, x -> condition)."""
    array, body = steps

    def run(frame: ExpressionInput) -> Value:
        lists = array.array(frame)
        return keep_items(lists, to_mask(body.array(_items(call, frame, lists))))

    return CompiledExpression(run, call.kind, array.total and body.total)


def some_or_all_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """exists and forall: unknown if an item is, and none decides. Spark looks at the items in
    order up to the one that decides; one after it is not evaluated."""
    array, body = steps
    decides = call.function == "exists"

    def run(frame: ExpressionInput) -> Value:
        lists = array.array(frame)
        rows = rows_of_items(lists)
        items = _items(call, frame, lists)
        tests = body.array(items) if body.total else _in_order(body, items, lists, decides)
        found = any_per_row(rows, _equal(tests, decides), frame.length)
        unknown = any_per_row(rows, ~valid_mask(tests), frame.length) & ~found
        missing = unknown | ~valid_mask(lists)
        return pa.array(found if decides else ~found, pa.bool_(), mask=missing)

    return CompiledExpression(run, call.kind, array.total and body.total)


def _equal(tests: Array, truth: bool) -> Mask:
    return to_mask(tests if truth else pc.invert(tests))


def _in_order(body: CompiledExpression, items: ItemFrame, lists: Array, decides: bool) -> Array:
    """The tests of items, place by place, until one decides; false (true) for those after it."""
    rows, starts, lengths = rows_of_items(lists), list_starts(lists), lengths_of(lists)
    tests = np.full(len(rows), not decides)
    known = np.ones(len(rows), dtype=np.bool_)
    still = np.ones(len(lists), dtype=np.bool_)
    for place in range(int(lengths.max(initial=0))):
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[(starts + place)[still & (lengths > place)]] = True
        found = body.array(items.where(chosen))
        tests[chosen] = to_mask(found)
        known[chosen] = valid_mask(found)
        still[rows[chosen][_equal(found, decides)]] = False
    return pa.array(tests, mask=~known)


def zip_with_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """zip_with(a, b, (x, y) -> body); the shorter list goes on with nulls."""
    first, second, body = steps
    parameters = _function(call, 2).parameters

    def run(frame: ExpressionInput) -> Value:
        sides = [first.array(frame), second.array(frame)]
        valid = both_valid(*sides)
        lengths = np.maximum(*(lengths_of(side) for side in sides))
        if valid is not None:
            lengths = np.where(valid, lengths, 0)
        rows = np.repeat(np.arange(frame.length), lengths)
        places = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[rows]
        named = {
            each.name: pick(side.take(pa.array(rows)), places, places < lengths_of(side)[rows])
            for each, side in zip(parameters, sides, strict=True)
        }
        made = body.array(ItemFrame(frame, rows, named))
        return lists_from(made, lengths, valid, call.kind)

    return CompiledExpression(run, call.kind, all(step.total for step in steps))


def aggregate_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """aggregate(array, start, (accumulator, x) -> merge[, accumulator -> finish])."""
    array, start, merge, *finish = steps
    so_far, item = (each.name for each in _function(call, 2).parameters)

    def run(frame: ExpressionInput) -> Value:
        lists = array.array(frame)
        lengths, valid = lengths_of(lists), valid_mask(lists)
        held = start.array_where(frame, valid)
        for place in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            here = lists.take(pa.array(rows))
            each = pick(here, np.full(len(rows), place), np.ones(len(rows), dtype=np.bool_))
            named = {so_far: held.take(pa.array(rows)), item: each}
            merged = merge.array(ItemFrame(frame, rows, named))
            held = _put(held, rows, merged)
        if not finish:
            return held.take(pa.array(np.arange(frame.length), mask=~valid))
        rows = np.flatnonzero(valid)
        named = {_function(call, 3).parameters[0].name: held.take(pa.array(rows))}
        ended = finish[0].array(ItemFrame(frame, rows, named))
        places = np.cumsum(valid) - 1
        return ended.take(pa.array(places, mask=~valid))

    return CompiledExpression(run, call.kind, all(step.total for step in steps))


def _put(values: Array, rows: Positions, others: Array) -> Array:
    """The values with others in some rows."""
    places = np.arange(len(values))
    places[rows] = len(values) + np.arange(len(rows))
    return pa.concat_arrays([values, others]).take(pa.array(places))


def array_sort_step(call: Call, steps: list[CompiledExpression]) -> CompiledExpression:
    """array_sort(array, (x, y) -> comparison): stable, by binary insertion, all rows in step."""
    array, body = steps
    one, other = (each.name for each in _function(call, 1).parameters)

    def run(frame: ExpressionInput) -> Value:
        lists = array.array(frame)
        items, starts, lengths = items_of(lists), list_starts(lists), lengths_of(lists)
        order = np.arange(len(items))

        def is_before(rows: Positions, first: Positions, second: Positions) -> Mask:
            named = {one: items.take(pa.array(first)), other: items.take(pa.array(second))}
            found = body.array(ItemFrame(frame, rows, named))
            if found.null_count:
                raise EvaluationError(
                    "COMPARATOR_RETURNS_NULL", "the function of array_sort is null for two items"
                )
            before: Mask = numbers(found) < 0
            return before

        for place in range(1, int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            low, high = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), place)
            moved = order[starts[rows] + place]
            while (searching := low < high).any():
                chosen = rows[searching]
                middle = (low[searching] + high[searching]) // 2
                before = is_before(chosen, moved[searching], order[starts[chosen] + middle])
                high[searching] = np.where(before, middle, high[searching])
                low[searching] = np.where(before, low[searching], middle + 1)
            for row, to, each in zip(rows, low, moved, strict=True):
                begin = starts[row]
                order[begin + to + 1 : begin + place + 1] = order[begin + to : begin + place]
                order[begin + to] = each
        return lists_from(items.take(pa.array(order)), lengths, both_valid(lists), call.kind)

    return CompiledExpression(run, call.kind, total=False)


HIGHER_ORDER_STEPS: dict[str, Callable[[Call, list[CompiledExpression]], CompiledExpression]] = {
    "transform": transform_step,
    "filter": filter_step,
    "exists": some_or_all_step,
    "forall": some_or_all_step,
    "zip_with": zip_with_step,
    "aggregate": aggregate_step,
    "array_sort_by": array_sort_step,
}
