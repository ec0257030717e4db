"""Row patterns: what PATTERN of MATCH_RECOGNIZE describes.

A pattern is a regular expression whose letters are variables. It has an order of preference: of all
the ways in which rows match it, the first one in this order is the match.

    Concat          the first part decides most, then the second, …
    Alternate       from left to right
    Repeat          greedy: one more before no more; reluctant: no more before one more
    Permute         the permutations of its parts in lexicographic order of the list
    Exclude         as what it excludes
    Anchor, Empty   take no row

Of the iterations of a Repeat the first `least` may take no row. One after these that takes none is
the last, as in the regular expressions of Perl and Python.

>>> up = Repeat(Variable("UP"), 1, None)
>>> print(Concat((Variable("START"), up, Alternate((Exclude(Variable("TOP")), Anchor("end"))))))
START UP+ ({- TOP -} | $)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

To = Literal["past last", "next", "first", "last"]


@dataclass(frozen=True)
class Pattern:
    """The base of all patterns."""

    @property
    def parts(self) -> tuple[Pattern, ...]:
        """The patterns that this one is made of."""
        return ()

    def walk(self) -> Iterator[Pattern]:
        """This pattern and all inside it, as they are written."""
        waiting: list[Pattern] = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting.extend(reversed(part.parts))

    def variables(self) -> tuple[str, ...]:
        """The names of its variables, each once, in the order in which they are written."""
        found = (part.name for part in self.walk() if isinstance(part, Variable))
        return tuple(dict.fromkeys(found))

    def longest(self) -> int | None:
        """How many rows it can match at most; None: without bound."""
        return _total(self.parts)

    def shortest(self) -> int:
        """How many rows it matches at least."""
        return sum(part.shortest() for part in self.parts)

    def starts(self) -> frozenset[str]:
        """The variables that its first row can be."""
        found: set[str] = set()
        for part in self.parts:
            found |= part.starts()
            if part.shortest() > 0:
                break
        return frozenset(found)


@dataclass(frozen=True)
class Empty(Pattern):
    """`()`: no rows."""

    def __str__(self) -> str:
        return "()"


@dataclass(frozen=True)
class Variable(Pattern):
    """One row that fulfils the condition of the variable."""

    name: str

    def longest(self) -> int | None:
        return 1

    def shortest(self) -> int:
        return 1

    def starts(self) -> frozenset[str]:
        return frozenset([self.name])

    def __str__(self) -> str:
        plain = self.name.isascii() and self.name.isidentifier()
        return self.name if plain else "`" + self.name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Anchor(Pattern):
    """`^`: before the first row of the partition; `$`: after its last."""

    where: Literal["start", "end"]

    def __str__(self) -> str:
        return "^" if self.where == "start" else "$"


@dataclass(frozen=True)
class Concat(Pattern):
    """One after the other."""

    items: tuple[Pattern, ...]

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.items

    def __str__(self) -> str:
        return " ".join(f"({part})" if _is_open(part) else str(part) for part in self.items)


@dataclass(frozen=True)
class Alternate(Pattern):
    """One of several."""

    choices: tuple[Pattern, ...]

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.choices

    def longest(self) -> int | None:
        found = [each.longest() for each in self.choices]
        return None if None in found else max(each for each in found if each is not None)

    def shortest(self) -> int:
        return min(each.shortest() for each in self.choices)

    def starts(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.starts() for each in self.choices))

    def __str__(self) -> str:
        return " | ".join(str(choice) for choice in self.choices)


@dataclass(frozen=True)
class Repeat(Pattern):
    """From `least` to `most` times (None: without bound), greedy or reluctant."""

    inner: Pattern
    least: int
    most: int | None
    greedy: bool = True

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)

    def longest(self) -> int | None:
        once = self.inner.longest()
        if once == 0 or self.most == 0:
            return 0
        return None if once is None or self.most is None else once * self.most

    def shortest(self) -> int:
        return self.inner.shortest() * self.least

    def starts(self) -> frozenset[str]:
        return frozenset() if self.most == 0 else self.inner.starts()

    def __str__(self) -> str:
        inner = str(self.inner)
        if isinstance(self.inner, (Concat, Repeat, Alternate)):
            inner = f"({inner})"
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((self.least, self.most))
        if short is None and self.least == self.most:
            short = f"{{{self.least}}}"
        most = "" if self.most is None else self.most
        return f"{inner}{short or f'{{{self.least},{most}}}'}{'' if self.greedy else '?'}"


@dataclass(frozen=True)
class Permute(Pattern):
    """All of several, in any order."""

    items: tuple[Pattern, ...]

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.items

    def starts(self) -> frozenset[str]:
        return self.written_out().starts()

    def written_out(self) -> Alternate:
        """The same as an alternation of all orders.

        >>> str(Permute((Variable("A"), Variable("B"))).written_out())
        'A B | B A'
        """
        return Alternate(tuple(Concat(order) for order in permutations(self.items)))

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(str(part) for part in self.items)})"


@dataclass(frozen=True)
class Exclude(Pattern):
    """`{- -}`: rows of the match that ALL ROWS PER MATCH does not put out."""

    inner: Pattern

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)

    def __str__(self) -> str:
        return f"{{- {self.inner} -}}"


@dataclass(frozen=True)
class Skip:
    """Where the search goes on after a match: after its last row, at the row after its first one,
    or at its first or last row of some variables. After an empty match it is the next row."""

    to: To = "past last"
    variables: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if self.to in ("past last", "next"):
            return "PAST LAST ROW" if self.to == "past last" else "TO NEXT ROW"
        return f"TO {self.to.upper()} {' or '.join(sorted(self.variables))}"


PAST_LAST_ROW = Skip()


class SkipError(ValueError):
    """AFTER MATCH SKIP has no row to go on at."""

    def __init__(self, skip: Skip, present: bool) -> None:
        problem = (
            "is the first row of the match, so the search would find it again for ever"
            if present
            else "has no row: no row of the match is of that variable"
        )
        super().__init__(
            f"AFTER MATCH SKIP {skip} {problem}; use SKIP TO NEXT ROW, or a variable that every "
            "match has after its first row"
        )


def _total(parts: tuple[Pattern, ...]) -> int | None:
    found = [part.longest() for part in parts]
    return None if None in found else sum(each for each in found if each is not None)


def _is_open(part: Pattern) -> bool:
    """Whether it needs brackets inside a concatenation."""
    return isinstance(part, (Alternate, Concat))
