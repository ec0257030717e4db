from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import Lifetime
from driftline.model.reference import aggregates as agg
from driftline.model.row import Row
from driftline.model.user_defined import UserDefinedAggregate

INF, NAN = math.inf, math.nan


def group(*values: Any) -> list[Lifetime]:
    """A group whose n-th value starts at time n."""
    return [Lifetime(vs, 100, Row(x=value)) for vs, value in enumerate(values)]


def x(row: Row) -> Any:
    return row["x"]


def same(left: Any, right: Any) -> bool:
    return repr(left) == repr(right)


@pytest.mark.parametrize(
    ("aggregate", "values", "expected"),
    [
        (agg.count_all(), (1, None, 1), 3),
        (agg.count(x), (1, None, 1), 2),
        (agg.count_distinct(x), (1, None, 1, 2, NAN, NAN), 3),
        (agg.sum_(x), (1, None, 2), 3),
        (agg.sum_(x), (None, None), None),
        (agg.sum_(x), (Decimal("0.10"), Decimal("0.2")), Decimal("0.30")),
        (agg.sum_(x), (1e308, 1e308), INF),
        (agg.sum_(x), (1e308, 1e308, -1e308), 1e308),
        (agg.sum_(x), (INF, 1.0), INF),
        (agg.sum_(x), (INF, -INF), NAN),
        (agg.sum_(x), (NAN, 1.0), NAN),
        (agg.first(x), (None, 2, 3), None),
        (agg.first(x, ignore_nulls=True), (None, 2, 3), 2),
        (agg.last(x, ignore_nulls=True), (1, 2, None), 2),
        (agg.last(x, ignore_nulls=True), (None, None), None),
        (agg.filtered(agg.last(x), lambda row: row["x"] != 3), (1, None, 3), None),
        (agg.filtered(agg.first(x), lambda row: None), (1, 2), None),
        (agg.filtered(agg.sum_(x), lambda row: row["x"] > 1), (1, 2, 3), 5),
        (agg.avg(x), (1, 2, None), 1.5),
        (agg.avg(x), (None,), None),
        (agg.avg(x), (2**62, 2**62, 2**62), float(2**62)),
        (agg.avg(x), (Decimal("1.0"), Decimal("2.0"), Decimal("2.0")), Decimal("1.66667")),
        (agg.avg(x), (INF, 1.0), INF),
        (agg.min_(x), (3, None, 1), 1),
        (agg.max_(x), (3, None, 1), 3),
        (agg.max_(x), (3.0, NAN), NAN),
        (agg.min_(x), ("b", "a"), "a"),
        (agg.min_(x), (None,), None),
        (agg.variance(x), (1, 2, 3, 4), 5 / 3),
        (agg.variance(x), (1,), None),
        (agg.variance(x), (1.0, INF), NAN),
        (agg.variance_pop(x), (1, 2, 3, 4), 1.25),
        (agg.variance_pop(x), (1,), 0.0),
        (agg.variance_pop(x), (None,), None),
        (agg.stddev(x), (2, 4), math.sqrt(2)),
        (agg.stddev_pop(x), (2, 4), 1.0),
        (agg.stddev(x), (2,), None),
        (agg.skewness(x), (1, 1, 1, 5), 1.1547005383792515),
        (agg.skewness(x), (-1.0, 0.0, 1.0), 0.0),
        (agg.kurtosis(x), (1, None, 3), -2.0),
        (agg.kurtosis(x), (2, 2), None),
        (agg.skewness(x), (None,), None),
        (agg.kurtosis(x), (1.0, INF), NAN),
        (agg.bit_and(x), (12, None, 10), 8),
        (agg.bit_or(x), (12, 10), 14),
        (agg.bit_xor(x), (12, 10, -1), -7),
        (agg.bit_xor(x), (None,), None),
        (agg.different(agg.sum_, x), (2, None, 2, 3), 5),
        (agg.median(x), (5, 1, None, 2), 2.0),
        (agg.median(x), (1, 2), 1.5),
        (agg.percentile(x, 0.25), (1, 2, 3, 4), 1.75),
        (agg.percentile(x, 1.0), (1, 2, 3, 4), 4.0),
        (agg.percentile(x, 0.5), (INF, INF), INF),
        (agg.percentile(x, 0.5), (None,), None),
        (agg.first(x), (None, 1, 2), None),
        (agg.last(x), (2, 1, 3), 3),
        (agg.array_agg(x), (2, None, 1), (2, 1)),
    ],
)
def test_values(aggregate: agg.Aggregate, values: Sequence[Any], expected: Any) -> None:
    assert same(aggregate(group(*values)), expected)


def test_equal_times_are_decided_by_the_value() -> None:
    tie = [Lifetime(1, 9, Row(x=value)) for value in (2, 3, 1)]
    assert agg.first(x)(tie) == 1
    assert agg.last(x)(tie) == 3
    assert agg.array_agg(x)(tie) == (1, 2, 3)


def test_an_integer_sum_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(OverflowError, match="does not fit a BIGINT"):
        agg.sum_(x)(group(2**63 - 1, 1))
    assert agg.sum_(x)(group(2**63 - 1, 1, -1)) == 2**63 - 1


def test_a_share_is_from_0_to_1() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        agg.percentile(x, 1.5)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.randoms())
def test_float_sums_are_exact_and_do_not_depend_on_order(values: list[float], random: Any) -> None:
    total = agg.sum_(x)(group(*values))
    random.shuffle(values)
    assert agg.sum_(x)(group(*values)) == total
    if math.isfinite(total) and max(map(abs, values)) < 1e300:
        assert total == math.fsum(values)


class Product:
    """A user's aggregate."""

    def initial(self) -> int:
        return 1

    def add(self, state: int, value: int) -> int:
        return state * value

    def result(self, state: int) -> int:
        return state


def test_user_defined() -> None:
    assert isinstance(Product(), UserDefinedAggregate)
    assert agg.user_defined(Product(), x)(group(2, None, 5)) == 10
