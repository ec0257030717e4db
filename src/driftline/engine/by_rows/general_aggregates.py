"""Group by with any aggregates, by the rows of every snapshot; without keys, the global aggregate.

    γ_{keys; aggregates}(H), at every time:
        one row (keys, aggregates of the group) for every group of the snapshot that is not empty

Every aggregate is a function of the bag of its argument's values, and, for first, last and
array_agg, of their vs; equal vs go by value. `distinct` leaves of equal values the one with the
least vs; min, max, first and last do not heed it. How numbers are added up is described in
`exact_numbers`. HAVING is a select on the result.

State: see `snapshots`; of the rows only the arguments are kept. Where pieces share most of their
rows, `incremental_aggregates` computes what can be computed from the rows that come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import OF_PAIRS, Aggregate
from driftline.engine.by_rows import exact_numbers, incremental_aggregates, piece_kernels
from driftline.engine.by_rows.changed_values import is_true
from driftline.engine.by_rows.exact_numbers import Factors, Numbers
from driftline.engine.by_rows.incremental_aggregates import (
    MEDIAN,
    normal,
    rank_of_share,
    results_of,
)
from driftline.engine.by_rows.pieces import ChangedPieces, Pieces, PiecesOperator
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.model.user_defined import UserDefinedAggregate


class GeneralGroupBy(PiecesOperator):
    """`keys` are columns of the input; so are the arguments of the aggregates."""

    adds_up = True

    def __init__(
        self, schema: pa.Schema, keys: list[str], aggregates: list[Aggregate], level: Level
    ) -> None:
        for aggregate in aggregates:
            _check(aggregate, schema)
        used = [name for item in aggregates for name in (item.argument, item.only)]
        self.aggregates = aggregates
        self.goes_by_changes = all(map(incremental_aggregates.is_possible, aggregates))
        super().__init__(
            schema,
            keys,
            list(dict.fromkeys(name for name in used if name is not None)),
            pa.schema([pa.field(item.name, item.type) for item in aggregates]),
            level,
            with_keys=True,
        )

    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        found = columns(pieces, self.aggregates)
        return np.arange(len(pieces)), pa.RecordBatch.from_arrays(found, schema=self.answer_schema)

    def evaluate_changes(self, pieces: ChangedPieces) -> tuple[Int64s, pa.RecordBatch] | None:
        columns = incremental_aggregates.columns(pieces, self.aggregates)
        if columns is None:
            return None
        rows = pa.RecordBatch.from_arrays(columns, schema=self.answer_schema)
        return np.arange(len(pieces)), rows


def columns(pieces: Pieces, aggregates: list[Aggregate]) -> list[pa.Array]:
    """The aggregates of every piece."""
    found: list[pa.Array] = []
    values: dict[tuple[str, bool, str | None], Values] = {}
    for aggregate in aggregates:
        if aggregate.argument is None:
            found.append(pa.array(np.diff(pieces.offsets)).cast(aggregate.type))
            continue
        key = (aggregate.argument, aggregate.distinct, aggregate.only)
        if key not in values:
            values[key] = Values(pieces, *key)
        column = FUNCTIONS[aggregate.function](values[key], aggregate)
        found.append(column if column.type == aggregate.type else column.cast(aggregate.type))
    return found


class Values:
    """The values of one argument in every piece.

    `offsets`, `members`: the pieces without nulls (and without repetitions, if `is_distinct`);
    `column`, `keys`, `valid`: the value of each member, and what stands for it in order. Where
    `only` names a column, the pieces are those of the rows for which it is true.
    """

    def __init__(
        self, pieces: Pieces, argument: str, is_distinct: bool, only: str | None = None
    ) -> None:
        if only is not None:
            wanted = is_true(pieces.rows.column(only))
            offsets, members = piece_kernels.present(pieces.offsets, pieces.members, wanted)
            pieces = Pieces(offsets, members, pieces.rows, pieces.vs)
        self.pieces, self.is_distinct = pieces, is_distinct
        self.column = pieces.rows.column(argument)
        self.valid = valid(self.column)
        self.offsets, self.members = pieces.offsets, pieces.members
        if self.column.null_count:
            self.offsets, self.members = piece_kernels.present(
                self.offsets, self.members, self.valid
            )
        self._keys: Int64s | None = None
        self._arranged: Int64s | None = None
        self._numbers: Numbers | None = None
        if is_distinct:
            self.offsets, self.members = piece_kernels.distinct(
                self.offsets, self.members, self.keys, pieces.vs
            )
            self._arranged = self.members

    @property
    def keys(self) -> Int64s:
        if self._keys is None:
            self._keys = order_keys(self.column)
        return self._keys

    @property
    def arranged(self) -> Int64s:
        """The members of each piece, from the least value to the greatest."""
        if self._arranged is None:
            self._arranged = piece_kernels.arranged(self.offsets, self.members, self.keys)
        return self._arranged

    @property
    def numbers(self) -> Numbers:
        """The values as numbers to add up."""
        if self._numbers is None:
            self._numbers = Numbers(self.column, self.valid)
        return self._numbers

    @property
    def counts(self) -> Int64s:
        return np.diff(self.offsets)

    def taken(self, members: Int64s) -> pa.Array:
        """The values of some members; null for -1."""
        return self.column.take(pa.array(members, mask=members < 0))


def _count(values: Values, aggregate: Aggregate) -> pa.Array:
    return pa.array(values.counts)


def _sum(values: Values, aggregate: Aggregate) -> pa.Array:
    return exact_numbers.sums(values.numbers, values.offsets, values.members, aggregate.type)


def _avg(values: Values, aggregate: Aggregate) -> pa.Array:
    return exact_numbers.averages(values.numbers, values.offsets, values.members, aggregate.type)


def _variance(degrees_lost: int, root: bool) -> Callable[[Values, Aggregate], pa.Array]:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        found = exact_numbers.variances(
            values.numbers, values.offsets, values.members, degrees_lost
        )
        results = np.sqrt(found) if root else found
        return pa.array(results, mask=values.counts <= degrees_lost)

    return column


def _extreme(sign: int) -> Callable[[Values, Aggregate], pa.Array]:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        at_once = np.zeros(len(values.keys), np.int64)
        return normal(
            values.taken(
                piece_kernels.extreme(
                    values.offsets, values.members, at_once, values.valid, values.keys, sign
                )
            )
        )

    return column


def _by_time(sign: int) -> Callable[[Values, Aggregate], pa.Array]:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        pieces = values.pieces  # here a null is a value like any other
        return values.taken(
            piece_kernels.extreme(
                pieces.offsets, pieces.members, pieces.vs, values.valid, values.keys, sign
            )
        )

    return column


def _percentile(values: Values, aggregate: Aggregate) -> pa.Array:
    share = MEDIAN if aggregate.parameter is None else aggregate.parameter
    empty = values.counts == 0
    if len(values.members) == 0:
        return pa.nulls(len(empty), pa.float64())
    place = share * np.maximum(values.counts - 1, 0)
    part = place - np.floor(place)
    first = np.where(empty, 0, values.offsets[:-1])
    lower = values.arranged[first + np.floor(place).astype(np.int64)]
    upper = values.arranged[first + np.ceil(place).astype(np.int64)]
    numbers = exact_numbers.as_floats(values.column)
    with np.errstate(invalid="ignore"):
        between = (1 - part) * numbers[lower] + part * numbers[upper]
    same = values.keys[lower] == values.keys[upper]
    return pa.array(np.where(same, numbers[lower], between), mask=empty)


def _percentile_disc(descending: bool) -> Callable[[Values, Aggregate], pa.Array]:
    """The least value that is not less than a share of all; descending, from the greatest on."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        empty = values.counts == 0
        if len(values.members) == 0:
            return pa.nulls(len(empty), aggregate.type)
        place = rank_of_share(values.counts, aggregate.parameter)
        place = values.counts - 1 - place if descending else place
        first = np.where(empty, 0, values.offsets[:-1])
        return values.taken(np.where(empty, -1, values.arranged[first + np.where(empty, 0, place)]))

    return column


def _mode(values: Values, aggregate: Aggregate) -> pa.Array:
    """The value that is there most often, of several the least; with a parameter the greatest."""
    offsets, arranged = values.offsets, values.arranged
    if aggregate.parameter is None:
        return normal(values.taken(piece_kernels.most_frequent(offsets, arranged, values.keys)))
    backwards = np.ascontiguousarray(arranged[::-1])
    mirrored = np.ascontiguousarray(len(arranged) - offsets[::-1])
    found = piece_kernels.most_frequent(mirrored, backwards, values.keys)
    return normal(values.taken(np.ascontiguousarray(found[::-1])))


def _covariance(degrees_lost: int) -> Callable[[Values, Aggregate], pa.Array]:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        factors = Factors(values.column, values.valid)
        found = exact_numbers.covariances(factors, values.offsets, values.members, degrees_lost)
        return pa.array(found, mask=values.counts <= degrees_lost)

    return column


def _per_piece(values: Values, reduce: Any, items: NDArray[Any]) -> NDArray[Any]:
    """What a ufunc makes of the items of each piece; 0 where it is empty."""
    found = np.zeros(len(values.counts), items.dtype)
    filled = values.counts > 0
    if filled.any():
        found[filled] = reduce.reduceat(items, values.offsets[:-1][filled])
    return found


def _bits(reduce: Any) -> Callable[[Values, Aggregate], pa.Array]:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        items = values.column.take(pa.array(values.members)).to_numpy(zero_copy_only=False)
        return pa.array(_per_piece(values, reduce, items), mask=values.counts == 0)

    return column


def _moment(power: int) -> Callable[[Values, Aggregate], pa.Array]:
    """skewness (3) and kurtosis (4), null where the values do not vary."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        return exact_numbers.moments(values.numbers, values.offsets, values.members, power)

    return column


def _array_agg(values: Values, aggregate: Aggregate) -> pa.Array:
    by_time = piece_kernels.arranged_in_time(
        values.offsets, values.members, values.pieces.vs, values.keys
    )
    offsets = pa.array(values.offsets, pa.int32())
    items = values.column.take(pa.array(by_time))
    return pa.ListArray.from_arrays(offsets, items)


def _user_defined(values: Values, aggregate: Aggregate) -> pa.Array:
    """Computed afresh for every piece, by Python."""
    definition: Any = aggregate.definition
    items = values.column.to_pylist()
    if pa.types.is_nested(values.column.type):
        items = [Row(value=item)["value"] for item in items]  # as rows and tuples
    arranged, offsets = values.arranged.tolist(), values.offsets.tolist()
    results = []
    for piece in range(len(offsets) - 1):
        state = definition.initial()
        for member in arranged[offsets[piece] : offsets[piece + 1]]:
            state = definition.add(state, items[member])
        results.append(definition.result(state))
    return results_of(results, aggregate)


FUNCTIONS: dict[str, Callable[[Values, Aggregate], pa.Array]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme(1),
    "max": _extreme(-1),
    "variance": _variance(1, root=False),
    "variance_pop": _variance(0, root=False),
    "stddev": _variance(1, root=True),
    "stddev_pop": _variance(0, root=True),
    "median": _percentile,
    "percentile": _percentile,
    "percentile_disc": _percentile_disc(descending=False),
    "percentile_disc_desc": _percentile_disc(descending=True),
    "skewness": _moment(3),
    "kurtosis": _moment(4),
    "bit_and": _bits(np.bitwise_and),
    "bit_or": _bits(np.bitwise_or),
    "bit_xor": _bits(np.bitwise_xor),
    "mode": _mode,
    "covar_pop": _covariance(0),
    "covar_samp": _covariance(1),
    "first": _by_time(1),
    "last": _by_time(-1),
    "array_agg": _array_agg,
    "user_defined": _user_defined,
}
OF_ANY = {"count", "min", "max", "first", "last", "array_agg", "mode", "user_defined"}


def _check(aggregate: Aggregate, schema: pa.Schema) -> None:
    """Refuse what cannot be computed, with the reason."""
    name, function = aggregate.name, aggregate.function
    if function not in FUNCTIONS:
        raise ValueError(f"{name}: there is no aggregate {function!r}")
    if aggregate.argument is None:
        if function != "count" or aggregate.distinct:
            raise ValueError(f"{name}: {function} needs an argument")
        return
    kind = schema.field(aggregate.argument).type
    if function in OF_PAIRS:
        if not pa.types.is_struct(kind) or [each.type for each in kind] != 2 * [pa.float64()]:
            raise ValueError(f"{name}: {function} needs pairs of doubles")
        return
    if function not in OF_ANY and not exact_numbers.is_number(kind):
        raise ValueError(f"{name}: {function} needs numbers, and {aggregate.argument} is {kind}")
    share = aggregate.parameter
    if function.startswith("percentile") and (share is None or not 0 <= share <= 1):
        raise ValueError(f"{name}: a percentile needs a share from 0 to 1, not {share}")
    if function == "user_defined" and not isinstance(aggregate.definition, UserDefinedAggregate):
        raise ValueError(f"{name}: its definition needs the methods initial, add and result")
