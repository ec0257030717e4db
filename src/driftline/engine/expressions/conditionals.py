"""The greatest and the least of several values; nulls are skipped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, to_mask, valid_mask
from driftline.engine.expressions.comparison import compare_values, order_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import is_nested


@kernel("greatest least", total=True, strict=False)
def _extreme(call: Call, args: Sequence[Value]) -> Array:
    operator = "greater" if call.function == "greatest" else "less"
    best = args[0]
    for other in args[1:]:
        if is_nested(call.kind):
            order = order_of(other, best)
            better = order > 0 if operator == "greater" else order < 0
        else:
            better = to_mask(compare_values(operator, other, best, call.kind))
        taken = valid_mask(other) & (better | ~valid_mask(best))
        rows = np.arange(len(best)) + np.where(taken, len(best), 0)
        best = pa.concat_arrays([best, other]).take(pa.array(rows))
    return best


@kernel("raise_error")
def _raise_error(call: Call, args: Sequence[Value]) -> Array:
    text = next((value for value in args[0].to_pylist() if value is not None), None)
    raise EvaluationError("USER_RAISED_EXCEPTION", str(text))
