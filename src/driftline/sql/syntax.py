"""The parts of a script's syntax tree that sqlglot does not know."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp

FINAL = "final"
"""In the meta of a query: its rows come once, when they are final."""

EXPLAINED = "explained"
"""In the meta of a query: its plan is shown, and it is not run."""


class CreateStream(exp.Expression):
    """`CREATE STREAM name (column type, …) WITH (key = value, …)`, or `… AS query`; `keys`: the
    names of a PRIMARY KEY; `unless`: IF NOT EXISTS."""

    arg_types: ClassVar[dict[str, Any]] = {
        "this": True,
        "columns": False,
        "options": False,
        "keys": False,
        "query": False,
        "replace": False,
        "unless": False,
    }


class CreateSink(exp.Expression):
    """`CREATE SINK name WITH (key = value, …) [AS query]`."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "options": True, "query": False}


class CreateView(exp.Expression):
    """`CREATE VIEW name [(column, …)] AS query`."""

    arg_types: ClassVar[dict[str, Any]] = {
        "this": True,
        "columns": False,
        "query": True,
        "replace": False,
        "unless": False,
    }


class InsertInto(exp.Expression):
    """`[WITH …] INSERT INTO name [(column, …)] query`."""

    arg_types: ClassVar[dict[str, Any]] = {
        "this": True,
        "columns": False,
        "query": True,
        "with_": False,
    }


class Setting(exp.Expression):
    """`SET name = value`, and an item of WITH; the value is a literal."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "expression": True}


class Bracket(exp.Expression):
    """A window in brackets; the durations are literals, intervals or expressions."""

    arg_types: ClassVar[dict[str, Any]] = {
        "form": True,
        "size": False,
        "slide": False,
        "start": False,
        "duration": False,
        "most": False,
        "keys": False,
        "other": False,
        "on": False,
    }


class WindowTable(exp.Expression):
    """`TUMBLE(…)`, `HOP(…)` or `SESSION(…)` in FROM: a table, perhaps a column of it, durations; of
    sessions the keys."""

    arg_types: ClassVar[dict[str, Any]] = {
        "this": True,
        "name": True,
        "time": False,
        "keys": False,
        "expressions": True,
    }


class Duration(exp.Expression):
    """A duration as it is written in brackets: `5 MINUTES`, `10`, `1 HOUR 30 MINUTES`."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True}


class MatchRecognize(exp.Expression):
    """`MATCH_RECOGNIZE (…)` after a table, with the alias after it. The pattern is a text, with the
    line and the column where it begins; measures and conditions are aliases."""

    arg_types: ClassVar[dict[str, Any]] = {
        "partition": False,
        "order": False,
        "measures": False,
        "rows": False,
        "skip": False,
        "skip_to": False,
        "pattern": True,
        "line": True,
        "column": True,
        "within": False,
        "subsets": False,
        "define": False,
        "alias": False,
    }


class Subset(exp.Expression):
    """`name = (variable, …)` of SUBSET."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "expressions": True}
