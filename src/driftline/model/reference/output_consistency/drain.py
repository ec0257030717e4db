"""Draining: every event is worked off entirely before the next one is admitted.

Whenever nothing lies in any channel, every output is the exact answer for what has been admitted:
as many consistent states as there can be, and nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable

from driftline.model.reference.output_consistency.execution import Channel, Execution, Mark


def drain(execution: Execution, order: Iterable[str]) -> list[Mark]:
    """Admit one event of each stream named, in this order; the marks of all outputs."""
    marks: list[Mark] = []
    emitters = [Channel(stream, 0) for stream in execution.plan.streams]
    for stream in order:
        execution.take(Channel(stream, 0))
        while channels := [each for each in execution.ready() if each not in emitters]:
            execution.take(channels[-1])
        for output in execution.plan.outputs:
            ancestors = execution.plan.ancestors(output)
            admitted = {s: n for s, n in execution.admitted.items() if s in ancestors}
            marks.append(Mark(output, admitted, len(execution.put_out[output])))
    return marks
