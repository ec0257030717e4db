"""The kernels: which function computes a call, and what the evaluator may assume of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftline.engine.expressions.arrays import Array, Value
from driftline.plan.expressions import Call

Compute = Callable[[Call, Sequence[Value]], Array]
"""From the call and the values of its arguments, at least one of which is an array, to the
values of the call."""


@dataclass(frozen=True)
class FunctionKernel:
    """How a function is computed.

    - `scalars`: it takes constants as pyarrow.Scalar; otherwise all arguments come as arrays.
    - `total`: it has a value for every row, so it may be computed where it is not needed.
    - `strict`: it is null where an argument is, and arguments after a null are not evaluated.
    - `right_first`: the last argument is evaluated first (division looks at the divisor first), and
      a lenient division does not look at the dividend where the divisor is zero.
    """

    compute: Compute
    scalars: bool
    total: Callable[[Call], bool]
    strict: Callable[[Call], bool]
    right_first: bool


KERNELS: dict[str, FunctionKernel] = {}


def kernel(
    names: str,
    *,
    scalars: bool = False,
    total: bool | Callable[[Call], bool] = False,
    strict: bool | Callable[[Call], bool] = True,
    right_first: bool = False,
) -> Callable[[Compute], Compute]:
    """Makes a function the kernel of these canonical names (separated by spaces)."""
    is_total = total if callable(total) else lambda _call: bool(total)
    is_strict = strict if callable(strict) else lambda _call: bool(strict)

    def add(compute: Compute) -> Compute:
        for name in names.split():
            KERNELS[name] = FunctionKernel(compute, scalars, is_total, is_strict, right_first)
        return compute

    return add
