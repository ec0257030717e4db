"""The sources of plans: the streams they read, and the rows that a query brings itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from driftline.engine.readers.inputs import RawEvents, events_from
from driftline.model.columns import CTI
from driftline.model.event import Cti, Insert
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import ROW, AsOf, Constant, Leaf, Node, Source


def sources_of(plans: Iterable[Node]) -> dict[str, Source]:
    """The streams that several plans read, by name."""
    found: dict[str, Source] = {}
    for plan in plans:
        for name, source in plan.sources().items():
            if found.setdefault(name, source) != source:
                raise PlanError(f"the stream {name} is used with two definitions")
    return found


def in_order_of_work(plans: Iterable[Node]) -> list[str]:
    """What several plans read, streams and other parts of a plan, in the order in which what comes
    at one moment is worked on: of an as-of join the right side first, so that rows of the left are
    matched once, and not again by what came with them."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = list(plans)[::-1]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, (Source, Leaf)):
            found.setdefault(node.name)
        waiting += node.inputs if isinstance(node, AsOf) else reversed(node.inputs)
    return list(found)


def constants(sources: Mapping[str, Source]) -> dict[str, RawEvents]:
    """The events of sources that are no streams but rows of the query itself: they are there before
    all others, and come in one piece."""
    found = {}
    for name, each in sources.items():
        if isinstance(each, Constant):
            rows = [Insert(each.start, INFINITY, Row({ROW: row})) for row in range(each.count)]
            events = events_from(each, [*rows, Cti(INFINITY)])
            found[name] = replace(events, position=(events.kind == CTI).astype(np.int64))
    return found
