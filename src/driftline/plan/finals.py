"""Asking a plan for final answers only.

A result with the end of windows of TUMBLE or HOP in a column (or in a struct, as window(…) gives
it), or else with their start, answers about windows: a row is final when the cti has passed all of
its window. Any other row is final when its lifetime has ended. A row without an end, and without a
window, is final when its streams are closed; but one of a pattern in the order of time is final
when the cti has passed the last row that could change it (`Node.with_settled`), and it is emitted
as it is then.

What a column is depends on where it comes from (`Node.times`), not on how it is called:

    a column has the delay d if its rows of a value v start before v + d

The end of windows by vs has the delay 0 and their start that of the size; the column that plain
records have their time from 1 (they start at v); a column that is moved by n ticks n less. Windows
by a column go on with its delay: by `ts - INTERVAL 5 HOURS` they are over five hours later. Where
rows of another value, or of a stream without one, still change an answer after that, as in a join
or a rank that does not go by the column, it has no delay: nothing is final that is not.
"""

from __future__ import annotations

from collections.abc import Collection

from driftline.model.level import Level
from driftline.plan import nodes
from driftline.plan.depth import room
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column, FieldAccess
from driftline.plan.facts import END, START, Facts
from driftline.plan.nodes.base import SETTLED
from driftline.plan.types import DataType, is_integer, is_struct, is_timestamp


def only_final(
    plan: nodes.Node, plain: Collection[str] = (), tables: Collection[str] = ()
) -> nodes.Node:
    """The plan, which emits every row once, when it can not change any more. `plain`: the streams
    that are plain records, which have their vs from their time column; an event log's need not be
    the same. `tables`: the streams of which all rows have always been there."""
    rows = final(plan, plain, tables)
    if len(rows.schema) == len(plan.schema):
        return rows
    columns = zip(plan.schema.names, plan.schema, strict=True)
    return nodes.Project(
        rows, tuple(nodes.Named(name, Column(name, each.type)) for name, each in columns)
    )


@room(nodes.CALLS)
def final(
    plan: nodes.Node, plain: Collection[str] = (), tables: Collection[str] = ()
) -> nodes.Final:
    """The same, with the column `SETTLED` where rows are final by it."""
    facts = Facts(plain, tables=tables)
    found = {name: facts.times(plan, place) for place, name in enumerate(plan.schema.names)}
    if not any(times is not None and times.of == END for times in found.values()):
        ends = _ends(plan, facts)
        if ends:
            own = zip(plan.schema.names, plan.schema, strict=True)
            kept = (nodes.Named(name, Column(name, each.type)) for name, each in own)
            rows = nodes.Project(plan, (*kept, *(named for named, _ in ends)))
            return nodes.Final(rows, tuple((named.name, delay) for named, delay in ends))
    for part in (END, START):
        windows = [(name, t.delay) for name, t in found.items() if t is not None and t.of == part]
        if windows:
            return nodes.Final(plan, tuple(windows))
    settled = plan.with_settled(facts)
    return nodes.Final(plan) if settled is None else nodes.Final(settled, ((SETTLED, 1),))


def refuse_perfect(plan: nodes.Node, level: Level) -> None:
    """Final answers about windows are what stands at their last tick, also of what goes on."""
    if level is Level.PERFECT and any(
        isinstance(node, nodes.Final) and node.windows for node in plan.walk()
    ):
        raise PlanError("final answers about windows need emit=ordered or emit=eager")


def _ends(plan: nodes.Node, facts: Facts) -> list[tuple[nodes.Named, int]]:
    """The ends of windows in structs, as window(…) gives them, as columns, and their delays."""
    found: list[tuple[nodes.Named, int]] = []
    for name, each in zip(plan.schema.names, plan.schema, strict=True):
        for index, field in enumerate(each.type if is_struct(each.type) else ()):
            value = FieldAccess(Column(name, each.type), index)
            times = facts.value_times(plan, value) if _is_time(field.type) else None
            if times is not None and times.of == END:
                found.append((nodes.Named(f"$end {len(found)}", value), times.delay))
    return found


def _is_time(kind: DataType) -> bool:
    return is_timestamp(kind) or is_integer(kind)
