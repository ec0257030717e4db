"""Which columns a plan reads of what comes into it.

    A column that nothing above a leaf reads can be left out: a bag of rows without it is what the
    operators see of the bag of rows with it.

Each node knows what it reads (`Node.reads`). Operators that compare whole rows (distinct, set
operators, rank, over, coalesce) read all of them.
"""

from __future__ import annotations

from driftline.plan import nodes


def needed(plan: nodes.Node) -> dict[str, nodes.Places]:
    """By the name of a leaf, the places of the columns that are read. All of the result is read."""
    nothing: nodes.Places = frozenset()
    found: dict[str, nodes.Places] = {}
    wanted = {id(plan): frozenset(range(len(plan.schema)))}
    for node in reversed(plan.from_below()):
        here = wanted[id(node)]
        if isinstance(node, nodes.Leaf):
            found[node.name] = found.get(node.name, nothing) | here
        for given, places in zip(node.inputs, node.reads(here), strict=True):
            wanted[id(given)] = wanted.get(id(given), nothing) | places
    return found
