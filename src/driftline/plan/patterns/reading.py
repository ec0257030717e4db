"""The text of PATTERN as a pattern.

    alternation     A B | C           after concatenation
    concatenation   A B
    quantifiers     A* A+ A? A{3} A{2,} A{,4} A{2,4}; each with ? after it is reluctant
    the rest        A   `a name`   (A B)   ()   ^   $   PERMUTE(A, B C)   {- A B -}

>>> print(parse_pattern("strt  DOWN{2,}? (UP|SAME)+ {- end -}"))
strt DOWN{2,}? (UP | SAME)+ {- end -}
>>> parse_pattern("A (B")
Traceback (most recent call last):
driftline.plan.errors.ExpressionError: PATTERN: a ) is missing (line 1, column 5)
"""

from __future__ import annotations

import re

from driftline.model.patterns import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Variable,
)
from driftline.plan.depth import room
from driftline.plan.dialect import CALLS, DEEPEST
from driftline.plan.errors import ExpressionError

MOST_PERMUTED = 6
"""So many parts PERMUTE takes at most: n of them have n! orders."""
MOST_TIMES = 1000
"""The greatest number of a quantifier."""

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<name>`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[^\W\d]\w*)"
    r"|(?P<number>\d+)"
    r"|(?P<sign>\{-|-\}|[(){}|*+?,^$])",
    re.DOTALL,
)
_TIMES = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_pattern(text: str, line: int = 1, column: int = 1) -> Pattern:
    """The pattern that a text means; it begins at a place of a greater text. Of names that differ
    in upper and lower case alone, the first one is meant."""
    if not isinstance(text, str):
        raise ExpressionError(f"a pattern is written as text, 'A B+ C', not {text!r}")
    with room(CALLS):
        return _Reader(text, line, column).read()


class _Reader:
    def __init__(self, text: str, line: int, column: int) -> None:
        self.text = text
        self.origin = line, column
        self.tokens: list[tuple[str, str, int]] = []
        self.names: dict[str, str] = {}
        self.next = 0
        self.depth = 0
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.error(f"{text[place]!r} has no meaning here", place)
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found[0], place))
            place = found.end()

    def read(self) -> Pattern:
        if not self.tokens:
            raise self.error("there is none: write () for a pattern without rows", 0)
        pattern = self.alternation()
        if self.next < len(self.tokens):
            raise self.error(f"{self.tokens[self.next][1]} is not expected here")
        return pattern

    def alternation(self) -> Pattern:
        choices = [self.concatenation()]
        while self.take("|"):
            choices.append(self.concatenation())
        return choices[0] if len(choices) == 1 else Alternate(tuple(choices))

    def concatenation(self) -> Pattern:
        parts: list[Pattern] = []
        while (part := self.quantified()) is not None:
            parts.append(part)
        if not parts:
            if self.peek() in _TIMES or self.peek() == "{":
                raise self.error(f"{self.peek()} needs something before it to repeat")
            raise self.error("a variable is expected")
        return parts[0] if len(parts) == 1 else Concat(tuple(parts))

    def quantified(self) -> Pattern | None:
        part = self.primary()
        while part is not None:
            start = self.next
            times = self.times()
            if times is None:
                break
            if isinstance(part, Anchor):
                raise self.error(f"{part} cannot be repeated", self.tokens[start][2])
            part = Repeat(part, *times, greedy=not self.take("?"))
            if self.peek() in _TIMES or self.peek() == "{":
                raise self.error("two quantifiers follow each other: write (A+)* with brackets")
        return part

    def times(self) -> tuple[int, int | None] | None:
        for sign, times in _TIMES.items():
            if self.take(sign):
                return times
        if not self.take("{"):
            return None
        start = self.tokens[self.next - 1][2]
        least = self.number()
        most = least
        if self.take(","):
            most = self.number()
        elif least is None:
            raise self.error("a quantifier is {3}, {2,}, {,4} or {2,4}", start)
        self.expect("}")
        if most is not None and (least or 0) > most:
            raise self.error(f"{{{least},{most}}}: the second number is less than the first", start)
        if max(least or 0, most or 0) > MOST_TIMES:
            raise self.error(f"a quantifier goes up to {MOST_TIMES}", start)
        return least or 0, most

    def number(self) -> int | None:
        if self.next < len(self.tokens) and self.tokens[self.next][0] == "number":
            self.next += 1
            return int(self.tokens[self.next - 1][1])
        return None

    def primary(self) -> Pattern | None:
        if self.next == len(self.tokens):
            return None
        kind, word, _ = self.tokens[self.next]
        if kind == "name":
            self.next += 1
            if word.upper() == "PERMUTE" and self.peek() == "(":
                return self.permuted()
            name = word[1:-1].replace(word[0] * 2, word[0]) if word[0] in '`"' else word
            return Variable(self.names.setdefault(name.lower(), name))
        if self.take("^"):
            return Anchor("start")
        if self.take("$"):
            return Anchor("end")
        if self.take("("):
            if self.take(")"):
                return Empty()
            return self.inside(")")
        if self.take("{-"):
            return Exclude(self.inside("-}"))
        return None

    def inside(self, close: str) -> Pattern:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"this is nested more than {DEEPEST} deep")
        pattern = self.alternation()
        self.expect(close)
        self.depth -= 1
        return pattern

    def permuted(self) -> Pattern:
        start = self.tokens[self.next - 1][2]
        self.expect("(")
        parts = [self.alternation()]
        while self.take(","):
            parts.append(self.alternation())
        self.expect(")")
        if len(parts) > MOST_PERMUTED:
            raise self.error(
                f"PERMUTE takes at most {MOST_PERMUTED} patterns, because {len(parts)} have "
                "too many orders",
                start,
            )
        return Permute(tuple(parts)) if len(parts) > 1 else parts[0]

    def peek(self) -> str | None:
        return self.tokens[self.next][1] if self.next < len(self.tokens) else None

    def take(self, sign: str) -> bool:
        if self.peek() != sign or self.tokens[self.next][0] != "sign":
            return False
        self.next += 1
        return True

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise self.error(f"a {sign} is missing")

    def error(self, message: str, place: int | None = None) -> ExpressionError:
        """An error at a place of the text, or at the next token."""
        if place is None:
            at_end = self.next == len(self.tokens)
            place = len(self.text.rstrip()) if at_end else self.tokens[self.next][2]
        before = self.text[:place]
        lines = before.count("\n")
        column = len(before) - (before.rfind("\n") + 1)
        line, first = self.origin
        return ExpressionError(
            f"PATTERN: {message}", line + lines, column + (first if not lines else 1)
        )
