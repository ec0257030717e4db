"""SQL: from the text of a script to plans.

    script             statements, and the queries that they ask for
    connectors         where a script says that streams come from and answers go to
    grammar            the grammar of scripts;  statement_grammar: CREATE, INSERT and SET;
                       strict_grammar: queries;  window_grammar: tables and their windows;
                       match_grammar: MATCH_RECOGNIZE;  pipe_grammar: FROM t |> WHERE …;
                       name_grammar: IDENTIFIER('t');  json_grammar: the words in JSON functions
    syntax             the parts of the syntax tree that these add
    query              SELECT, set operations, ORDER BY … LIMIT and CTEs
    recursion          WITH RECURSIVE
    select             one SELECT;  select_list: its items and their names;  its clauses: tables
                       (FROM), where, group_keys and grouping (GROUP BY), order
    scope              what names mean;  errors: mistakes with line, column and a caret
    as_of              ASOF JOIN and FOR SYSTEM_TIME AS OF
    now_filters        conditions on now(), which are windows
    other_spellings    what users of other engines write, as Spark has it;  other_functions: their
                       functions
    windows            brackets, TUMBLE, HOP, CUMULATE and SESSION;  values: VALUES, and SELECT
                       without FROM
    time_windows       Spark's window(…) and session_window(…)
    matches            MATCH_RECOGNIZE
    grouping_sets      GROUPING SETS, ROLLUP and CUBE
    overs              window functions of a SELECT;  window_functions: what each means;
                       written_out: those that are written with others
    subqueries         subqueries in expressions;  scalar: with one value;  correlated: about the
                       row outside;  outside: what they use of it;  laterals: LATERAL (SELECT …)
    explode            LATERAL VIEW, LATERAL explode(…), UNNEST and inline;  pivots: PIVOT, UNPIVOT
    pushdown           conditions of WHERE that belong into a join
    plainer            queries written more plainly, with the same meaning
    query_parts        what AND joins, aggregates, queries without brackets and CTEs

The module itself can be called, as `driftline.sql("SELECT …", trades=trades)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast, overload

from driftline.plan.errors import PlanError
from driftline.sql.errors import SqlError
from driftline.sql.script import Output, Script, read_script

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from driftline.api import Query, Relation
    from driftline.spark.frames import FrameQuery

__all__ = ["Output", "Script", "SqlError", "read_script", "sql"]


@overload
def sql(script: str, /, **streams: Query) -> Query: ...
@overload
def sql(script: str, /, **streams: FrameQuery | DataFrame) -> FrameQuery: ...


def sql(script: str, /, **streams: Any) -> Any:
    """The last query of a script, over streams that the script declares or that are given by name:
    streams, queries, or DataFrames of Spark, over which it is a query whose answer is DataFrames.

    >>> import driftline as dl
    >>> trades = dl.stream("trades", {"symbol": "STRING", "qty": "INT"})
    >>> query = sql("SELECT symbol, sum(qty) AS qty FROM trades [RANGE 10] GROUP BY symbol",
    ...             trades=trades)
    >>> query == trades.window(range=10).group_by("symbol").agg("sum(qty) AS qty")
    True
    """
    from driftline.api import Query

    if not isinstance(script, str):
        raise PlanError(f"a script is a text, not a {type(script).__name__}")
    given = {name: _relation(name, each) for name, each in streams.items()}
    read = read_script(script, {name: query.plan for name, query in given.items()})
    if read.explained:
        raise PlanError("EXPLAIN is for driftline run; here it is .explain() of a query")
    if not read.outputs:
        raise PlanError("the script has no query: end it with SELECT … FROM …")
    for each in read.outputs:
        if each.sink is not None:
            raise PlanError(f"the sink {each.name} is for driftline run: leave CREATE SINK out")
    for name in read.inputs:
        raise PlanError(f"the path of {name} is for driftline run; here it is run({name}=…)")
    last = read.outputs[-1]
    if last.settings:
        name = next(iter(last.settings))
        emitted = " (or EMIT)" if name == "final" else ""
        raise PlanError(f"SET {name}{emitted} is for driftline run; here it is run(…, {name}=…)")
    first: Relation = next(iter(given.values()), Query(last.plan))
    return first._of(last.plan, *given.values())


def _relation(name: str, given: object) -> Relation:
    """A stream or a query, or a DataFrame as a stream of that name."""
    from driftline.api import Relation, stream

    if hasattr(given, "sparkSession"):
        return stream(name, cast("DataFrame", given))
    if not isinstance(given, Relation):
        raise PlanError(f"{name} must be a stream or a query, not a {type(given).__name__}")
    return cast("Relation", given._called(name))


class _Callable(ModuleType):
    """Makes `driftline.sql(…)` work whether or not this module was imported before."""

    def __call__(self, script: str, /, **streams: Any) -> Any:
        return sql(script, **streams)


sys.modules[__name__].__class__ = _Callable
