"""What follows from the clauses of a MATCH_RECOGNIZE for how its attempts are swept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from driftline.engine.match.conditions import Defines, farthest_back, navigations, uses_number
from driftline.engine.match.growth_kernel import MOST_GROWING
from driftline.engine.match.program import TAKE, Program
from driftline.engine.match.search_kernel import (
    BY_ATTEMPT,
    BY_SNAPSHOT,
    FORGET,
    SKIP_FIRST,
    SKIP_LAST,
    SKIP_NEXT,
    SKIP_PAST,
)
from driftline.engine.match.sweep_state import Rules
from driftline.engine.match.thread_kernel import MOST_STATES, MOST_THREADS
from driftline.model.patterns import Anchor, Pattern, Skip
from driftline.plan.expressions import Expression
from driftline.plan.nodes import RowsPerMatch

_SKIPS = {"past last": SKIP_PAST, "next": SKIP_NEXT, "first": SKIP_FIRST, "last": SKIP_LAST}
LONG_GROWN = 16
"""So many rows of an attempt are rather looked at again than simulated."""


def rules_of(
    pattern: Pattern,
    program: Program,
    defines: Defines,
    conditions: Iterable[Expression],
    measures: Sequence[Expression],
    rows: RowsPerMatch,
    skip: Skip,
    within: int | None,
    in_order: bool,
) -> Rules:
    """The rules for a pattern, its DEFINE and MEASURES; `in_order`: see `Match`."""
    parts = list(pattern.walk())
    at_end = Anchor("end") in parts
    anchored = any(isinstance(part, Anchor) for part in parts)
    before, after = farthest_back(measures), _farthest_ahead(measures)
    looks_ahead = after > 0 or _farthest_ahead(conditions) > 0 or at_end
    knows = FORGET
    if defines.is_local:
        knows = BY_SNAPSHOT if within is None else BY_ATTEMPT
    threads = growing = 0
    simulates = (
        in_order
        and knows == BY_SNAPSHOT
        and rows != "with unmatched"
        and pattern.shortest() > 0
        and not at_end
        and not defines.ahead.any()
    )
    if simulates:
        threads = _threads(program)
        grows = skip.to == "past last" and after == 0 and threads <= MOST_GROWING
        growing = threads if grows else 0
    return Rules(
        skip=_SKIPS[skip.to],
        skips_to=np.array([name in skip.variables for name in defines.variables], np.int64),
        knows=knows,
        within=within or 0,
        bound=0 if looks_ahead else within or 0,
        numbered=defines.uses_number or any(map(uses_number, measures)),
        shows_unmatched=rows == "with unmatched",
        before=before,
        after=after,
        back=max(before, defines.back, int(anchored)),
        in_order=in_order,
        threads=threads,
        growing=growing,
        long=LONG_GROWN if simulates else 0,
    )


def _farthest_ahead(values: Iterable[Expression]) -> int:
    """How many rows after the current one expressions look at."""
    return max([0, *(part.physical for value in values for part in navigations(value))])


def _threads(program: Program) -> int:
    """How many threads a program has; 0, if they are too many to be kept."""
    count = int((program.code == TAKE).sum())
    few = count <= MOST_THREADS and len(program.code) << program.loops <= MOST_STATES
    return count if few else 0
