"""Vectors: arrays of floats. Sums are those of doubles, and then rounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Value,
    both_valid,
    from_numbers,
    numbers,
    valid_mask,
)
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import (
    any_per_row,
    items_of,
    list_starts,
    lists_from,
    rows_of_items,
)
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import FLOAT

Doubles = npt.NDArray[np.float64]


def _summed(values: Doubles, vectors: Array) -> Doubles:
    """The sum of values, one for each item, over the items of each vector."""
    sums = np.bincount(rows_of_items(vectors), values, minlength=len(vectors))
    return sums.astype(np.float64)


def _whole(*vectors: Array) -> Mask:
    """Where none is null, nor has an item that is."""
    found = np.ones(len(vectors[0]), np.bool_)
    for each in vectors:
        found &= valid_mask(each)
        found &= ~any_per_row(rows_of_items(each), ~valid_mask(items_of(each)), len(each))
    return found


@kernel("vector_inner_product vector_l2_distance vector_cosine_similarity")
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    known = both_valid(*args)  # where both are there, and have as many items
    if known is not None:
        args = [each.filter(pa.array(known)) for each in args]
    left, right = args
    differ = np.flatnonzero(lengths_of(left) != lengths_of(right))
    if len(differ):
        one, other = (int(lengths_of(each)[differ[0]]) for each in args)
        raise _mismatch(call.function, one, other)
    a, b = (numbers(items_of(each)).astype(np.float64) for each in args)
    there = _whole(left, right)
    with np.errstate(all="ignore"):
        if call.function == "vector_l2_distance":
            found = np.sqrt(_summed((a - b) ** 2, left))
        else:
            found = _summed(a * b, left)
        if call.function == "vector_cosine_similarity":
            lengths = np.sqrt(_summed(a * a, left) * _summed(b * b, left))
            there &= lengths != 0
            found = found / lengths
        result = from_numbers(found.astype(np.float32), there, FLOAT)
    if known is None:
        return result
    places = pa.array(np.cumsum(known) - 1, mask=~known)
    return result.take(places)


def _norms(vectors: Array, degrees: Doubles, function: str) -> Doubles:
    values = np.abs(numbers(items_of(vectors)).astype(np.float64))
    greatest = np.zeros(len(vectors))
    np.maximum.at(greatest, rows_of_items(vectors), values)
    by_degree = {
        1.0: _summed(values, vectors),
        2.0: np.sqrt(_summed(values * values, vectors)),
        np.inf: greatest,
    }
    odd = degrees[valid_mask(vectors) & ~np.isin(degrees, list(by_degree))]
    if len(odd):
        raise EvaluationError(
            "INVALID_VECTOR_NORM_DEGREE",
            f"{function}: the degree is 1, 2 or infinite, not {odd[0]}",
        )
    return np.select([degrees == each for each in by_degree], list(by_degree.values()), 0.0)


@kernel("vector_norm")
def _norm(call: Call, args: Sequence[Value]) -> Array:
    vectors, degrees = args
    with np.errstate(all="ignore"):
        found = _norms(vectors, numbers(degrees).astype(np.float64), call.function)
        return from_numbers(found.astype(np.float32), _whole(vectors) & valid_mask(degrees), FLOAT)


@kernel("vector_normalize")
def _normalized(call: Call, args: Sequence[Value]) -> Array:
    vectors, degrees = args
    with np.errstate(all="ignore"):
        norms = _norms(vectors, numbers(degrees).astype(np.float64), call.function)
        items = numbers(items_of(vectors)).astype(np.float64) / norms[rows_of_items(vectors)]
        items = from_numbers(items.astype(np.float32), None, FLOAT)
    there = _whole(vectors) & valid_mask(degrees) & ((norms != 0) | (lengths_of(vectors) == 0))
    return lists_from(items, lengths_of(vectors), there, vectors.type)


@kernel("vector_sum vector_avg")
def _of_many(call: Call, args: Sequence[Value]) -> Array:
    """The sum or the mean of the vectors of each list, item by item, as floats; vectors with a null
    are left out."""
    lists = args[0]
    vectors = items_of(lists)
    ends = np.cumsum(lengths_of(lists))
    whole = _whole(vectors)
    values, starts, sizes = numbers(items_of(vectors)), list_starts(vectors), lengths_of(vectors)
    made: list[list[float] | None] = []
    for first, end in zip((ends - lengths_of(lists)).tolist(), ends.tolist(), strict=True):
        chosen = first + np.flatnonzero(whole[first:end])
        if len(chosen) == 0:
            made.append(None)
            continue
        differ = chosen[sizes[chosen] != sizes[chosen[0]]]
        if len(differ):
            raise _mismatch(call.function, int(sizes[chosen[0]]), int(sizes[differ[0]]))
        own_values = [values[starts[place] : starts[place] + sizes[place]] for place in chosen]
        found = own_values[0].copy()
        with np.errstate(all="ignore"):
            for count, own in enumerate(own_values[1:], start=2):
                found += (own - found) / np.float32(count) if call.function == "vector_avg" else own
        made.append(found.tolist())
    return pa.array(made, call.kind)


def _mismatch(function: str, one: int, other: int) -> EvaluationError:
    return EvaluationError(
        "VECTOR_DIMENSION_MISMATCH", f"{function}: a vector of {one} and one of {other} values"
    )
