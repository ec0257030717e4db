"""Automata: every run over consecutive rows of a sequence.

    runs(H) = { (⋂ lifetimes of the rows, (key, b, e, q, x)) : rows of one key with the numbers
                b, b + 1, …, e take the automaton from its start to the state q, with registers x }

A run over no row, (key, b, b - 1, start, initial), lives as long as a row with the number b does.
It is a bag: a run is there once for every choice of rows and transitions that lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from driftline.model.automaton import Automaton, Transition
from driftline.model.history import History, Lifetime
from driftline.model.row import Row


def automaton_runs(
    history: History,
    automaton: Automaton,
    symbols: Callable[[Row], Collection[str]],
    sequence: str,
    per: Sequence[str] = (),
) -> History:
    """`symbols`: those that a row has; `sequence`: the column with the number of a row. A row
    without a number, or without a key, is in no run."""
    rows = [each for each in history if None not in (each.row[name] for name in (*per, sequence))]

    def extended(run: Lifetime) -> Iterator[Lifetime]:
        yield run
        for each in rows:
            vs, ve = max(run.vs, each.vs), min(run.ve, each.ve)
            follows = each.row[sequence] == run.row["ends"] + 1
            if vs >= ve or not follows or any(each.row[key] != run.row[key] for key in per):
                continue
            for move in automaton.transitions:
                if move.on in symbols(each.row) and may(move, run.row):
                    registers = {name: run.row[name] + n for name, n in move.add.items()}
                    ends = run.row["ends"] + 1
                    after = Row(run.row, ends=ends, state=move.target, **registers)
                    yield from extended(Lifetime(vs, ve, after))

    def begun(each: Lifetime) -> Lifetime:
        number = each.row[sequence]
        key = {name: each.row[name] for name in per}
        at_first = {"begins": number, "ends": number - 1, "state": automaton.start}
        return Lifetime(each.vs, each.ve, Row({**key, **at_first, **automaton.registers}))

    return History(run for each in rows for run in extended(begun(each)))


def may(move: Transition, run: Row) -> bool:
    """Whether the registers of a run, which is in the right state, are within the bounds."""
    is_source = run["state"] == move.source
    return (
        is_source
        and all(run[name] >= least for name, least in move.at_least.items())
        and all(run[name] <= most for name, most in move.at_most.items())
    )
