"""Automata with registers: the description of a pattern, as data.

An automaton reads the rows of a sequence one by one. It begins in its start state before any row;
a transition takes it from one state to another by a row that has the transition's symbol, if its
registers, which are whole numbers, are within the transition's bounds, and then adds to them. The
same description is run by an operator of its own or, as rows of a table of transitions, by a loop.

>>> moves = [Transition("S", "B", "A"), Transition("B", "B", "B"), Transition("B", "F", "A")]
>>> Automaton(start="S", finals=["F"], transitions=moves).states
('S', 'B', 'F')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from driftline.model.row import Row

__all__ = ["Automaton", "InvalidAutomaton", "Transition"]

MOST_SYMBOLS = 62
"""The symbols that a row has are the bits of one word."""
OWN_COLUMNS = ("begins", "ends", "state")
"""The columns of every run, besides those of its registers."""


class InvalidAutomaton(ValueError):
    """A description that is no automaton, and why."""


@dataclass(frozen=True)
class Transition:
    """From one state to another by a row with a symbol. `add`: what is added to registers;
    `at_least`, `at_most`: the bounds within which registers have to be before that."""

    source: str
    target: str
    on: str
    add: Mapping[str, int] = field(default_factory=Row)
    at_least: Mapping[str, int] = field(default_factory=Row)
    at_most: Mapping[str, int] = field(default_factory=Row)

    def __post_init__(self) -> None:
        for name in ("source", "target", "on"):
            _need_text(getattr(self, name), f"the {name} of a transition")
        for name in ("add", "at_least", "at_most"):
            object.__setattr__(self, name, _numbers(getattr(self, name), name))


@dataclass(frozen=True)
class Automaton:
    """`registers`: their names, with what they are at the start. `symbols`: of every symbol the SQL
    condition that a row with it fulfils; without any, a column of the rows has their symbol."""

    start: str
    finals: Sequence[str]
    transitions: Sequence[Transition]
    registers: Mapping[str, int] = field(default_factory=Row)
    symbols: Mapping[str, str] = field(default_factory=Row)

    def __post_init__(self) -> None:
        _need_text(self.start, "the start state")
        object.__setattr__(self, "finals", _listed(self.finals, str, "the final states"))
        moves = _listed(self.transitions, Transition, "transitions")
        object.__setattr__(self, "transitions", moves)
        object.__setattr__(self, "registers", _numbers(self.registers, "registers"))
        if not isinstance(self.symbols, Mapping):
            raise InvalidAutomaton("symbols are given with their conditions, {'UP': 'x > 0', …}")
        for name, condition in self.symbols.items():
            _need_text(name, "a symbol")
            _need_text(condition, f"the condition of the symbol {name}")
        object.__setattr__(self, "symbols", Row(self.symbols))
        for name in self.registers:
            if name.lower() in OWN_COLUMNS:
                raise InvalidAutomaton(f"a register cannot be called {name}: a run has that column")
        for each in moves:
            unknown = {*each.add, *each.at_least, *each.at_most} - self.registers.keys()
            if unknown:
                raise InvalidAutomaton(
                    f"the transition {each.source} → {each.target} names the register "
                    f"{min(unknown)}, which the automaton does not have"
                )
            if self.symbols and each.on not in self.symbols:
                raise InvalidAutomaton(
                    f"the transition {each.source} → {each.target} is on {each.on}, which is none "
                    f"of the symbols {', '.join(self.symbols)}"
                )
        if len(self.alphabet) > MOST_SYMBOLS:
            raise InvalidAutomaton(f"an automaton has at most {MOST_SYMBOLS} symbols")

    @cached_property
    def states(self) -> tuple[str, ...]:
        """All states, in the order in which they are named."""
        named = (state for each in self.transitions for state in (each.source, each.target))
        return tuple(dict.fromkeys((self.start, *named, *self.finals)))

    @cached_property
    def alphabet(self) -> tuple[str, ...]:
        """All symbols, in the order in which they are named."""
        return tuple(dict.fromkeys((*self.symbols, *(each.on for each in self.transitions))))

    def columns(self) -> dict[str, str]:
        """The columns of a table of transitions, with their SQL types."""
        bounds = (
            f"{what}_{name}" for name in self.registers for what in ("add", "at_least", "at_most")
        )
        return dict.fromkeys(("source", "target", "symbol"), "STRING") | dict.fromkeys(
            bounds, "BIGINT"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The transitions as rows of such a table; a bound that is not there is null."""
        return [self.row(each) for each in self.transitions]

    def row(self, transition: Transition) -> dict[str, Any]:
        """A transition as a row of such a table."""
        found: dict[str, Any] = {
            "source": transition.source,
            "target": transition.target,
            "symbol": transition.on,
        }
        for name in self.registers:
            found[f"add_{name}"] = transition.add.get(name, 0)
            found[f"at_least_{name}"] = transition.at_least.get(name)
            found[f"at_most_{name}"] = transition.at_most.get(name)
        return found


def _need_text(value: object, what: str) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidAutomaton(f"{what} is a text that is not empty, not a {type(value).__name__}")


def _listed(values: object, kind: type, what: str) -> tuple[Any, ...]:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        found = tuple(values)
        if all(isinstance(each, kind) for each in found):
            return found
    raise InvalidAutomaton(f"{what} are a list of {kind.__name__}, not a {type(values).__name__}")


def _numbers(values: object, what: str) -> Row:
    is_numbers = isinstance(values, Mapping) and all(
        isinstance(name, str)
        and isinstance(number, int)
        and not isinstance(number, bool)
        and -(2**62) <= number <= 2**62
        for name, number in values.items()
    )
    if not is_numbers:
        raise InvalidAutomaton(f"{what} are whole numbers by the names of registers, {{'m': 1}}")
    assert isinstance(values, Mapping)
    return Row(values)
