"""Clip: lifetimes that end where a row of another stream comes; see the reference's `until`.

It is an anti join with the other stream, whose rows never end from their start on: once a row has
come that matches and starts later, the lifetime is over. When rows start is a column of windows of
one tick. So a row of the other that a cti has passed cuts nothing that is to come, and what it has
cut stays cut: the join forgets it (`Join.for_good`). A stretch of a loose plan may go on in another
piece after the cti, with a start before it: then the join forgets nothing like that.
"""

from __future__ import annotations

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.expressions import Call, Column, Expression
from driftline.plan.types import BOOLEAN

_START = "start"


def until(plan: nodes.Node, other: nodes.Node, condition: Expression | None) -> nodes.Node:
    """The rows of a plan until a row of the other comes; the condition is over both."""
    both = nodes.Join(plan, other, "inner", None).both
    left = _with_start(plan, "$l")
    right = _with_start(nodes.Window(other, "unbounded"), "$r")
    width = len(plan.schema)
    own = [f"$l{place}" if place < width else f"$r{place - width}" for place in range(len(both))]
    names = dict(zip(both.names, own, strict=True))

    def change(part: Expression) -> Expression:
        return Column(names[part.name], part.type) if isinstance(part, Column) else part

    kind = left.schema.fields[-1].type
    later = Call("greater", (Column(f"$r{_START}", kind), Column(f"$l{_START}", kind)), BOOLEAN)
    parts: list[Expression] = [later] if condition is None else [condition.transform(change), later]
    cut = nodes.Join(left, right, "anti", together(parts), for_good=not plan.is_loose)
    fields = plan.schema.fields
    columns = [
        nodes.Named(each.name, Column(f"$l{place}", each.type)) for place, each in enumerate(fields)
    ]
    back = nodes.Project(cut, tuple(columns))
    qualifiers = {each.qualifier for each in fields}
    name = qualifiers.pop() if len(qualifiers) == 1 else None
    return back if name is None else nodes.Alias(back, name)


def _with_start(plan: nodes.Node, prefix: str) -> nodes.Node:
    """The rows under other names, with when they start as the last column."""
    columns = [
        nodes.Named(f"{prefix}{place}", Column(name, each.type))
        for place, (name, each) in enumerate(zip(plan.schema.names, plan.schema, strict=True))
    ]
    windows = nodes.WindowColumns(nodes.Project(plan, tuple(columns)), 1, 1)
    kept = [nodes.Named(each.name, Column(each.name, each.value.type)) for each in columns]
    start = Column("window_start", windows.schema.fields[-2].type)
    return nodes.Project(windows, (*kept, nodes.Named(f"{prefix}{_START}", start)))
