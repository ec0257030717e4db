"""Logical plans: what a query means, as a graph of operators over streams.

A node defines what its rows are (`schema`) and what it is made from (`inputs`); it knows nothing of
batches or state. The meaning of every node is that of its reference operator. Plans are values:
two that are equal mean the same.

>>> trades = Source("trades", Schema.of({"symbol": "STRING", "qty": "INT"}))
>>> big = Select(trades, parse_expression("qty > 100", trades.schema))
>>> print(big.tree())
select (qty > 100)
└─ source trades (symbol STRING, qty INT)

A node answers for itself what the rest of the project wants to know of it. `base.Node` lists the
questions; they are abstract, so that a class that leaves one out cannot be made, and an analysis is
a fold over the answers (`driftline.plan.facts`), not a list of classes:

    lifetimes.py   is_loose, goes_by: where a plan gets a coalesce
    facts.py       only_grows, never_ends, is_table, after_vs
    closing.py     closes: which groups a cti evicts
    finals.py      times: when rows are final
    needed.py      reads: which columns come into a part of a plan
    fragments.py   required_keys, origin: where a plan is cut; native: what Spark runs itself
    engine         wants_order, and one line in `driftline.engine.compile` that names its operator
    explain        remarks

A family answers what its members have in common, and leaves the rest to them:

    base.py        Node: the questions; what follows from the answers; walking
    answers.py     KeepsNothing, KeepsRows, OfSnapshots, WithoutTimes: answers that go together
    sources.py     Beginning: Source, Constant, Leaf
    rowwise.py     Rowwise, each row by itself with its lifetime: Alias, Select, Project,
    explode.py     WindowColumns, Explode
    windows.py     Window, Clip, Coalesce, Final: the rows of the input with other lifetimes
    keyed.py       Keyed, a snapshot operator over groups: Distinct, Stitch, Aggregate, Rank, Latest
    over.py        Over
    sessions.py    Session, SessionColumns, SessionMembers: session windows
    match.py       Match: MATCH_RECOGNIZE
    two_inputs.py  Union, SetOperation
    join.py        Join
    as_of.py       AsOf: as-of joins
    automaton.py   AutomatonRuns
    loop.py        Loop: the fixed point of rules; Back: an edge back

A node that is used twice has two nodes above it: `walk` and `from_below` give it once. A cycle is
one node (the fixed point) whose body has a node without inputs that names it, as a Leaf names what
comes from another part of a plan. A node with several outputs is one node for what they share, and
one over it for each of them.
"""

from __future__ import annotations

from driftline.plan.nodes.as_of import AsOf
from driftline.plan.nodes.automaton import AutomatonRuns
from driftline.plan.nodes.base import (
    CALLS,
    DEEPEST,
    EVERY_SHARD,
    Keys,
    Named,
    Node,
    OrderItem,
    Part,
    Places,
    Remarks,
)
from driftline.plan.nodes.explode import Explode
from driftline.plan.nodes.join import Join, JoinKind
from driftline.plan.nodes.keyed import (
    Aggregate,
    Distinct,
    Keyed,
    Latest,
    Partitioned,
    Rank,
    RankMethod,
    Stitch,
    latest,
)
from driftline.plan.nodes.loop import RULE, Back, Loop, Rule, leaf_name
from driftline.plan.nodes.match import Match, RowsPerMatch
from driftline.plan.nodes.over import Frame, Over, OverColumn, Unit
from driftline.plan.nodes.rowwise import Alias, OneInput, Project, Rowwise, Select, WindowColumns
from driftline.plan.nodes.sessions import Session, SessionColumns, SessionMembers
from driftline.plan.nodes.sources import ROW, Beginning, Constant, Leaf, Source, constant
from driftline.plan.nodes.two_inputs import SetOperation, TwoInputs, Union
from driftline.plan.nodes.windows import Clip, Coalesce, Final, Window, WindowForm
from driftline.plan.resolver import parse_expression
from driftline.plan.types import Schema

__all__ = [
    "CALLS",
    "DEEPEST",
    "EVERY_SHARD",
    "ROW",
    "RULE",
    "Aggregate",
    "Alias",
    "AsOf",
    "AutomatonRuns",
    "Back",
    "Beginning",
    "Clip",
    "Coalesce",
    "Constant",
    "Distinct",
    "Explode",
    "Final",
    "Frame",
    "Join",
    "JoinKind",
    "Keyed",
    "Keys",
    "Latest",
    "Leaf",
    "Loop",
    "Match",
    "Named",
    "Node",
    "OneInput",
    "OrderItem",
    "Over",
    "OverColumn",
    "Part",
    "Partitioned",
    "Places",
    "Project",
    "Rank",
    "RankMethod",
    "Remarks",
    "RowsPerMatch",
    "Rowwise",
    "Rule",
    "Schema",
    "Select",
    "Session",
    "SessionColumns",
    "SessionMembers",
    "SetOperation",
    "Source",
    "Stitch",
    "TwoInputs",
    "Union",
    "Unit",
    "Window",
    "WindowColumns",
    "WindowForm",
    "constant",
    "latest",
    "leaf_name",
    "parse_expression",
]
