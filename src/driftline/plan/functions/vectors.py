"""Functions of vectors, which are arrays of floats: products, distances and norms."""

from __future__ import annotations

from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, register, wrong_argument
from driftline.plan.types import FLOAT, is_array


def _vector(value: Expression, name: str, place: int) -> Expression:
    if not is_array(value.type) or value.type.value_type != FLOAT:
        raise wrong_argument(name, place, "ARRAY<FLOAT>", value)
    return value


def _of_two(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        both = tuple(_vector(each, name, place) for place, each in enumerate(args, start=1))
        return Call(name, both, FLOAT)


for _name in ("vector_inner_product", "vector_l2_distance", "vector_cosine_similarity"):
    _of_two(_name)


def _of_one(name: str) -> None:
    """By a norm of degree 1, 2 (if none is given) or infinity."""

    @register(name, 1, 2)
    def build(args: Arguments) -> Expression:
        vector = _vector(args[0], name, 1)
        degree = argument(args[1], FLOAT, name, 2) if args[1:] else Literal(2.0, FLOAT)
        return Call(name, (vector, degree), FLOAT if name == "vector_norm" else vector.type)


for _name in ("vector_norm", "vector_normalize"):
    _of_one(_name)
