"""Which groups a cti closes: those about a window that is over, of rows that stay.

    A column closes with a delay d: after a cti t no row changes any more whose value v in the
    column has v + d <= t. The output for a group of such a value is then final.

The end of a window closes with the delay 0 and its start with that of the window's size, if rows
are only ever added, never end, and are in the window by their vs: those to come start at t or
later. That is so for plain records. Windows by a column that closes are over when all values in
them have closed. A row of an event log may be retracted, and one of a window in brackets ends,
which changes an answer after its window is over: these groups stay.

Each node knows which of its columns close (`Node.closes`), and a snapshot operator which of its
keys does (`Keyed.closing_key`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from driftline.plan import nodes
from driftline.plan.depth import room
from driftline.plan.facts import Closes, Delays, Facts


@room(nodes.CALLS)
def delays(
    node: nodes.Node, inserts_only: Collection[str], known: Mapping[str, Delays]
) -> dict[int, Closes]:
    """The columns of an answer that close. `inserts_only`: the sources of plain records; `known`:
    what is known of leaves."""
    return dict(Facts(inserts_only, known).closes(node))
