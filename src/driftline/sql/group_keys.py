"""The keys of GROUP BY: expressions, names and places of the select list, ALL, grouping sets."""

from __future__ import annotations

from functools import cached_property

from sqlglot import exp

from driftline.plan.expressions import Expression
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.grouping import Groups, has_grouping
from driftline.sql.grouping_sets import grouping_sets
from driftline.sql.overs import refuse_window_functions
from driftline.sql.query_parts import has_subquery
from driftline.sql.scope import walked
from driftline.sql.select_list import SelectItem, SelectList
from driftline.sql.subqueries import Subqueries
from driftline.sql.time_windows import TimeWindow


class GroupKeys:
    """Reads keys, which select lists may name. `late`: subqueries over the groups themselves."""

    def __init__(self, listed: SelectList, window: TimeWindow | None, late: Subqueries) -> None:
        self.scope, self.listed, self.window, self.late = listed.scope, listed, window, late

    def add(self, groups: Groups, group: exp.Group) -> None:
        """Gives groups the keys of GROUP BY."""
        uses(group, "all", "expressions", "rollup", "cube", "grouping_sets")
        if group.args.get("all") is False:
            raise refuse("GROUP BY DISTINCT is not supported: name the sets you want", group)
        if not any(group.args.values()):
            raise refuse("GROUP BY needs a key, or () for one group of all rows", group)
        if group.args.get("all"):
            for item in self.listed:
                self._add_all(groups, item)
            return
        several = grouping_sets(group)
        if several is None:
            for node in group.expressions:
                if isinstance(node, exp.Tuple) and not node.expressions:
                    uses(node)  # GROUP BY (): all rows
                else:
                    self._add_key(groups, node)
            return
        keys, sets = several
        groups.sets = []
        known = {self._add_key(groups, node) for node in keys}
        for each in sets:
            values = {self._key(node)[0]: node for node in each}
            for value, node in values.items():
                if value not in known:
                    raise refuse("a grouping set takes keys of GROUP BY", node)
            groups.sets.append(frozenset(values))

    def _add_key(self, groups: Groups, node: exp.Expr) -> Expression:
        value, name = self._key(node)
        if self.window is not None and value == self.window.value and groups.sets is None:
            for part in (self.window.start, self.window.end):
                groups.add_key(part, self._given_names.get(part))
        else:
            groups.add_key(value, name or self._given_names.get(value))
        return value

    def _key(self, node: exp.Expr) -> tuple[Expression, str | None]:
        """What a key means, and the name that the select list gives it."""
        refuse_window_functions(node, "GROUP BY")
        item = self.listed.item_at(node)
        if item is None:
            inner = self.listed.written_out(node)
            is_name = isinstance(node, exp.Column) and inner is not node
            name = node.name if is_name else None
        elif item.star:
            raise refuse("GROUP BY by position cannot mean *", node)
        else:
            inner, name = self.listed.written_out(item.node.unalias()), item.name
        value = self.scope.resolve(inner)
        if value.aggregates():
            raise refuse("GROUP BY takes no aggregate", node)
        return value, name

    def _add_all(self, groups: Groups, item: SelectItem) -> None:
        if item.star:
            for each in item.star:
                groups.add_key(each.value, each.name)
            return
        inner = self.listed.written_out(item.node.unalias())
        value = self.scope.resolve(inner, self.late.added)
        if value.aggregates() or value.columns() & {*self.late.added.names}:
            return
        if self.window is not None and value == self.window.value:
            groups.add_key(self.window.start)
            groups.add_key(self.window.end)
        else:
            groups.add_key(value, item.name)

    @cached_property
    def _given_names(self) -> dict[Expression, str]:
        """The names under which the select list gives keys, so that they are called that at once:
        by what is given."""
        found: dict[Expression, str] = {}
        for item in self.listed:
            if item.star or isinstance(item.node, exp.Column) or has_subquery(item.node):
                continue
            if has_grouping(item.node):
                continue
            if any(isinstance(part, exp.Window) for part in walked(item.node)):
                continue
            inner = self.listed.written_out(item.node.unalias())
            found.setdefault(self.scope.resolve(inner, self.late.added), item.name)
        return found
