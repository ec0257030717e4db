"""Aggregates whose groups are sessions, or parts of sessions.

    SELECT k, window_start, window_end, page, f(x) FROM SESSION(TABLE t PARTITION BY k, gap)
    GROUP BY k, window_start, window_end, page

A later row of a session moves its window_end, and with that every row of it into another group. But
which session a row is in does not change with its end: at every time the answer is

    the aggregate by k, window_start and page, with the end that the session has then

of which a row changes that of its own group, and the ends of the others that its session has. So
the rows are counted by the start of their session, and the end is one more value of the group, told
by rows of its own (`SessionMembers`), which no other aggregate looks at. What is computed from the
end and the keys alone, as max(window_end) or a condition on it, is computed from that value.
Aggregates that go by the start of lifetimes go by that of the rows, as they do in other windows.
Distinct rows that are sessions are such groups, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import AggregateCall, Call, Column, Expression, Literal
from driftline.plan.functions.collections import in_key_order
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
from driftline.plan.nodes.keyed import BY_START
from driftline.plan.types import BIGINT, is_timestamp

ENDS, MEMBERS = "$ends", "$members"
OF_EQUAL_VALUES = ("min", "max", "first", "last", "any_value")
"""The aggregates that are the value itself, if all rows of a group have the same."""


@dataclass(frozen=True)
class OfSession:
    """`sessions`: what the groups of an aggregate are; `keys`: what these are partitioned by, over
    the input of the aggregate; `groups`, `aggregates`: its keys and aggregates, `conditions`: which
    rows it is about, over the columns of the sessions; `further`: what else than a session its
    groups go by."""

    sessions: SessionColumns
    keys: Keys
    groups: Keys
    aggregates: Keys
    conditions: Keys
    further: Keys

    def has_end(self, value: Expression) -> bool:
        """Whether a value is computed from the end of a session."""
        return self.sessions.window[1].name in value.columns()

    @property
    def is_whole(self) -> bool:
        """Whether the groups are sessions, and the aggregates go neither by the order of rows nor
        by the end."""
        partition = map(unqualified, self.sessions.partition)
        calls = (each for each in self.aggregates if isinstance(each, AggregateCall))
        return (
            set(self.groups) == {*self.sessions.window, *partition}
            and not any(map(self.has_end, (*self.aggregates, *self.conditions)))
            and not any(call.function in BY_START for call in calls)
        )


def of_session(node: Aggregate) -> OfSession | None:
    """The sessions that the groups of an aggregate are, or are parts of; None if it is not by
    session, or goes by more than the rows of each."""
    keys = tuple(key.value for key in node.keys)
    values = (*keys, *(each.value for each in node.aggregates))
    conditions: Keys = ()
    given = node.input
    while not isinstance(given, SessionColumns):
        if not isinstance(given, (Select, Project, Alias)):
            return None
        if isinstance(given, Select):
            conditions += tuple(conjuncts(given.predicate))
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
    if not {start, *partition} <= set(groups) or end in partition or start in partition:
        return None
    known = frozenset(each.name for each in (*groups, end) if isinstance(each, Column))
    of_session = {each.name for each in (start, *partition) if isinstance(each, Column)}
    further = []
    for value in (*groups, *aggregates, *conditions):
        if end.name in value.columns():
            is_value = not isinstance(value, AggregateCall) or _is_of_equal_values(value)
            if not (is_value and value.columns() <= known):
                return None
    for group in dict.fromkeys(groups):
        if end.name in group.columns() or group in partition or group.columns() <= of_session:
            continue
        if start.name in group.columns():
            return None
        further.append(group)
    found = tuple(keys[groups.index(each)] for each in partition)
    return OfSession(given, found, groups, aggregates, conditions, tuple(further))


def _is_of_equal_values(call: AggregateCall) -> bool:
    is_value = call.function in OF_EQUAL_VALUES and call.filter is None
    return is_value and [each.type for each in call.args] == [call.type]


def distinct(rows: Node) -> Node:
    """At every time one copy of each row; of rows that are sessions, their groups."""
    columns = columns_of(rows.schema)
    keys = tuple(map(Named, rows.schema.names, columns))
    compared = tuple(map(in_key_order, columns))
    if compared != columns:
        rows = Project(rows, tuple(map(Named, rows.schema.names, compared)))
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
    members = SessionMembers(
        sessions.input, sessions.partition, sessions.gap, sessions.at_most, found.further
    )
    _, end = members.window
    of_rows = [each for each in found.conditions if not found.has_end(each)]
    is_member = together([is_null((end,)), *of_rows])
    assert is_member is not None
    names = {group: key.name for key, group in zip(node.keys, found.groups, strict=True)}

    def of_answer(value: Expression) -> Expression:
        """A value of the end and of keys, over the columns of the aggregate by start."""

        def change(part: Expression) -> Expression:
            if not isinstance(part, Column):
                return part
            if part.name == end.name:
                return _as_time(part)
            return Column(names[unqualified(part)], part.type)

        return value.transform(change)

    keys, columns, aggregates = [], [], []
    for key, group in zip(node.keys, found.groups, strict=True):
        if found.has_end(group):
            columns.append(Named(key.name, of_answer(group)))
            continue
        keys.append(Named(key.name, group))
        columns.append(Named(key.name, Column(key.name, group.type)))
    for each, value in zip(node.aggregates, found.aggregates, strict=True):
        call = cast("AggregateCall", value)
        if found.has_end(call):
            columns.append(Named(each.name, of_answer(call.args[0])))
            continue
        aggregates.append(Named(each.name, _only(call, is_member)))
        columns.append(Named(each.name, Column(each.name, call.type)))
    conditions = [of_answer(each) for each in found.conditions if found.has_end(each)]
    is_end_read = bool(conditions) or any(map(found.has_end, (*found.groups, *found.aggregates)))
    aggregates += [
        Named(MEMBERS, _only(AggregateCall("count", (), BIGINT), is_member)),
        Named(ENDS, AggregateCall("sum" if is_end_read else "count", (end,), BIGINT)),
    ]
    total = Aggregate(members, tuple(keys), tuple(aggregates), node.definitions)
    some = compare("greater", Column(MEMBERS, BIGINT), Literal(0, BIGINT))
    wanted = together([some, *conditions])
    assert wanted is not None
    return total, Project(Select(total, wanted), tuple(columns))


def _as_time(end: Expression) -> Expression:
    """The end of the session, which there is one of, as what it is in the answer."""
    total = Column(ENDS, BIGINT)
    return Call("timestamp_micros", (total,), end.type) if is_timestamp(end.type) else total


def _only(call: AggregateCall, condition: Expression) -> AggregateCall:
    """An aggregate of the rows that fulfil a condition."""
    own = [] if call.filter is None else [call.filter]
    return replace(call, filter=together([condition, *own]))
