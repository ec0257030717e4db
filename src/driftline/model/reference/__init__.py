"""The executable specification.

Every operator is written here once, as a function from canonical history tables to canonical
history tables: naive, obviously right, never optimised. The engine's operators are held to these
after every batch. If the two disagree, the definition at the top of each file decides.

    snapshot_operator               what all snapshot operators share
    select, project, explode        row by row
    alter_lifetime, window_columns  windows as lifetimes, windows as columns;  session: both
    clip, until                     lifetimes cut where the row says, or where one of another
                                    stream comes
    union, intersect, minus         set operators;  distinct
    group_by, aggregates            groups, and the functions over them
    rank, over                      ranks, top-k and window functions
    match                           MATCH_RECOGNIZE: patterns of rows
    join, as_of                     inner, outer, semi and anti joins; the latest row of the right
    coalesce, finals                lifetimes from snapshots; what cannot change any more
    recursion                       the fixed point of each snapshot
    automaton                       the runs of an automaton over a sequence
    align, finalize                 how long an event is held back, how long it can be corrected
    now_view                        the answer at a clock, as changes
    output_consistency              outputs that belong to a prefix: definitions and mechanisms
    latency                         how much of an answer each latency level has emitted
"""

from driftline.model.level import Level
from driftline.model.reference.align import align
from driftline.model.reference.alter_lifetime import (
    alter_lifetime,
    hopping,
    now,
    sliding,
    unbounded,
    within,
)
from driftline.model.reference.as_of import as_of_join
from driftline.model.reference.automaton import automaton_runs
from driftline.model.reference.clip import clip_since, clip_until
from driftline.model.reference.coalesce import coalesce, ends, starts
from driftline.model.reference.distinct import distinct
from driftline.model.reference.explode import explode
from driftline.model.reference.finalize import DeadLetter, finalize
from driftline.model.reference.finals import finals, window_finals
from driftline.model.reference.group_by import group_by
from driftline.model.reference.intersect import intersect, intersect_all
from driftline.model.reference.join import (
    anti_join,
    full_join,
    inner_join,
    left_join,
    right_join,
    semi_join,
)
from driftline.model.reference.latency import (
    NowMark,
    at_level,
    merged_watermark,
    output_watermark,
)
from driftline.model.reference.match import aggregated, match, navigation
from driftline.model.reference.minus import minus, minus_all
from driftline.model.reference.now_view import NowChange, now_view
from driftline.model.reference.over import Frame, nth, of_frame, over
from driftline.model.reference.project import flat_project, project
from driftline.model.reference.rank import Order, rank, top_k
from driftline.model.reference.recursion import NoFixedPoint, recursive, recursive_together
from driftline.model.reference.select import select
from driftline.model.reference.session import (
    session,
    session_columns,
    session_members,
    sessions,
)
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.reference.union import union, union_all
from driftline.model.reference.until import until
from driftline.model.reference.window_columns import cumulate, hop, tumble

__all__ = [
    "DeadLetter",
    "Frame",
    "Level",
    "NoFixedPoint",
    "NowChange",
    "NowMark",
    "Order",
    "aggregated",
    "align",
    "alter_lifetime",
    "anti_join",
    "as_of_join",
    "at_level",
    "automaton_runs",
    "clip_since",
    "clip_until",
    "coalesce",
    "cumulate",
    "distinct",
    "ends",
    "explode",
    "finalize",
    "finals",
    "flat_project",
    "full_join",
    "group_by",
    "hop",
    "hopping",
    "inner_join",
    "intersect",
    "intersect_all",
    "left_join",
    "match",
    "merged_watermark",
    "minus",
    "minus_all",
    "navigation",
    "now",
    "now_view",
    "nth",
    "of_frame",
    "output_watermark",
    "over",
    "project",
    "rank",
    "recursive",
    "recursive_together",
    "right_join",
    "select",
    "semi_join",
    "session",
    "session_columns",
    "session_members",
    "sessions",
    "sliding",
    "snapshot_operator",
    "starts",
    "top_k",
    "tumble",
    "unbounded",
    "union",
    "union_all",
    "until",
    "window_finals",
    "within",
]
