"""sentences: a text as lists of words, one for each sentence.

The bounds are those of Java's BreakIterator, which Spark uses. Of each character only its class
matters, so texts become texts of classes, one letter for each, over which the rules are regular
expressions. They are the same in all languages but Thai, for which Java has a dictionary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from unicodedata import category

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call

_THAI = "th"
_ALPHANUMERIC = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd")
_LAST_OF_ONE_UNIT = "\uffff"
"""Java looks at the first of the two units of a character beyond it, which is no letter."""
_OPENING, _CLOSING = ("Ps", "Pi"), ("Pe", "Pf")

# Sentences

_ENDS = {
    "!": "!", "?": "!", "\u3002": "!", "\uff01": "!", "\uff1f": "!", ".": ".", "\uff0e": ".",
    ",": ",", "\u2029": "P", "\u0964": "|", "\u0965": "|", '"': "q", "'": "q",
}  # fmt: skip
_WHITE = "\t\r\f\n\u2028"
_PERIODS, _BEGUN = r"\.[.)q]*+", "[(qo|]"
_LINK = rf"{_PERIODS}_*+{_BEGUN}*+"
_SENTENCE = re.compile(
    rf"(?:[^!P|.]|{_LINK})*?(?:P|\|_*|![!.)q]*_*P?"
    rf"|{_PERIODS}(?:_++(?=A|{_BEGUN}+[aA])|(?={_BEGUN}+[aA])|(?<=q)(?=[aA])))"
)
"""A sentence ends with a paragraph, a danda, a ! or ?, or a period before what begins another."""
_OPEN_END = re.compile(rf"(?:{_PERIODS}_*+({_BEGUN}*+))++")
"""Periods after which something has begun that a letter would make a sentence."""


def _in_a_sentence(character: str) -> str:
    if character in _ENDS:
        return _ENDS[character]
    kind = category(character)
    if kind == "Zs" or character in _WHITE:
        return "_"
    if kind[0] == "L":
        return "a" if kind == "Ll" else "A"
    if kind[0] == "N":
        return "0"
    if kind in ("Mn", "Me", "Cf"):
        return ""
    return "(" if kind in _OPENING else ")" if kind in _CLOSING else "o"


# Words

_MARKS = "[MJ]*+"
_LETTERS, _DIGITS = rf"(?:L{_MARKS})++", rf"(?:0{_MARKS})++"
_WORD = rf"{_LETTERS}(?:[.q-]{_LETTERS})*+d?"
_NUMBER = rf"{_DIGITS}(?:[.q,]{_DIGITS})*+"
_MIXED = rf"(?:{_NUMBER}{_WORD})*(?:{_NUMBER}%?)?"
_RULES = [
    re.compile(rule, re.DOTALL)
    for rule in (
        rf"(?:{_WORD})?{_MIXED}",
        rf"[.$]{_MIXED}",
        rf"(?:_{_MARKS})*r?n?",
        "[KjJ]*",
        "[HjJ]*",
        "C*",
        "[^MJxrn][MJ]+",
        ".",
    )
]
"""Of what fits at a place, the longest is a word, or what is between words."""
_IN_WORDS = {
    ".": ".", '"': "q", "'": "q", ",": ",", "\u066b": ",", "#": "$", "\r": "r", "\t": "_",
    "\n": "n", "\f": "n", "\u2028": "n", "\u2029": "n", "\u0964": "d", "\u0965": "d",
    "\u2027": "-", "\u00ad": "-", "\u3005": "C",
    **dict.fromkeys("%&\u00a2\u066a\u2030\u2031", "%"),
    **dict.fromkeys("\u3099\u309a", "J"), **dict.fromkeys("\u309b\u309c\u30fb\u30fc", "j"),
    **dict.fromkeys("\u30fd\u30fe", "K"), **dict.fromkeys("\u309d\u309e", "H"),
}  # fmt: skip
_RANGES = {
    "C": ("\u4e00\u9fa5", "\uf900\ufa2d"),
    "K": ("\u30a1\u30fa",),
    "H": ("\u3041\u3094",),
}
_BY_CATEGORY = {
    "Mc": "L", "Mn": "M", "Me": "M", "Cf": "", "Cc": "x", "Zl": "x", "Zp": "x", "Zs": "_",
    "Pd": "-", "Pc": "-", "Sc": "$",
}  # fmt: skip


def _in_a_word(character: str) -> str:
    if character in _IN_WORDS:
        return _IN_WORDS[character]
    for name, ranges in _RANGES.items():
        if any(each[0] <= character <= each[1] for each in ranges):
            return name
    kind = category(character)
    return _BY_CATEGORY.get(kind) or {"L": "L", "N": "0"}.get(kind[0], "" if kind == "Cf" else "o")


class _Classes:
    """The classes of characters, of which those that do not matter have none."""

    def __init__(self, of: Callable[[str], str]) -> None:
        self._of = lru_cache(maxsize=None)(of)

    def pieces(self, text: str, ends: Callable[[str], Iterator[int]]) -> Iterator[str]:
        """A text cut at the places that follow from its classes; what does not matter belongs to
        what is before it."""
        classes = [self._of(each) for each in text]
        shown = "".join(classes)
        places = [place for place, each in enumerate(classes) if each]
        start = 0
        for end in ends(shown):
            stop = places[end] if end < len(places) else len(text)
            yield text[start:stop]
            start = stop
        if not shown and text:
            yield text


_SENTENCES, _WORDS = _Classes(_in_a_sentence), _Classes(_in_a_word)


def _ends_of_sentences(classes: str) -> Iterator[int]:
    """Where sentences end. Where the text ends before it is known whether one has begun, the last
    ends before the periods, and each of these is one by itself."""
    open_end = len(classes)
    for periods in _OPEN_END.finditer(classes):
        if periods.end() == len(classes) and periods[1]:
            open_end = periods.start()
    place = 0
    while place < len(classes):
        found = _SENTENCE.match(classes, place) if place < open_end else None
        if found is not None:
            place = found.end()
        else:
            period = classes.find(".", max(place, open_end))
            place = len(classes) if period < 0 else max(period, place + 1)
        yield place


def _ends_of_words(classes: str) -> Iterator[int]:
    place = 0
    while place < len(classes):
        found = (rule.match(classes, place) for rule in _RULES)
        place = max(each.end() for each in found if each is not None)
        yield place


def words_of_sentences(text: str) -> list[list[str]]:
    """The words of each sentence.

    >>> words_of_sentences("It costs 1.5 EUR. Why? You don't know.")
    [['It', 'costs', '1.5', 'EUR'], ['Why'], ['You', "don't", 'know']]
    """
    return [
        [each for each in _WORDS.pieces(sentence, _ends_of_words) if _is_word(each[0])]
        for sentence in _SENTENCES.pieces(text, _ends_of_sentences)
    ]


def _is_word(first: str) -> bool:
    return first <= _LAST_OF_ONE_UNIT and category(first) in _ALPHANUMERIC


@kernel("sentences", strict=False, total=False)
def _sentences(call: Call, args: Sequence[Value]) -> Array:
    texts, languages, countries = (each.to_pylist() for each in args)
    if any(
        text is not None and country is not None and (language or "").lower() == _THAI
        for text, language, country in zip(texts, languages, countries, strict=True)
    ):
        raise EvaluationError("NO_DICTIONARY", "sentences does not know the words of Thai")
    found = {text: words_of_sentences(text) for text in set(texts) if text is not None}
    return pa.array([found.get(text) for text in texts], call.kind)
