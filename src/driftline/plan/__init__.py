"""Plans: what a query computes, described apart from how it is run.

    nodes          the operators of a plan, and what each answers about itself
    expressions    typed expressions;  expression: their base;  written_calls: calls as SQL
    functions      what SQL's functions take and give
    types          SQL types and schemas;  coercion: common types and implicit casts
    errors         mistakes, explained in one line

From text to expressions:

    dialect        Spark SQL as Driftline reads it;  depth: room for long chains of operands
    resolver       looks up names and finds types (a folder);  names: columns by their written names
    naming         expressions with a name or an order;  used: refuses syntax without a meaning
    constants      constants in the syntax tree;  literals: as SQL text;  temporal: dates and times
    folding        constants written as arithmetic;  number_formats: of to_number and to_char
    csv_lines      lines of CSV, and the types in them;  xml_events: texts of XML, part by part
    durations      "5 minutes";  milliseconds: of the arrival clock;  sizes: "8GB", other limits
    timing         the bounds of a stream;  source_bounds: those that differ by source
    patterns       patterns, conditions and measures of MATCH_RECOGNIZE
    choices        how a query is run: emit, scheduler, outputs, tokens, heeding

What is asked of a whole plan:

    facts          what its nodes answer, given what is known of the streams;  native: what Spark
                   runs itself
    recursion      recursive rules become a loop;  improving: which may have min and max inside
    carried        which columns go around a loop unchanged
    combining      whether two queries may be combined
    conditions     conjunctions, equalities between two sides, straight lines
    needed         which columns it reads
    lifetimes      where it needs lifetimes and has snapshots;  finals: final answers only
    running        window functions that are running aggregates;  by_session: aggregates whose
                   groups are sessions
    until          lifetimes that are cut where a row of another stream comes
    closing        which groups a cti closes;  bands: how long a row finds partners in a join
    fragments      cuts it where rows have to be partitioned anew
    fingerprint    all that it means, as one short text
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline.plan.errors import ExpressionError
    from driftline.plan.resolver import parse_expression, resolve
    from driftline.plan.types import Field, Schema

__all__ = ["ExpressionError", "Field", "Schema", "parse_expression", "resolve"]

_HOMES = {
    "ExpressionError": "errors",
    **dict.fromkeys(("Field", "Schema"), "types"),
    **dict.fromkeys(("parse_expression", "resolve"), "resolver"),
}


def __getattr__(name: str) -> Any:
    """Names are loaded when they are asked for: the command line reads `choices` alone."""
    if name not in _HOMES:
        raise AttributeError(f"driftline.plan has no {name}")
    from importlib import import_module

    return getattr(import_module(f"driftline.plan.{_HOMES[name]}"), name)
