"""Java's regular expressions in the syntax of Python's `re`, and of RE2 where that is enough.

What differs: what `.`, `$` and `^` take for the end of a line; classes in classes and `&&`; named
groups; flags in the middle of a pattern, which hold to the end of their group; `\\h`, `\\v`, `\\R`,
`\\Q…\\E`, octal and long hexadecimal numbers; the classes `\\p{…}`; what a word is to `\\b`.
Letters outside of ASCII are letters to `\\b` and `\\p` alone, and have two cases for `(?iu)` alone.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any
from unicodedata import category

from driftline.engine.expressions.arrays import Array, per_distinct
from driftline.engine.expressions.errors import EvaluationError

_LINE_ENDS = r"\n\r\u0085\u2028\u2029"
_BETWEEN = r"(?!(?<=\r)\n)"  # not inside \r\n
_LINE_END = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z){_BETWEEN}"
_ANY_LINE_END = rf"(?:(?=[{_LINE_ENDS}]){_BETWEEN}|(?=\Z))"
_ANY_LINE_START = rf"(?:\A|(?<=[{_LINE_ENDS}]){_BETWEEN})(?!\Z)"
_CLASSES = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": "\t-\r ",
    "h": " \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": "\n-\r\x85\u2028\u2029",
}
"""What is in the classes of one letter. A capital letter is all that is not in the class."""
_ATOMS = {
    "R": r"(?:\r\n|[\n-\r\x85\u2028\u2029])",
    "z": r"\Z",
    "Z": _LINE_END,
    "A": r"\A",
}
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODE = re.compile(
    r"\\(?:x\{(?P<long>[0-9a-fA-F]+)\}|x(?P<hex>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})"
    r"|0(?P<octal>[0-3][0-7]{2}|[0-7]{1,2})|c(?P<control>.))",
    re.DOTALL,
)
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_REPEATED = re.compile(r"\{\d+(,\d*)?\}")
_POSIX = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Punct": "!-/:-@[-`{-~",
    "Space": "\t-\r ",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \t",
    "Cntrl": "\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "ASCII": "\x00-\x7f",
}
"""Java's classes of ASCII characters."""
_CATEGORIES = {
    "LETTER": "L",
    "DIGIT": "Nd",
    "PUNCTUATION": "P",
    "CONTROL": "Cc",
    "TITLECASE": "Lt",
}
"""Java's names (after Is) that are a category of Unicode."""
_CATEGORY = re.compile(r"C[cfson]?|L[ultmo]?|M[nec]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|L[CD]")
_OF_WORDS = frozenset(["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn"])
_LAST_CHARACTER = 0x10FFFF
_SPACES = " \t\n\x0b\f\r"
_NOT_IN_RE2 = re.compile(r"\(\?(?!:)|[*+?}]\+|\$|\[\^?\]|\[[^]]*(&&|\[)")
_SAME_IN_RE2 = "dDwWtnrf"
_SPACES_IN_RE2 = r"\t-\r "
_LAST_LINE_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"
_ANY_IN_RE2 = r"[^\n\r\x{85}\x{2028}\x{2029}]"


Ranges = list[tuple[int, int]]
"""Characters, from the first to the last of each range."""


@lru_cache(maxsize=1024)
def java_regex(pattern: str, function: str) -> re.Pattern[str]:
    """A pattern of Java's, for Python."""
    try:
        return re.compile(_Translation(pattern).whole(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE.PATTERN", f"{function}: {pattern!r} is not a pattern: {error}"
        ) from None


TOO_SLOW = "REGEX_TOO_SLOW"
SLOWEST = 5.0
"""Seconds of computing that a pattern may take for one text."""


def per_text(what: str, function: Callable[..., Any], arrays: list[Array], kind: Any) -> Array:
    """A function of texts and patterns, once for each distinct combination. Python's engine tries
    one way after the other, of which some patterns have more than can ever be tried: after some
    seconds that is an error (in the main thread, the one that can be interrupted)."""
    if threading.current_thread() is not threading.main_thread():
        return per_distinct(function, arrays, kind)

    def stop(*_: object) -> None:
        raise EvaluationError(
            TOO_SLOW,
            f"{what}: after {SLOWEST:g} seconds the pattern is still being tried on one text: "
            "write it without repetition inside of repetition, such as (a+)+",
        )

    def timed(*values: Any) -> Any:
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOWEST)
        return function(*values)

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        return per_distinct(timed, arrays, kind)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def finds(regex: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Every match as Java finds them: after an empty one it goes on with the next character."""
    place = 0
    while place <= len(text) and (found := regex.search(text, place)) is not None:
        yield found
        place = found.end() + (found.end() == found.start())


def re2_search(pattern: str) -> str | None:
    """The pattern for RE2 where only matters whether it is in a text without the end of a line of
    two characters: then also with $ at its end, which stands before a last end of a line, too."""
    if not pattern.endswith("$") or "\\Q" in pattern:
        return re2_pattern(pattern)
    inside = pattern[:-1]
    try:
        java_regex(inside, "rlike")  # or the $ is inside of something
    except EvaluationError:
        return None
    found = None if inside.endswith("\\") else re2_pattern(inside)
    return None if found is None else f"{found}{_LAST_LINE_END}"


def re2_pattern(pattern: str) -> str | None:
    """The pattern for RE2, or None if RE2 would not mean the same."""
    if _NOT_IN_RE2.search(pattern):
        return None
    out: list[str] = []
    escaped = in_class = False
    for character in pattern:
        if escaped:
            escaped = False
            if character == "s":
                out.append(_SPACES_IN_RE2 if in_class else f"[{_SPACES_IN_RE2}]")
            elif character.isalnum() and character not in _SAME_IN_RE2:
                return None
            else:
                out.append("\\" + character)
        elif character == "\\":
            escaped = True
        elif character == "." and not in_class:
            out.append(_ANY_IN_RE2)
        else:
            in_class = character == "[" or (in_class and character != "]")
            out.append(character)
    return "".join(out)


class _Translation:
    """One pattern, read from left to right. `flags`: those in force; `groups`: how many groups
    there are so far. Of every group that is open, `opened` has the flags outside of it, and
    `scoped` whether flags inside of it have opened a bracket in Python's pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.place = pattern, 0
        self.flags: frozenset[str] = frozenset()
        self.opened = [self.flags]
        self.scoped = [False]
        self.groups = 0
        self.out: list[str] = []

    def whole(self) -> str:
        while self.place < len(self.pattern):
            self._next()
        if len(self.scoped) > 1:
            raise re.error("a ( is not closed")
        return "".join(self.out) + ")" * self.scoped[0]

    def _next(self) -> None:
        character = self.pattern[self.place]
        if "x" in self.flags and (character in _SPACES or character == "#"):
            end = self.pattern.find("\n", self.place) if character == "#" else self.place
            self.place = end + 1 if end >= 0 else len(self.pattern)
        elif character == "\\":
            self.out.append(self._escaped())
        elif character == "[":
            self.out.append(self._bracket())
        elif character == "(":
            self._open()
        elif character == ")":
            self._close()
        else:
            self.place += 1
            if character == "|":
                self._leave_scope()
                self.out.append("|")
                self._enter_scope()
            elif character == "{":
                self.place -= 1
                self._repeat()
            else:
                self.out.append(self._plain(character))

    def _plain(self, character: str) -> str:
        if character == ".":
            if "s" in self.flags:
                return "(?s:.)"
            return f"[^{'' if 'd' in self.flags else _LINE_ENDS}{chr(92)}n]"
        if character == "$":
            if "d" in self.flags:
                return r"(?=\n|\Z)" if "m" in self.flags else r"(?=\n?\Z)"
            return _ANY_LINE_END if "m" in self.flags else _LINE_END
        if character == "^":
            return _ANY_LINE_START if "m" in self.flags else r"\A"
        return character

    def _repeat(self) -> None:
        found = _REPEATED.match(self.pattern, self.place)
        if found is None:
            raise re.error("a { that is not a repetition: write \\{")
        self.out.append(found[0])
        self.place = found.end()

    def _open(self) -> None:
        """A group, a look-around, or flags."""
        flags = _FLAGS.match(self.pattern, self.place)
        rest = self.pattern[self.place : self.place + 4]
        if flags is None:
            named = rest.startswith("(?<") and rest[3:] not in ("=", "!")
            self.groups += named or not rest.startswith("(?")
            self.out.append("(?P<" if named else "(")
            self.place += 3 if named else 1
            if rest.startswith("(?") and not named:
                taken = 4 if rest.startswith("(?<") else 3
                self.out.append(rest[1:taken])
                self.place += taken - 1
            self._enter(self.flags)
            return
        on, off, end = flags.groups()
        unknown = set(on + (off or "")) - set("imsdux")
        if unknown:
            raise re.error(f"the flag {min(unknown)} is not supported: there are i, m, s, d, u, x")
        self.place = flags.end()
        new = (self.flags | set(on)) - set(off or "")
        if end == ":":
            self.out.append("(?:")
            self._enter(new)
            return
        self._leave_scope()
        self.flags = new
        self._enter_scope()

    def _enter(self, flags: frozenset[str]) -> None:
        self.opened.append(self.flags)
        self.scoped.append(False)
        self.flags = flags
        self._enter_scope()

    def _enter_scope(self) -> None:
        """Have the flags hold up to the next | or ), if they are not those of the group outside."""
        inside, outside = _for_python(self.flags), _for_python(self.opened[-1])
        if inside != outside:
            on, off = "".join(sorted(inside - outside)), "".join(sorted(outside - inside - {"u"}))
            letters = "a" + on if "u" in outside - inside else on
            self.out.append(f"(?{letters}{'-' + off if off else ''}:")
            self.scoped[-1] = True

    def _leave_scope(self) -> None:
        if self.scoped[-1]:
            self.out.append(")")
            self.scoped[-1] = False

    def _close(self) -> None:
        if len(self.scoped) == 1:
            raise re.error("a ) without a (")
        self._leave_scope()
        self.scoped.pop()
        self.flags = self.opened.pop()
        self.out.append(")")
        self.place += 1

    def _escaped(self) -> str:
        """What begins with a backslash, outside of brackets."""
        letter = self.pattern[self.place + 1 : self.place + 2]
        if letter == "Q":
            end = self.pattern.find(r"\E", self.place)
            end = len(self.pattern) if end < 0 else end
            quoted = self.pattern[self.place + 2 : end]
            self.place = end + 2
            return re.escape(quoted)
        if letter in _ATOMS:
            self.place += 2
            return _ATOMS[letter]
        if letter in ("b", "B"):
            self.place += 2
            return _edge(letter == "b")
        if letter == "k":
            end = self.pattern.find(">", self.place)
            name = self.pattern[self.place + 3 : end]
            if end < 0 or self.pattern[self.place + 2] != "<":
                raise re.error("\\k without a name: write \\k<name>")
            self.place = end + 1
            return f"(?P={name})"
        if letter.isdigit() and letter != "0":
            return self._reference()
        known = self._known_class()
        return re.escape(self._character()) if known is None else f"[{_written(known)}]"

    def _reference(self) -> str:
        """What a group has matched. More digits belong to its number as long as there is such a
        group; without a group of the number nothing matches."""
        self.place += 1
        group = int(self.pattern[self.place])
        self.place += 1
        while self.pattern[self.place : self.place + 1].isdecimal():
            longer = group * 10 + int(self.pattern[self.place])
            if longer > self.groups:
                break
            group, self.place = longer, self.place + 1
        return f"(?:\\{group})" if group <= self.groups else "(?!)"

    def _known_class(self) -> Ranges | None:
        """The characters of a class such as \\d or \\p{L}; None if it is none."""
        letter = self.pattern[self.place + 1 : self.place + 2]
        if letter and letter in "pP":
            rest = self.pattern[self.place + 2 :]
            end = rest.find("}") if rest.startswith("{") else 0
            if not rest or end < 0:
                raise re.error(f"\\{letter} without a name: write \\{letter}{{L}}")
            self.place += 3 + end
            return _named(rest[1:end] if end else rest[0], negated=letter == "P")
        if letter.lower() not in _CLASSES:
            return None
        self.place += 2
        known = _parsed(_CLASSES[letter.lower()])
        return known if letter.islower() else _others(known)

    def _character(self) -> str:
        """One character, which may be written as a number."""
        if self.pattern[self.place] != "\\":
            self.place += 1
            return self.pattern[self.place - 1]
        code = _CODE.match(self.pattern, self.place)
        if code is not None:
            self.place = code.end()
            if code["control"]:
                return chr(ord(code["control"]) ^ 64)
            base = 8 if code["octal"] else 16
            number = int(code["octal"] or code["long"] or code["hex"] or code["four"], base)
            if number > _LAST_CHARACTER:
                raise re.error("a number beyond those of characters")
            return chr(number)
        letter = self.pattern[self.place + 1 : self.place + 2]
        if not letter:
            raise re.error("a backslash at the end")
        if letter.isascii() and letter.isalnum() and letter not in _CHARACTERS:
            raise re.error(f"\\{letter} is not supported")
        self.place += 2
        return _CHARACTERS.get(letter, letter)

    def _bracket(self) -> str:
        """A class in brackets. One without classes in it keeps its ^, for (?i) to see."""
        start = self.place
        plain = self._members()
        if plain is not None:
            return plain
        self.place = start
        return f"[{_written(self._ranges())}]"

    def _members(self) -> str | None:
        """The class as Python writes it, or None if there are classes in it."""
        self.place += 1
        out = ["["]
        if self.pattern.startswith("^", self.place):
            out.append("^")
            self.place += 1
        first = True
        while not self._at_end(first):
            first = False
            if self.pattern[self.place] == "[" or self.pattern.startswith("&&", self.place):
                return None
            out.append(_written(self._member()))
        self.place += 1
        return "".join([*out, "]"])

    def _ranges(self) -> Ranges:
        """The characters of a class with classes in it: && is what both sides have in common."""
        self.place += 1
        negated = self.pattern.startswith("^", self.place)
        self.place += negated
        common: Ranges | None = None  # of the sides of && before
        found: Ranges = []
        first = True
        while not self._at_end(first):
            first = False
            if self.pattern.startswith("&&", self.place):
                common, found = _narrowed(common, found), []
                self.place += 2
            elif self.pattern[self.place] == "[":
                found = found + self._ranges()
            else:
                found = found + self._member()
        self.place += 1
        found = _narrowed(common, found) or []
        return _others(found) if negated else found

    def _at_end(self, first: bool) -> bool:
        if self.place >= len(self.pattern):
            raise re.error("a [ is not closed")
        return self.pattern[self.place] == "]" and not first

    def _member(self) -> Ranges:
        """A character, some from one to another, or a class such as \\d."""
        if self.pattern[self.place] == "\\":
            if self.pattern.startswith(r"\Q", self.place):
                raise re.error("\\Q in brackets is not supported")
            known = self._known_class()
            if known is not None:
                return known
        low = high = ord(self._character())
        following = self.pattern[self.place + 1 : self.place + 2]
        if self.pattern.startswith("-", self.place) and following not in ("]", "[", ""):
            self.place += 1
            high = ord(self._character())
            if high < low:
                raise re.error("a range that ends before it starts")
        return [(low, high)]


def _for_python(flags: frozenset[str]) -> frozenset[str]:
    """Flags that are Python's as well; the others are translated."""
    return flags & {"i", "u"} if "i" in flags else frozenset()


def _written(ranges: Ranges) -> str:
    """The characters as they are written in brackets."""
    pairs = [
        f"\\U{low:08x}" if low == high else f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges
    ]
    return "".join(pairs) or f"^\\U{0:08x}-\\U{_LAST_CHARACTER:08x}"


def _parsed(written: str) -> Ranges:
    """The characters of a class without anything escaped: `a-z_`."""
    found = re.findall(r"(.)-(.)|(.)", written, re.DOTALL)
    return [(ord(low or one), ord(high or one)) for low, high, one in found]


def _others(ranges: Ranges) -> Ranges:
    """All characters but these."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return [*found, (start, _LAST_CHARACTER)] if start <= _LAST_CHARACTER else found


def _narrowed(common: Ranges | None, found: Ranges) -> Ranges | None:
    """What both sides of && have; a side that is empty leaves the other as it is."""
    if common is None or not found:
        return found or common
    return _others(_others(common) + _others(found))


@lru_cache(maxsize=2)
def _edge(wanted: bool) -> str:
    """Where a word starts or ends, or where it does not: of letters, digits, _, and the marks that
    stand above and below these."""
    inside = _written([*_of_category(_OF_WORDS.__contains__), (ord("_"), ord("_"))])
    before, after = f"(?<=[{inside}])", f"(?=[{inside}])"
    not_before, not_after = f"(?<![{inside}])", f"(?![{inside}])"
    if wanted:
        return f"(?:{before}{not_after}|{not_before}{after})"
    return f"(?:{before}{after}|{not_before}{not_after})"


@lru_cache(maxsize=256)
def _named(name: str, negated: bool) -> Ranges:
    """The characters of a named class."""
    if name in _POSIX:
        known = _parsed(_POSIX[name])
        return _others(known) if negated else known
    plain = re.sub(r"^(Is|general_category=|gc=)", "", name)
    plain = _CATEGORIES.get(plain.upper(), plain) if name.startswith("Is") else plain
    if plain == "LC":
        return _of_category(lambda known: (known in ("Lu", "Ll", "Lt")) != negated)
    if _CATEGORY.fullmatch(plain) is None:
        raise re.error(
            f"the class {name} is not supported: there are categories such as L, Lu, N and P, and "
            f"{', '.join(_POSIX)}"
        )
    return _of_category(lambda known: known.startswith(plain) != negated)


def _of_category(belongs: Callable[[str], bool]) -> Ranges:
    """The characters whose category something is true of."""
    return [(low, high) for low, high, known in _categories() if belongs(known)]


@lru_cache(maxsize=1)
def _categories() -> list[tuple[int, int, str]]:
    """All characters, by runs of one category."""
    found, start = [], 0
    for known, run in groupby(map(category, map(chr, range(_LAST_CHARACTER + 1)))):
        end = start + sum(1 for _ in run)
        found.append((start, end - 1, known))
        start = end
    return found
