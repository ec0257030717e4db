"""Labels: which input a batch in a queue comes from, and what has taken part in it.

Every source numbers what it lets in. What an operator puts out has the greatest numbers of all that
took part, and is active for the very input whose effects are being worked out:

    label(output) = max(label of the batch, labels of the stored rows that took part)
    active(output) = active(batch)

See `outputs.heeding` for what they tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

Vector = tuple[int, ...]
"""For each source a number of its inputs; 0: none of them."""


class Label(NamedTuple):
    """`vector`: what took part; `source`, `number`: for which input the batch is active."""

    vector: Vector
    source: int
    number: int


def greatest(vectors: Iterable[Vector]) -> Vector:
    """Component by component.

    >>> greatest([(1, 5), (3, 2)])
    (3, 5)
    """
    return tuple(map(max, zip(*vectors, strict=True)))


def is_within(one: Vector, other: Vector) -> bool:
    return all(number <= bound for number, bound in zip(one, other, strict=True))
