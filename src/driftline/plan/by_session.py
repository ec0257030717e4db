"""Aggregates whose groups are sessions.

    SELECT k, window_start, window_end, f(x) FROM SESSION(TABLE t PARTITION BY k, gap)
    GROUP BY k, window_start, window_end

A later row of a session moves its window_end, and with that every row of it into another group. But
which session a row is in does not change with its end: at every time the answer is

    the aggregate by k and window_start, with the end that the session has then

of which a row changes that of its own group alone. So the rows are counted by the start of their
session, and the end is one more value of the group, told by rows of its own (`SessionMembers`),
which no other aggregate looks at. Distinct rows that are sessions are such groups, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from driftline.plan.conditions import together
from driftline.plan.expressions import AggregateCall, Call, Column, Expression, Literal
from driftline.plan.functions.operators import compare, is_null
from driftline.plan.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Named,
    Node,
    Project,
    Select,
    SessionColumns,
    SessionMembers,
)
from driftline.plan.nodes.base import Keys, columns_of, unqualified
from driftline.plan.types import BIGINT, is_timestamp

ENDS, MEMBERS = "$ends", "$members"


@dataclass(frozen=True)
class OfSession:
    """`sessions`: what the groups of an aggregate are; `keys`: what these are partitioned by, over
    the input of the aggregate; `groups`, `aggregates`: its keys and aggregates, and `conditions`:
    which rows it is about, over the columns of the sessions."""

    sessions: SessionColumns
    keys: Keys
    groups: Keys
    aggregates: Keys
    conditions: Keys


def of_session(node: Aggregate) -> OfSession | None:
    """The sessions that the groups of an aggregate are; None if it is not by session, or goes by
    more than the rows of each."""
    if node.goes_by is not None:
        return None
    keys = tuple(key.value for key in node.keys)
    values = (*keys, *(each.value for each in node.aggregates))
    conditions: Keys = ()
    given = node.input
    while not isinstance(given, SessionColumns):
        if not isinstance(given, (Select, Project, Alias)):
            return None
        if isinstance(given, Select):
            conditions += (given.predicate,)
        below = given.below((*values, *conditions))
        if below is None:
            return None
        values, conditions = below[: len(values)], below[len(values) :]
        given = given.input
    if isinstance(given, SessionMembers):
        return None
    start, end = given.window
    groups, aggregates = tuple(map(unqualified, values[: len(keys)])), values[len(keys) :]
    partition = tuple(map(unqualified, given.partition))
    if set(groups) != {start, end, *partition} or end in partition or start in partition:
        return None
    if any(end.name in value.columns() for value in (*aggregates, *conditions)):
        return None
    found = tuple(keys[groups.index(each)] for each in partition)
    return OfSession(given, found, groups, aggregates, conditions)


def distinct(rows: Node) -> Node:
    """At every time one copy of each row; of rows that are sessions, their groups."""
    keys = tuple(map(Named, rows.schema.names, columns_of(rows.schema)))
    groups = Aggregate(rows, keys, ())
    are_sessions = groups.session is not None and groups.schema == rows.schema
    return groups if are_sessions else Distinct(rows)


def by_session(node: Aggregate) -> tuple[Aggregate, Node] | None:
    """The same answer by the start of sessions: the aggregate, and the whole plan over it; None if
    it is not by session."""
    found = node.session
    if found is None:
        return None
    sessions = found.sessions
    members = SessionMembers(sessions.input, sessions.partition, sessions.gap, sessions.at_most)
    _, end = members.window
    is_member = together([is_null((end,)), *found.conditions])
    assert is_member is not None
    keys, columns = [], []
    for key, group in zip(node.keys, found.groups, strict=True):
        if group == sessions.window[1]:
            columns.append(Named(key.name, _as_time(key.value)))
            continue
        keys.append(Named(key.name, group))
        columns.append(Named(key.name, Column(key.name, group.type)))
    aggregates = [
        Named(each.name, _only(cast("AggregateCall", value), is_member))
        for each, value in zip(node.aggregates, found.aggregates, strict=True)
    ]
    columns += [Named(each.name, Column(each.name, each.value.type)) for each in node.aggregates]
    aggregates += [
        Named(MEMBERS, _only(AggregateCall("count", (), BIGINT), is_member)),
        Named(ENDS, AggregateCall("sum", (end,), BIGINT)),
    ]
    total = Aggregate(members, tuple(keys), tuple(aggregates), node.definitions)
    some = compare("greater", Column(MEMBERS, BIGINT), Literal(0, BIGINT))
    return total, Project(Select(total, some), tuple(columns))


def _as_time(end: Expression) -> Expression:
    """The end of the session, which there is one of, as what it is in the answer."""
    total = Column(ENDS, BIGINT)
    return Call("timestamp_micros", (total,), end.type) if is_timestamp(end.type) else total


def _only(call: AggregateCall, condition: Expression) -> AggregateCall:
    """An aggregate of the rows that fulfil a condition."""
    own = [] if call.filter is None else [call.filter]
    return replace(call, filter=together([condition, *own]))
