"""The sources of plans: the streams they read, and the rows that a query brings itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from driftline.model.event import Cti, Insert
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import ROW, Constant, Node, Source


def sources_of(plans: Iterable[Node]) -> dict[str, Source]:
    """The streams that several plans read, by name."""
    found: dict[str, Source] = {}
    for plan in plans:
        for name, source in plan.sources().items():
            if found.setdefault(name, source) != source:
                raise PlanError(f"the stream {name} is used with two definitions")
    return found


def constants(sources: Mapping[str, Source]) -> dict[str, list[Insert | Cti]]:
    """The events of sources that are no streams but rows of the query itself."""
    return {
        name: [
            *(Insert(each.start, INFINITY, Row({ROW: number})) for number in range(each.count)),
            Cti(INFINITY),
        ]
        for name, each in sources.items()
        if isinstance(each, Constant)
    }
