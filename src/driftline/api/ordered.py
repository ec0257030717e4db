"""Rows in an order: ranks, window functions and patterns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, get_args

from driftline.api.planned import Planned
from driftline.arguments import is_whole
from driftline.plan import nodes
from driftline.plan.choices import need_choice
from driftline.plan.durations import Duration
from driftline.plan.errors import PlanError
from driftline.spark_columns import Text, sql_text


@dataclass(frozen=True, repr=False)
class Ordered(Planned):
    """What goes by an order of the rows of a plan."""

    def top(self, k: int, by: Text | Sequence[Text], per: Text | Sequence[Text] = ()) -> Self:
        """The first k rows by an order (`"price DESC"`), of all rows or per partition."""
        if not is_whole(k) or k < 0:
            raise PlanError(f"top needs a number of rows, not {k}")
        keys, order = self._columns(per), self._order(by)
        return self._of(nodes.Rank(self.plan, keys, order, name=None, limit=k))

    def rank(
        self,
        by: Text | Sequence[Text],
        per: Text | Sequence[Text] = (),
        *,
        method: nodes.RankMethod = "row_number",
        name: str = "rank",
    ) -> Self:
        """Every row with its place in an order, of all rows or per partition."""
        need_choice("the method of a rank", method, get_args(nodes.RankMethod))
        self._new_name(name)
        return self._of(nodes.Rank(self.plan, self._columns(per), self._order(by), method, name))

    def over(
        self,
        *functions: Text,
        by: Text | Sequence[Text] = (),
        per: Text | Sequence[Text] = (),
        frame: str = "",
        **named: Text,
    ) -> Self:
        """Every row with window functions, of all rows or per partition, in an order:
        `over("avg(price) AS mean", per="symbol", by="ts", frame="ROWS 2 PRECEDING")`. A frame is
        written as in SQL; without one it goes from the first row to this one and its peers, or,
        without an order, over the whole partition. LAG and LEAD have none."""
        from driftline.sql.overs import window_function, with_functions

        partition, order = self._columns(per), self._order(by)
        texts = [sql_text(each) for each in functions]
        texts += [f"{sql_text(text)} AS `{name}`" for name, text in named.items()]
        columns = [window_function(text, frame, order, self.schema) for text in texts]
        for column in columns:
            self._new_name(column.name)
        if not columns:
            raise PlanError("over needs window functions, such as sum(price) AS total")
        return self._of(with_functions(self.plan, partition, order, *columns))

    def match(
        self,
        pattern: str,
        define: Mapping[str, str] | None = None,
        measures: Mapping[str, str] | Sequence[str] | str = (),
        *,
        by: Text | Sequence[Text],
        per: Text | Sequence[Text] = (),
        rows: nodes.RowsPerMatch = "one",
        skip: str = "past last row",
        within: Duration | None = None,
        subsets: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """The matches of a pattern of rows, as MATCH_RECOGNIZE finds them:
        `match("DOWN+ UP", {"DOWN": "price < PREV(price)", "UP": "price > PREV(price)"},
        {"bottom": "LAST(DOWN.price)"}, per="symbol", by="ts")`. A row for each match (`one`), or
        the rows of each (`all`, `omit empty`, `with unmatched`); then the search goes on
        `past last row`, `to next row`, `to first A` or `to last A`. See docs/patterns.md."""
        from driftline.plan.patterns.building import matched
        from driftline.plan.patterns.texts import clauses

        order = self._order(by)
        written = clauses(
            pattern,
            define,
            measures,
            order,
            rows=rows,
            skip=skip,
            within=within,
            subsets=subsets,
        )
        return self._of(matched(self.plan, self._columns(per), order, written))
