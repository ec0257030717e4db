"""Asking a plan for final answers only.

A result that has the column window_end of TUMBLE or HOP answers about windows: a row is final when
the cti has passed the end of its window. Any other row is final when its lifetime has ended. A row
without an end, and without a window, is final when its streams are closed.
"""

from __future__ import annotations

from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.types import is_integer, is_timestamp

WINDOW_END = "window_end"


def final(plan: nodes.Node) -> nodes.Final:
    """The plan, which says every row once, when it can not change any more."""
    found = [
        (name, field)
        for name, field in zip(plan.schema.names, plan.schema, strict=True)
        if field.name.lower() == WINDOW_END
    ]
    windows = [node for node in plan.walk() if isinstance(node, nodes.WindowColumns)]
    if len(found) != 1 or not windows:
        return nodes.Final(plan)
    name, field = found[0]
    times = {source.time for source in plan.sources().values()}
    for window in windows:
        if window.time is not None and window.time.split(".")[-1] not in times:
            raise PlanError(
                f"windows by {window.time} have no final answers: ctis are about the time of the "
                "stream; take windows by that"
            )
    if not (is_timestamp(field.type) if plan.timestamps else is_integer(field.type)):
        raise PlanError(f"{name} is no time of the stream: give the column another name")
    return nodes.Final(plan, name)
