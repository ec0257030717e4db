"""Queries for the runs of automata: by an operator of their own, or by a loop over a table of
transitions (`Query.automaton`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from driftline.arguments import flag, several, text_of
from driftline.model.automaton import OWN_COLUMNS, Automaton
from driftline.plan import nodes
from driftline.plan.choices import need_choice
from driftline.plan.errors import PlanError
from driftline.plan.nodes.automaton import NUMBER, SYMBOLS
from driftline.plan.types import is_integer, type_name
from driftline.spark_columns import Text

if TYPE_CHECKING:
    from driftline.api import Relation

By = Literal["operator", "loop"]

R = TypeVar("R", bound="Relation")


def runs_of(
    rows: R,
    automaton: Automaton,
    sequence: str,
    symbol: str | None,
    per: Text | Sequence[Text],
    partial: bool,
    by: By,
    transitions: Relation | None,
) -> R:
    """See `Query.automaton`."""
    need_choice("by", by, get_args(By))
    if not isinstance(automaton, Automaton):
        raise PlanError(f"automaton takes a driftline.Automaton, not {automaton!r}")
    flag(partial, "partial")
    conditions = _conditions(automaton, symbol)
    keys = [_quoted(each) for each in several(per, "the columns of per")]
    taken = {name.lower() for name in (*OWN_COLUMNS, *automaton.registers)}
    for name in several(per, "the columns of per"):
        if not rows.schema.find(name):
            raise PlanError(f"there is no column {name} to take sequences by")
        if name.lower() in taken:
            raise PlanError(f"{name} is a column of every run: give the column of per another name")
    number = _quoted(text_of(sequence, "the column of the sequence"))
    kind = rows._expression(number).type
    if not is_integer(kind):
        raise PlanError(
            f"the numbers of a sequence are integers, and {sequence} is a {type_name(kind)}"
        )
    known = rows.where(" AND ".join(f"{each} IS NOT NULL" for each in (*keys, number)))
    if transitions is None and by == "loop" and automaton.transitions:
        transitions = _table_of(automaton, rows.plan.timestamps)
    if transitions is not None:
        found = _by_loop(known, automaton, number, conditions, symbol, keys, transitions)
        finals = " OR ".join(f"state = {_text(each)}" for each in automaton.finals)
        return found if partial else found.where(finals or "false")
    bits = " + ".join(
        f"CASE WHEN {condition} THEN {1 << place}L ELSE 0L END"
        for place, condition in enumerate(conditions.values())
    )
    numbered = known.select(
        *keys, f"CAST({number} AS BIGINT) AS `{NUMBER}`", f"{bits or '0L'} AS `{SYMBOLS}`"
    )
    return rows._of(nodes.AutomatonRuns(numbered.plan, automaton, partial))


def _conditions(automaton: Automaton, symbol: str | None) -> dict[str, str]:
    """By the symbols of an automaton, the conditions that rows with them fulfil."""
    if (symbol is None) != bool(automaton.symbols):
        raise PlanError(
            "symbol names the column of the symbols if, and only if, the automaton does not have "
            "conditions for them"
        )
    if symbol is None:
        return dict(automaton.symbols)
    column = _quoted(text_of(symbol, "the column of the symbols"))
    return {each: f"{column} = {_text(each)}" for each in automaton.alphabet}


def _by_loop(
    rows: R,
    automaton: Automaton,
    number: str,
    conditions: dict[str, str],
    symbol: str | None,
    keys: list[str],
    transitions: Relation,
) -> R:
    """The cyclic plan: rows and transitions that fit together are moves, which are joined with the
    runs so far that they go on from."""
    from driftline.api import Relation, recursive

    if not isinstance(transitions, Relation):
        raise PlanError(f"transitions are a query, not a {type(transitions).__name__}")
    for name in automaton.columns():
        if not transitions.schema.find(name):
            raise PlanError(
                f"the table of transitions has no column {name}; it needs "
                f"{', '.join(automaton.columns())}"
            )
    by = f"CAST({number} AS BIGINT)"
    if symbol is not None:
        column = _quoted(symbol)
        having = rows.select(
            *keys, f"{by} AS `{NUMBER}`", f"CAST({column} AS STRING) AS `{SYMBOLS}`"
        )
    else:
        parts = [
            rows.where(condition).select(
                *keys, f"{by} AS `{NUMBER}`", f"{_text(name)} AS `{SYMBOLS}`"
            )
            for name, condition in conditions.items()
        ]
        having = parts[0]
        for part in parts[1:]:
            having = having.union(part)
    moves = having.alias("r").join(
        transitions.select(*map(_quoted, automaton.columns())).alias("t"),
        f"r.`{SYMBOLS}` = t.symbol",
    )
    own = [f"r.{each} AS {each}" for each in keys]
    told = [
        f"t.{_quoted(name)} AS {_quoted(name)}" for name in automaton.columns() if name != "symbol"
    ]
    moves = moves.select(*own, f"r.`{NUMBER}` AS `{NUMBER}`", *told).alias("move")
    initial = [f"{value}L AS {_quoted(name)}" for name, value in automaton.registers.items()]
    seeds = rows.select(
        *keys,
        f"{by} AS begins",
        f"{by} - 1L AS ends",
        f"{_text(automaton.start)} AS state",
        *initial,
    )

    def step(run: R) -> R:
        same = [f"run.{key} = move.{key}" for key in keys]
        found = run.join(
            moves,
            " AND ".join([*same, f"run.ends + 1L = move.`{NUMBER}`", "run.state = move.source"]),
        )
        bounds = [
            f"(move.{_quoted(f'{side}_{name}')} IS NULL OR "
            f"run.{_quoted(name)} {sign} move.{_quoted(f'{side}_{name}')})"
            for name in automaton.registers
            for side, sign in (("at_least", ">="), ("at_most", "<="))
        ]
        if bounds:
            found = found.where(" AND ".join(bounds))
        after = [
            f"run.{_quoted(name)} + coalesce(move.{_quoted(f'add_{name}')}, 0L) AS {_quoted(name)}"
            for name in automaton.registers
        ]
        kept = [f"run.{key} AS {key}" for key in keys]
        moved = [f"move.`{NUMBER}` AS ends", "move.target AS state"]
        return found.select(*kept, "run.begins AS begins", *moved, *after)

    columns = {name: each.type for name, each in zip(seeds.schema.names, seeds.schema, strict=True)}
    return recursive("run", columns, seeds, step, all=True)


def _table_of(automaton: Automaton, timestamps: bool) -> Relation:
    """The transitions of an automaton as a table whose rows are always there."""
    from driftline.api import Query

    rows = automaton.rows()
    columns = []
    for name, kind in automaton.columns().items():
        values = [row[name] for row in rows]
        texts = [_text(each) if isinstance(each, str) else each for each in values]
        cases = " ".join(
            f"WHEN {number} THEN {'NULL' if text is None else text}"
            for number, text in enumerate(texts)
        )
        columns.append(f"CAST(CASE `{nodes.ROW}` {cases} END AS {kind}) AS {_quoted(name)}")
    return Query(nodes.constant(len(rows), timestamps)).select(*columns)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
