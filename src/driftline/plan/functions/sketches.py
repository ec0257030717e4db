"""Functions of sketches, and the aggregates that make them, with their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    needs,
    register,
    wrong_argument,
)
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    DataType,
    is_array,
    is_atomic,
    is_datetime,
    is_decimal,
    is_integer,
    is_numeric,
    is_struct,
    type_name,
)

Typed = tuple[Arguments, DataType]
Typing = Callable[[str, Arguments], Typed]

_KEYS = (INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, pa.list_(INT), pa.list_(BIGINT))
_LEAST_SIZE, _MOST_SIZE, _DEFAULT_SIZE = 4, 26, 12
_MODES = ("sum", "min", "max", "alwaysone")
_NUMBERS: dict[str, DataType] = {"double": DOUBLE, "integer": INT}
_MOST_HLL_SIZE = 21
_LEAST_K, _MOST_K, _DEFAULT_K = 8, 65_535, 200
_KLL_NUMBERS: dict[str, DataType] = {"bigint": BIGINT, "float": FLOAT, "double": DOUBLE}
_LEAST_ERROR = 1e-7
_DEFAULT_MOST, _DEFAULT_TRACKED, _MOST_TRACKED = 5, 10_000, 1_000_000


def _constant(value: Expression, kind: DataType, name: str, place: int) -> Any:
    found = folded(argument(value, kind, name, place))
    if not isinstance(found, Literal) or found.value is None:
        raise ExpressionError(f"argument {place} of {name} must be a constant")
    return found.value


def _size(args: Arguments, place: int, name: str) -> Literal:
    """The logarithm of how many entries a sketch has, if it is given."""
    if len(args) < place:
        return Literal(_DEFAULT_SIZE, INT)
    size = _constant(args[place - 1], INT, name, place)
    if not _LEAST_SIZE <= size <= _MOST_SIZE:
        raise ExpressionError(
            f"argument {place} of {name}, lgNomEntries, is {_LEAST_SIZE} to {_MOST_SIZE}: {size}"
        )
    return Literal(size, INT)


def _mode(args: Arguments, place: int, name: str) -> Literal:
    """What is made of several numbers of a key, if it is given."""
    mode = _constant(args[place - 1], STRING, name, place) if len(args) >= place else "sum"
    if mode.lower() not in _MODES:
        raise ExpressionError(f"argument {place} of {name} is {', '.join(_MODES)}, not {mode!r}")
    return Literal(mode.lower(), STRING)


def _sketch(args: Arguments, place: int, name: str) -> Expression:
    value = args[place - 1]
    if value.type not in (BINARY, VOID):
        raise wrong_argument(name, place, "BINARY", value)
    return cast_to(value, BINARY)


def _theta_of_values(name: str, args: Arguments) -> Typed:
    if args[0].type not in _KEYS:
        raise wrong_argument(name, 1, "number, text, BINARY or ARRAY of integers", args[0])
    return (args[0], _size(args, 2, name)), BINARY


def _theta_union(name: str, args: Arguments) -> Typed:
    return (_sketch(args, 1, name), _size(args, 2, name)), BINARY


def _theta_intersection(name: str, args: Arguments) -> Typed:
    return (_sketch(args, 1, name),), BINARY


def _tuples_of_values(name: str, args: Arguments) -> Typed:
    key = args[0]
    if key.type not in _KEYS:
        kind = DOUBLE if is_numeric(key.type) else STRING if is_datetime(key.type) else None
        if kind is None:
            raise wrong_argument(name, 1, "number, text, BINARY or ARRAY of integers", key)
        key = cast_to(key, kind)
    value = argument(args[1], _NUMBERS[name.rpartition("_")[2]], name, 2)
    return (key, value, _size(args, 3, name), _mode(args, 4, name)), BINARY


def _tuples_union(name: str, args: Arguments) -> Typed:
    return (_sketch(args, 1, name), _size(args, 2, name), _mode(args, 3, name)), BINARY


def _tuples_intersection(name: str, args: Arguments) -> Typed:
    return (_sketch(args, 1, name), _mode(args, 2, name)), BINARY


def _hll_of_values(name: str, args: Arguments) -> Typed:
    needs("datasketches", "sketches", name)
    if args[0].type not in (INT, BIGINT, STRING, BINARY):
        raise wrong_argument(name, 1, "INT, BIGINT, STRING or BINARY", args[0])
    size = _constant(args[1], INT, name, 2) if args[1:] else _DEFAULT_SIZE
    if not _LEAST_SIZE <= size <= _MOST_HLL_SIZE:
        raise ExpressionError(
            f"argument 2 of {name}, lgConfigK, is {_LEAST_SIZE} to {_MOST_HLL_SIZE}: {size}"
        )
    return (args[0], Literal(size, INT)), BINARY


def _hll_union(name: str, args: Arguments) -> Typed:
    needs("datasketches", "sketches", name)
    allows = _constant(args[1], BOOLEAN, name, 2) if args[1:] else False
    return (_sketch(args, 1, name), Literal(allows, BOOLEAN)), BINARY


def _kll_size(args: Arguments, name: str) -> Literal:
    size = _constant(args[1], INT, name, 2) if args[1:] else None
    if size is not None and not _LEAST_K <= size <= _MOST_K:
        raise ExpressionError(f"argument 2 of {name}, k, is {_LEAST_K} to {_MOST_K:,}: {size}")
    return Literal(size, INT)


def _kll_of_values(name: str, args: Arguments) -> Typed:
    kind = _KLL_NUMBERS[name.rpartition("_")[2]]
    fits = is_integer(args[0].type) if kind == BIGINT else args[0].type in (FLOAT, kind)
    if not fits:
        raise wrong_argument(name, 1, type_name(kind), args[0])
    size = _kll_size(args, name)
    return (cast_to(args[0], kind), size if size.value else Literal(_DEFAULT_K, INT)), BINARY


def _kll_merged(name: str, args: Arguments) -> Typed:
    return (_sketch(args, 1, name), _kll_size(args, name)), BINARY


def _count_min(name: str, args: Arguments) -> Typed:
    value = args[0]
    if not (is_integer(value.type) or value.type in (STRING, BINARY)):
        raise wrong_argument(name, 1, "integer, STRING or BINARY", value)
    error = _constant(args[1], DOUBLE, name, 2)
    confidence = _constant(args[2], DOUBLE, name, 3)
    seed = _constant(args[3], BIGINT, name, 4)
    if not error > 0 or not 0 < confidence < 1:
        raise ExpressionError(f"{name}: eps is more than 0, and confidence between 0 and 1")
    if error < _LEAST_ERROR:
        raise ExpressionError(f"{name}: eps of {error} makes a table that is too large")
    rest = (Literal(error, DOUBLE), Literal(confidence, DOUBLE), Literal(seed, BIGINT))
    return (value, *rest), BINARY


def _positive(args: Arguments, place: int, default: int, name: str) -> int:
    value = _constant(args[place - 1], INT, name, place) if len(args) >= place else default
    if not 0 < value <= _MOST_TRACKED:
        raise ExpressionError(f"argument {place} of {name} is 1 to {_MOST_TRACKED:,}, not {value}")
    return int(value)


def _counted_item(value: Expression, name: str) -> DataType:
    kind = value.type
    if not is_atomic(kind) or kind in (BINARY, INTERVAL, INTERVAL_MONTHS):
        raise ExpressionError(f"{name} takes no values of type {type_name(kind)}")
    return kind


def _top(name: str, args: Arguments) -> Typed:
    kind = _counted_item(args[0], name)
    most = _positive(args, 2, _DEFAULT_MOST, name)
    if _positive(args, 3, max(_DEFAULT_TRACKED, most), name) < most:
        raise ExpressionError(f"argument 3 of {name}, maxItemsTracked, is not less than {most}")
    return (args[0], Literal(most, INT)), _items_of(kind)


def _items_of(kind: DataType) -> DataType:
    return pa.list_(pa.struct([("item", kind), ("count", BIGINT)]))


def _accumulated(name: str, args: Arguments) -> Typed:
    kind = _counted_item(args[0], name)
    if is_decimal(kind):
        raise ExpressionError(f"{name} takes no DECIMAL: cast it to DOUBLE or STRING")
    fields = [("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", kind)]
    tracked = _positive(args, 2, _DEFAULT_TRACKED, name)
    state = pa.struct([*fields, ("itemDataTypeDDL", STRING)])
    return (args[0], Literal(tracked, INT)), state


def _combined(name: str, args: Arguments) -> Typed:
    _state_item(args[0], name)
    tracked = _positive(args, 2, 0, name) if args[1:] else None
    return (args[0], Literal(tracked, INT)), args[0].type


def _state_item(value: Expression, name: str) -> DataType:
    """The type of the items of a sketch that approx_top_k_accumulate has made."""
    kind = value.type
    names = ["sketch", "maxItemsTracked", "itemDataType", "itemDataTypeDDL"]
    if not is_struct(kind) or [field.name for field in kind] != names:
        raise wrong_argument(name, 1, "STRUCT as approx_top_k_accumulate gives it", value)
    return kind.field(2).type


SKETCH_AGGREGATES: list[tuple[str, int, int | None, Typing]] = [
    ("theta_sketch_agg", 1, 2, _theta_of_values),
    ("theta_union_agg", 1, 2, _theta_union),
    ("theta_intersection_agg", 1, 1, _theta_intersection),
    *((f"tuple_sketch_agg_{each}", 2, 4, _tuples_of_values) for each in _NUMBERS),
    *((f"tuple_union_agg_{each}", 1, 3, _tuples_union) for each in _NUMBERS),
    *((f"tuple_intersection_agg_{each}", 1, 2, _tuples_intersection) for each in _NUMBERS),
    ("hll_sketch_agg", 1, 2, _hll_of_values),
    ("hll_union_agg", 1, 2, _hll_union),
    *((f"kll_sketch_agg_{each}", 1, 2, _kll_of_values) for each in _KLL_NUMBERS),
    *((f"kll_merge_agg_{each}", 1, 2, _kll_merged) for each in _KLL_NUMBERS),
    ("count_min_sketch", 4, 4, _count_min),
    ("approx_top_k", 1, 3, _top),
    ("approx_top_k_accumulate", 1, 2, _accumulated),
    ("approx_top_k_combine", 1, 2, _combined),
]
"""Aggregates that are functions of the list of all values; those of tuples, of pairs."""


def _function(
    name: str, sketches: int, kind: DataType, sized: bool = False, by_mode: bool = False
) -> None:
    """A function of some sketches, and then of a size and of a mode, if it takes these."""

    @register(name, sketches, sketches + sized + by_mode)
    def build(args: Arguments) -> Expression:
        given: list[Expression] = [_sketch(args, place + 1, name) for place in range(sketches)]
        if sized:
            given.append(_size(args, sketches + 1, name))
        if by_mode:
            given.append(_mode(args, sketches + 1 + sized, name))
        return Call(name, tuple(given), kind)


_function("theta_sketch_estimate", 1, BIGINT)
_function("theta_union", 2, BINARY, sized=True)
_function("theta_intersection", 2, BINARY)
_function("theta_difference", 2, BINARY)
for _name in _NUMBERS:
    for _theta in ("", "_theta"):
        _function(f"tuple_union{_theta}_{_name}", 2, BINARY, sized=True, by_mode=True)
        _function(f"tuple_intersection{_theta}_{_name}", 2, BINARY, by_mode=True)
        _function(f"tuple_difference{_theta}_{_name}", 2, BINARY)
    _function(f"tuple_sketch_estimate_{_name}", 1, DOUBLE)
    _function(f"tuple_sketch_theta_{_name}", 1, DOUBLE)
_function("tuple_sketch_summary_double", 1, DOUBLE, by_mode=True)
_function("tuple_sketch_summary_integer", 1, BIGINT, by_mode=True)


@register("hll_sketch_estimate", 1, 1)
def _hll_estimate(args: Arguments) -> Expression:
    needs("datasketches", "sketches", "hll_sketch_estimate")
    return Call("hll_sketch_estimate", (_sketch(args, 1, "hll_sketch_estimate"),), BIGINT)


@register("hll_union", 2, 3)
def _hll_union_of_two(args: Arguments) -> Expression:
    needs("datasketches", "sketches", "hll_union")
    both = tuple(_sketch(args, place, "hll_union") for place in (1, 2))
    allows = argument(args[2], BOOLEAN, "hll_union", 3) if args[2:] else Literal(False, BOOLEAN)
    return Call("hll_union", (*both, allows), BINARY)


def _kll_question(name: str, asked: DataType, answered: DataType) -> None:
    """About a share or a value, or about several."""

    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        many = is_array(args[1].type)
        about = argument(args[1], pa.list_(asked) if many else asked, name, 2)
        if about.columns():
            raise ExpressionError(f"argument 2 of {name} must be a constant")
        kind = pa.list_(answered) if many else answered
        return Call(name, (_sketch(args, 1, name), about), kind)


for _name, _kind in _KLL_NUMBERS.items():
    _function(f"kll_sketch_get_n_{_name}", 1, BIGINT)
    _function(f"kll_sketch_to_string_{_name}", 1, STRING)
    _function(f"kll_sketch_merge_{_name}", 2, BINARY)
    _kll_question(f"kll_sketch_get_quantile_{_name}", DOUBLE, _kind)
    _kll_question(f"kll_sketch_get_rank_{_name}", _kind, DOUBLE)


@register("approx_top_k_estimate", 1, 2)
def _top_of_sketch(args: Arguments) -> Expression:
    name = "approx_top_k_estimate"
    kind = _items_of(_state_item(args[0], name))
    return Call(name, (args[0], Literal(_positive(args, 2, _DEFAULT_MOST, name), INT)), kind)
