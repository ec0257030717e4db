"""The aggregates: each a function from the lifetimes of one group in one snapshot to a value.

| aggregate          | value                                                                     |
|--------------------|---------------------------------------------------------------------------|
| count_all          | how many rows                                                             |
| count(x)           | how many values that are not null                                         |
| count_distinct(x)  | how many different values that are not null                               |
| sum, avg           | of the values that are not null; null when there are none                 |
| min, max           | the least, the greatest value (NaN is the greatest number, as in Spark)   |
| variance, stddev   | of the sample; null for fewer than two values. *_pop: of the population   |
| skewness, kurtosis | of the population; 0 for a normal distribution; null without variance      |
| bit_and, _or, _xor | of the values that are not null; null when there are none                 |
| percentile(p)      | linear interpolation between neighbours; median is percentile(0.5)        |
| percentile_disc(p) | the least value that is not less than that share of the values            |
| mode               | the value that is there most often, of several the least                  |
| covar_pop, _samp   | of the pairs without a null; null for fewer than one, than two pairs      |
| first, last        | the value of the row with the least, the greatest vs (null counts)        |
| array_agg          | the values that are not null, by vs                                       |
| user_defined(a)    | whatever the object `a` computes                                          |

Each is a function of the bag, never of arrival order: where `first`, `last` and `array_agg` meet
equal vs, the value decides, in the order of `sort_key`. Sums are exact and rounded once: integers
stay integers of 64 bits (overflow is an error), decimals stay decimals, floats are added without
rounding and the total is rounded to the nearest float, infinite past the greatest one. The average
of floats is infinite where their sum is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from driftline.model.history import Lifetime
from driftline.model.row import Row, Value, sort_key
from driftline.model.user_defined import UserDefinedAggregate

Argument = Callable[[Row], Value]
Aggregate = Callable[[Sequence[Lifetime]], Value]
Predicate = Callable[[Row], bool | None]

LEAST_BIGINT, GREATEST_BIGINT = -(2**63), 2**63 - 1
EXTRA_DIGITS_OF_AVG = 4
"""How many digits more than its argument the average of a DECIMAL has, as in Spark."""

_WIDE = Context(prec=100)


def count_all() -> Aggregate:
    return len


def count(argument: Argument) -> Aggregate:
    return lambda group: len(_values(group, argument))


def count_distinct(argument: Argument) -> Aggregate:
    return lambda group: len({sort_key(value) for value in _values(group, argument)})


def sum_(argument: Argument) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = _values(group, argument)
        return exact_sum(values) if values else None

    return aggregate


def avg(argument: Argument) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = _values(group, argument)
        if not values:
            return None
        if isinstance(values[0], Decimal):
            return _decimal_avg(values)
        if _undefined(values):
            return exact_sum([float(value) for value in values]) / len(values)
        total = sum(map(Fraction, values), Fraction())
        if isinstance(values[0], float) and math.isinf(_rounded(total)):
            return _rounded(total)
        return _rounded(total / len(values))

    return aggregate


def min_(argument: Argument) -> Aggregate:
    return lambda group: min(_values(group, argument), key=sort_key, default=None)


def max_(argument: Argument) -> Aggregate:
    return lambda group: max(_values(group, argument), key=sort_key, default=None)


def variance(argument: Argument) -> Aggregate:
    return lambda group: _variance(_values(group, argument), degrees_lost=1)


def variance_pop(argument: Argument) -> Aggregate:
    return lambda group: _variance(_values(group, argument), degrees_lost=0)


def stddev(argument: Argument) -> Aggregate:
    return lambda group: _root(_variance(_values(group, argument), degrees_lost=1))


def stddev_pop(argument: Argument) -> Aggregate:
    return lambda group: _root(_variance(_values(group, argument), degrees_lost=0))


def percentile(argument: Argument, share: float) -> Aggregate:
    if not 0 <= share <= 1:
        raise ValueError(f"a percentile needs a share from 0 to 1, not {share}")

    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = sorted(_values(group, argument), key=sort_key)
        if not values:
            return None
        place = share * (len(values) - 1)
        lower, upper = values[math.floor(place)], values[math.ceil(place)]
        if sort_key(lower) == sort_key(upper):
            return float(lower)
        part = place - math.floor(place)
        return (1 - part) * float(lower) + part * float(upper)

    return aggregate


def median(argument: Argument) -> Aggregate:
    return percentile(argument, 0.5)


def percentile_disc(argument: Argument, share: float) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = sorted(_values(group, argument), key=sort_key)
        return values[max(math.ceil(len(values) * share) - 1, 0)] if values else None

    return aggregate


def mode(argument: Argument) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = sorted(_values(group, argument), key=sort_key)
        same = Counter(sort_key(value) for value in values)
        return max(values, key=lambda value: same[sort_key(value)], default=None)

    return aggregate


def covar_pop(argument: Argument) -> Aggregate:
    return lambda group: _covariance(_values(group, argument), degrees_lost=0)


def covar_samp(argument: Argument) -> Aggregate:
    return lambda group: _covariance(_values(group, argument), degrees_lost=1)


def skewness(argument: Argument) -> Aggregate:
    return lambda group: _shape(_values(group, argument), power=3)


def kurtosis(argument: Argument) -> Aggregate:
    return lambda group: _shape(_values(group, argument), power=4)


def bit_and(argument: Argument) -> Aggregate:
    return lambda group: _reduced(and_, _values(group, argument))


def bit_or(argument: Argument) -> Aggregate:
    return lambda group: _reduced(or_, _values(group, argument))


def bit_xor(argument: Argument) -> Aggregate:
    return lambda group: _reduced(xor, _values(group, argument))


def different(aggregate: Callable[[Argument], Aggregate], argument: Argument) -> Aggregate:
    """An aggregate over the different values, each with the least vs it has."""

    def over(group: Sequence[Lifetime]) -> Value:
        kept: dict[Any, Lifetime] = {}
        for each in sorted(group, key=lambda each: each.vs):
            kept.setdefault(sort_key(argument(each.row)), each)
        return aggregate(argument)(list(kept.values()))

    return over


def first(argument: Argument, ignore_nulls: bool = False) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        found = min(_by_nulls(group, argument, ignore_nulls), key=_by_time(argument), default=None)
        return None if found is None else argument(found.row)

    return aggregate


def last(argument: Argument, ignore_nulls: bool = False) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        found = max(_by_nulls(group, argument, ignore_nulls), key=_by_time(argument), default=None)
        return None if found is None else argument(found.row)

    return aggregate


def filtered(aggregate: Aggregate, predicate: Predicate) -> Aggregate:
    """An aggregate over the rows for which a predicate is true: FILTER (WHERE …)."""
    return lambda group: aggregate([each for each in group if predicate(each.row) is True])


def array_agg(argument: Argument) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        values = (argument(lifetime.row) for lifetime in sorted(group, key=_by_time(argument)))
        return tuple(value for value in values if value is not None)

    return aggregate


def user_defined(definition: UserDefinedAggregate, argument: Argument) -> Aggregate:
    def aggregate(group: Sequence[Lifetime]) -> Value:
        state = definition.initial()
        for value in sorted(_values(group, argument), key=sort_key):
            state = definition.add(state, value)
        return definition.result(state)

    return aggregate


def exact_sum(values: Iterable[Any]) -> Any:
    """The sum, exact, in the type of the values.

    >>> exact_sum([0.1] * 10), exact_sum([1e300, 1.0, -1e300]), exact_sum([2, 3])
    (1.0, 1.0, 5)
    """
    values = list(values)
    if any(isinstance(value, float) for value in values):
        if _undefined(values):
            return (
                math.nan
                if len({sort_key(v) for v in values if _special(v)}) > 1
                else next(value for value in values if _special(value))
            )
        return _rounded(sum(map(Fraction, values)))
    if any(isinstance(value, Decimal) for value in values):
        return _decimal_sum(values)
    total = sum(values)
    if not LEAST_BIGINT <= total <= GREATEST_BIGINT:
        raise OverflowError(f"the sum {total} does not fit a BIGINT")
    return total


def _decimal_sum(values: Sequence[Any]) -> Decimal:
    scale = _scale(values)
    units = sum(int(Decimal(value).scaleb(scale, _WIDE)) for value in values)
    return Decimal(units).scaleb(-scale, _WIDE)


def _decimal_avg(values: Sequence[Any]) -> Decimal:
    scale = _scale(values) + EXTRA_DIGITS_OF_AVG
    share = _WIDE.divide(_decimal_sum(values), Decimal(len(values)))
    return share.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)


def _scale(values: Sequence[Any]) -> int:
    return max(-int(Decimal(value).as_tuple().exponent) for value in values)


def _variance(values: Sequence[Any], degrees_lost: int) -> float | None:
    if len(values) <= degrees_lost:
        return None
    if _undefined(values):
        return math.nan
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction()) / len(numbers)
    squares = sum(((number - mean) ** 2 for number in numbers), Fraction())
    return _rounded(squares / (len(numbers) - degrees_lost))


def _covariance(pairs: Sequence[Any], degrees_lost: int) -> float | None:
    """Of values that are structs of two."""
    if len(pairs) <= degrees_lost:
        return None
    both = [tuple(pair.values()) for pair in pairs]
    if any(_undefined(pair) for pair in both):
        return math.nan
    exact = [(Fraction(one), Fraction(other)) for one, other in both]
    mean, other_mean = (sum(side, Fraction()) / len(exact) for side in zip(*exact, strict=True))
    total = sum(((one - mean) * (other - other_mean) for one, other in exact), Fraction())
    return _rounded(total / (len(exact) - degrees_lost))


def _shape(values: Sequence[Any], power: int) -> float | None:
    """Σ (x - mean)^power / n, over the standard deviation to that power; of the fourth, less 3."""
    if not values:
        return None
    if _undefined(values):
        return math.nan
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers, Fraction()) / len(numbers)
    variance, moment = (
        sum(((number - mean) ** each for number in numbers), Fraction()) / len(numbers)
        for each in (2, power)
    )
    if variance == 0:
        return None
    if power == 4:  # noqa: PLR2004 - kurtosis
        return _rounded(moment / variance**2 - 3)
    square = moment**2 / variance**3
    root = _WIDE.divide(Decimal(square.numerator), Decimal(square.denominator)).sqrt(_WIDE)
    return float(root) if moment >= 0 else -float(root)


def _reduced(operate: Callable[[Any, Any], Any], values: Sequence[Any]) -> Value:
    return reduce(operate, values) if values else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _rounded(exact: Fraction | int) -> float:
    """The nearest float; infinite past the greatest one."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _special(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _undefined(values: Iterable[Any]) -> bool:
    return any(_special(value) for value in values)


def _values(group: Sequence[Lifetime], argument: Argument) -> list[Any]:
    values = (argument(lifetime.row) for lifetime in group)
    return [value for value in values if value is not None]


def _by_nulls(group: Sequence[Lifetime], argument: Argument, ignore_nulls: bool) -> list[Lifetime]:
    return [each for each in group if not ignore_nulls or argument(each.row) is not None]


def _by_time(argument: Argument) -> Callable[[Lifetime], tuple[Any, ...]]:
    return lambda lifetime: (lifetime.vs, sort_key(argument(lifetime.row)))
