"""One SELECT, as a plan: FROM, WHERE, GROUP BY, HAVING, window functions, QUALIFY, columns,
DISTINCT, top-k.

The clauses are read in the order in which SQL gives them meaning.
"""

from __future__ import annotations

from sqlglot import exp

from driftline.plan import by_session, nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import Column, Expression
from driftline.plan.names import as_written, told_apart
from driftline.plan.types import Schema
from driftline.plan.used import uses, uses_all
from driftline.sql.errors import refuse
from driftline.sql.explode import lateral, of_select_list
from driftline.sql.group_keys import GroupKeys
from driftline.sql.grouping import Groups, has_grouping
from driftline.sql.order import has_ties, limit_of, offset_of, order_item, top, unsupported_order
from driftline.sql.other_functions.windows import add_window_time
from driftline.sql.overs import Overs, limited, refuse_window_functions
from driftline.sql.query_parts import aggregates_in, conjuncts_of, has_subquery, is_aggregate
from driftline.sql.scalar import compared, compared_subquery
from driftline.sql.scope import OWN_COLUMN, Relations, Scope, columns_in, walked, with_columns
from driftline.sql.select_list import SelectItem, SelectList
from driftline.sql.strict_grammar import TEXT
from driftline.sql.subqueries import Subqueries, bare
from driftline.sql.tables import BindQuery, bind_from, truth
from driftline.sql.time_windows import time_window
from driftline.sql.values import one_row
from driftline.sql.where import filtered

_CLAUSES = (
    *("with_", "distinct", "expressions", "from_", "joins", "where", "group", "having"),
    *("laterals", "windows", "qualify", "order", "limit", "offset"),
)


def bind_select(node: exp.Select, names: Relations, bind: BindQuery) -> nodes.Node:
    """The plan of a SELECT."""
    return _Select(node, names, bind).plan()


class _Select:
    def __init__(self, node: exp.Select, names: Relations, bind: BindQuery) -> None:
        self.node, self.names, self.bind = node, names, bind
        self.groups: Groups | None = None
        unsupported_order(node)
        uses(node, *_CLAUSES, "hint")
        for hint in [node.args["hint"]] if node.args.get("hint") else ():
            uses_all(hint)  # how a query is run, and not what it means
        source = node.args.get("from_")
        if source is None:
            self.scope = Scope(one_row(names))
        else:
            uses(source, "this")
            self.scope = bind_from(source.this, node.args.get("joins") or [], names, bind)
        if not self.scope.schema.find("window_time"):
            add_window_time(node)
        for each in node.args.get("laterals") or ():
            self.scope = lateral(self.scope, each)
        where = node.args.get("where")
        if where is not None:
            uses(where, "this")
            refuse_window_functions(where.this, "WHERE")
            self._hint_at_aliases(where.this)
            self.scope = filtered(self.scope, where.this, "WHERE", names, bind)
        self.window = time_window(node, self.scope)
        if self.window is not None:
            self.scope = self.window.scope
        self.scope, self.listed = of_select_list(self.scope, node.expressions)
        self.listed = [with_columns(self.scope, item) for item in self.listed]
        self._compute_in_keys()
        self._compute_in_aggregates()
        self.late = Subqueries(self.scope, names, bind, self._over_groups)
        self._take_subqueries_out()
        self.last = Subqueries(
            self.scope, names, bind, self._over_windows, prefix=f"{OWN_COLUMN} last "
        )
        self.items = SelectList(self.scope, self.listed, node)
        self.overs = Overs(
            self.scope.schema,
            node.args.get("windows") or (),
            self._in_window,
        )

    def plan(self) -> nodes.Node:
        order, limit = self.node.args.get("order"), self.node.args.get("limit")
        count, offset = limit_of(limit), offset_of(self.node)
        ranks = count is not None or offset > 0
        distinct = self.node.args.get("distinct")
        if distinct is not None:
            uses(distinct)
        groups = self._groups()
        qualify = self._qualify(groups)
        is_star = groups is None and self.items.is_star and qualify is None
        if is_star and order is None and not ranks:
            rows = self.scope.plan
            return by_session.distinct(rows) if distinct is not None else rows
        outputs = [output for item in self.items for output in self._outputs(item, groups)]
        names = told_apart([as_written(output.name) for output in outputs])
        outputs = [nodes.Named(name, each.value) for name, each in zip(names, outputs, strict=True)]
        wanted = self._order(order, outputs, groups, ranks) if order is not None else []
        plan = self._qualified(self._before_projection(groups), qualify)
        shown = set(outputs)
        hidden = [named for named, _ in wanted if named not in shown]
        if hidden and distinct is not None and order is not None:
            raise refuse(
                "with DISTINCT, ORDER BY takes columns of the select list", order.expressions[0]
            )
        if not is_star or hidden:
            columns = tuple(outputs) + (tuple(dict.fromkeys(hidden)) if ranks else ())
            plan = nodes.Project(plan, columns)
        if distinct is not None:
            plan = by_session.distinct(plan)
        items = tuple(
            order_item(
                each,
                Column(named.name, named.value.type) if not is_star or hidden else named.value,
            )
            for named, each in wanted
        )
        if not ranks:
            return plan
        plan = top(plan, items, count, offset, has_ties(self.node))
        if hidden:
            kept = (nodes.Named(each.name, Column(each.name, each.value.type)) for each in outputs)
            plan = nodes.Project(plan, tuple(kept))
        return plan

    # The select list

    def _compute_in_aggregates(self) -> None:
        """Subqueries in the arguments of aggregates become columns of the rows."""
        having = self.node.args.get("having")
        parts = [*self.listed, *([] if having is None else [having])]
        if not any(map(has_subquery, parts)) or not any(map(is_aggregate, parts)):
            return
        found = Subqueries(self.scope, self.names, self.bind)

        def computed(node: exp.Expr) -> exp.Expr:
            copy = node.copy()
            for part in aggregates_in(copy):
                if has_subquery(part):
                    plain = found.taken_out(part)
                    if part is copy:
                        plain.meta.update(copy.meta)
                        return plain
                    part.replace(plain)
            return copy

        for item in self.listed:
            item.meta.setdefault(TEXT, item.sql("spark"))
        self.listed = [computed(item) for item in self.listed]
        if having is not None:
            self.node.set("having", computed(having))
        self.scope = self.scope.over(found.applied(self.scope.plan))

    def _compute_in_keys(self) -> None:
        """Subqueries of GROUP BY become columns of the rows, and so do the same ones elsewhere."""
        group = self.node.args.get("group")
        if group is None or not any(map(has_subquery, [group, *self.listed])):
            return
        found = Subqueries(self.scope, self.names, self.bind)
        keys, changed = found.taken_out(group), has_subquery(group)
        names = {
            each.name.lower()
            for each in group.expressions
            if isinstance(each, exp.Column) and not each.table and not self.scope.has(each)
        }
        places = {each.name for each in group.expressions if isinstance(each, exp.Literal)}
        for place, item in enumerate(self.listed):
            is_key = (group.args.get("all") and not is_aggregate(item)) or str(place + 1) in places
            if has_subquery(item) and (is_key or item.alias.lower() in names):
                item.meta.setdefault(TEXT, item.sql("spark"))
                self.listed[place] = found.taken_out(item)
                changed = True
        if not changed:
            return
        self.node.set("group", keys)
        self.listed = [found.taken_out(item, found.knows) for item in self.listed]
        for key in ("having", "qualify", "order"):
            part = self.node.args.get(key)
            if part is not None:
                self.node.set(key, found.taken_out(part, found.knows))
        self.scope = self.scope.over(found.applied(self.scope.plan))

    def _take_subqueries_out(self) -> None:
        """Subqueries of the select list become columns, of the rows or of the groups; and so do
        those that window functions of other clauses are computed from."""
        others = [self.node.args.get(key) for key in ("qualify", "order")]
        if not any(map(has_subquery, [*self.listed, *filter(None, others)])):
            return
        for item in self.listed:
            item.meta.setdefault(TEXT, item.sql("spark"))
        grouped = any(self.node.args.get(key) is not None for key in ("group", "having"))
        grouped = grouped or any(map(is_aggregate, self.listed))
        found = self.late if grouped else Subqueries(self.scope, self.names, self.bind)
        self.listed = [
            found.taken_out(item, lambda part: not self._is_about_windows(part))
            for item in self.listed
        ]
        for key in ("qualify", "order"):
            part = self.node.args.get(key)
            if part is not None:
                self.node.set(key, found.taken_out(part, _is_in_window))
        if not grouped:
            self.scope = self.scope.over(found.applied(self.scope.plan))

    def _is_about_windows(self, part: exp.Expr) -> bool:
        """Whether it is an IN of what rows have only after their window functions, or under a
        name of the select list."""
        if not isinstance(part, exp.In) or _is_in_window(part):
            return False
        return any(isinstance(each, exp.Window) for each in walked(part.this)) or not all(
            map(self.scope.has, columns_in(part.this))
        )

    def _over_groups(self, node: exp.Expr, more: Schema) -> Expression:
        assert self.groups is not None
        return self.groups.over(self.scope.resolve(node, more), node)

    def _over_windows(self, node: exp.Expr, more: Schema) -> Expression:
        value = self.scope.resolve(node, self.overs.fields + self.late.added + more)
        return value if self.groups is None else self.groups.over(value, node)

    @property
    def _more(self) -> Schema:
        """Columns that rows have besides those of FROM."""
        return self.overs.fields + self.late.added + self.last.added

    def _outputs(self, item: SelectItem, groups: Groups | None) -> list[nodes.Named]:
        if item.star:
            if groups is None:
                return list(item.star)
            return [
                nodes.Named(each.name, groups.over(each.value, item.node)) for each in item.star
            ]
        value = self._value(item.node.unalias(), groups, item.alias)
        return [nodes.Named(item.name, value)]

    def _value(self, node: exp.Expr, groups: Groups | None, alias: str | None = None) -> Expression:
        """What an expression of the select list means, over groups if there are any."""
        plain = self.last.taken_out(self.overs.taken_out(self.items.written_out(node), alias))
        if groups is None:
            return self.scope.resolve(plain, self._more)
        plain = groups.marked(plain, self.scope.resolve)
        return groups.over(self.scope.resolve(plain, self._more + groups.marks), plain)

    def _in_window(self, node: exp.Expr) -> Expression:
        """What a part of a window function is computed from."""
        plain, more = self.items.written_out(node), self.late.added
        if self.groups is not None and has_grouping(plain):
            plain, more = self.groups.marked(plain, self.scope.resolve), more + self.groups.marks
        return self.scope.resolve(plain, more)

    def _hint_at_aliases(self, where: exp.Expr) -> None:
        given = {
            each.alias.lower() for each in self.node.expressions if isinstance(each, exp.Alias)
        }
        for column in (part for part in walked(where) if isinstance(part, exp.Column)):
            if not column.table and column.name.lower() in given and not self.scope.has(column):
                raise refuse(
                    f"{column.name} is a name that SELECT gives, which WHERE does not know yet: "
                    "write the expression, or filter in an outer query",
                    column,
                )

    # Groups and window functions

    def _groups(self) -> Groups | None:
        group, having = self.node.args.get("group"), self.node.args.get("having")
        values = [
            self.scope.resolve(
                self.overs.taken_out(self.items.written_out(item.node.unalias()), item.alias),
                self._more,
            )
            for item in self.items
            if not item.star and not has_subquery(item.node) and not has_grouping(item.node)
        ]
        is_grouped = group is not None or having is not None
        is_grouped |= any(value.aggregates() for value in values)
        is_grouped |= any(is_aggregate(each.node) for each in self.items if has_subquery(each.node))
        is_grouped |= any(is_aggregate(over.node) for over in self.overs.found)
        if not is_grouped:
            return None
        groups = self.groups = Groups(self.scope, self.names)
        groups.filters.append(self.late.applied)
        if group is not None:
            GroupKeys(self.items, self.window, self.late).add(groups, group)
        if groups.sets is None:
            for item in self.items:
                groups.marked(item.node, self.scope.resolve)  # refuses grouping(…)
        self._having(groups, having)
        return groups

    def _having(self, groups: Groups, having: exp.Having | None) -> None:
        if having is None:
            return
        uses(having, "this")
        refuse_window_functions(having.this, "HAVING")
        if not has_subquery(having.this):
            condition = groups.marked(self.items.written_out(having.this), self.scope.resolve)
            groups.having(self.scope.resolve(condition, groups.marks), condition)
            return
        for part in conjuncts_of(having.this):
            plain = self.items.written_out(part)
            query = compared_subquery(plain)
            keep = None
            if query is not None:
                keep = compared(self.scope, plain, query, self.names, self.bind, self._over_groups)
            if keep is not None:
                groups.filters.append(keep)
            else:
                if isinstance(plain, exp.In) and isinstance(bare(plain.this), exp.Tuple):
                    plain = self.late.is_in(plain)
                plain = self.late.taken_out(plain)
                groups.having(self.scope.resolve(plain, self.late.added), plain)

    def _qualify(self, groups: Groups | None) -> Expression | None:
        """Which rows QUALIFY keeps, by their window functions."""
        node = self.node.args.get("qualify")
        if node is None:
            return None
        uses(node, "this")
        value = truth(self._value(node.this, groups), node.this, "QUALIFY")
        if not self.overs.found:
            raise refuse("QUALIFY is about window functions: use WHERE or HAVING", node)
        return value

    def _qualified(self, plan: nodes.Node, qualify: Expression | None) -> nodes.Node:
        """The rows that QUALIFY keeps, with columns for the subqueries that go by windows."""
        late = {*self.last.added.names}
        parts = [] if qualify is None else conjuncts(qualify)
        plan = limited(plan, together([each for each in parts if not each.columns() & late]))
        plan = self.last.applied(plan)
        rest = together([each for each in parts if each.columns() & late])
        return plan if rest is None else nodes.Select(plan, rest)

    def _before_projection(self, groups: Groups | None) -> nodes.Node:
        """The rows that the select list is computed from."""

        def resolve(node: exp.Expr) -> Expression:
            value = self._in_window(node)
            return value if groups is None else groups.over(value, node)

        def ranked(plan: nodes.Node) -> nodes.Node:
            for over in self.overs.found:
                plan = over.applied(plan, resolve)
            return plan

        if groups is None:
            return ranked(self.scope.plan)
        groups.asked |= any(has_grouping(over.node) for over in self.overs.found)
        ranked(groups.plan())  # so that the groups learn of aggregates that only an OVER uses
        return ranked(groups.plan())

    # Order

    def _order(
        self, order: exp.Order, outputs: list[nodes.Named], groups: Groups | None, ranks: bool
    ) -> list[tuple[nodes.Named, exp.Expr]]:
        """What to order by: columns of the output, or further ones that have to be computed, but
        not if the order decides nothing."""
        uses(order, "expressions")
        found: list[tuple[nodes.Named, exp.Expr]] = []
        by_value = {output.value: output for output in reversed(outputs)}
        if len(order.expressions) == 1 and self._is_all(order.expressions[0].this):
            (item,) = order.expressions
            uses(item, "this", "desc", "nulls_first")
            uses_all(item.this)
            return [(output, item) for output in outputs]
        computed = self.last
        if not ranks:
            self.last = Subqueries(self.scope, self.names, self.bind, self._over_windows)
        for each in order.expressions:
            uses(each, "this", "desc", "nulls_first")
            node = each.this
            if isinstance(node, exp.Literal) and not node.is_string:
                uses(node, "this")
                place = int(node.this) if node.this.isdigit() else 0
                if not 1 <= place <= len(outputs):
                    raise refuse(
                        f"there is no column {node.this} to order by: there are {len(outputs)}",
                        node,
                    )
                found.append((outputs[place - 1], each))
                continue
            named = self.items.place_of(node)
            if named is not None:
                uses(node, "this")
                found.append((outputs[named], each))
                continue
            value = self._ordering_value(node, groups)
            same = by_value.get(value)
            found.append((same or nodes.Named(f"$order{len(found)}", value), each))
        if not ranks and self.last.added.fields:
            self.last.applied(self._before_projection(groups))  # refuses what has no meaning
        self.last = computed
        return found

    def _is_all(self, node: exp.Expr) -> bool:
        """Whether it is the word ALL: of ORDER BY, every column of the select list."""
        if isinstance(node, exp.Column):
            return node.name.upper() == "ALL" and not node.this.quoted and not self.scope.has(node)
        return isinstance(node, (exp.Var, exp.All)) and not node.args.get("expression")

    def _ordering_value(self, node: exp.Expr, groups: Groups | None) -> Expression:
        plain = self.last.taken_out(self.overs.taken_out(self.items.written_out(node, first=True)))
        if groups is not None:
            plain = groups.marked(plain, self.scope.resolve)
            return groups.over(self.scope.resolve(plain, self._more + groups.marks), plain)
        value = self.scope.resolve(plain, self._more)
        if value.aggregates():
            raise refuse("ORDER BY an aggregate needs GROUP BY", node)
        return value


def _is_in_window(part: exp.Expr) -> bool:
    """Whether it stands in a window function."""
    return isinstance(part.find_ancestor(exp.Window, exp.Query), exp.Window)
