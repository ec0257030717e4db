r"""Regular expressions as Spark has them, over texts that tell Java's from Python's and RE2's.

Left out is what is refused (see `driftline.engine.expressions`), and characters beyond U+FFFF with
patterns that match nothing, of which Spark makes two question marks.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from driftline.engine.expressions import EvaluationError, evaluate
from driftline.plan import parse_expression
from tests.engine.expressions.random_expressions import SCHEMA
from tests.engine.expressions.test_against_spark import as_written, differences

__all__ = ["as_written"]

TEXTS = [
    "", "a", "A", "aB", "abc", "É", "é", "K", "ſs", "a\x0bb", "a\nb", "a\r\nb\n", "b\u2028a",
    "x\u0085y", "[ ]", " \t\u00a0\u3000", "e\u0301a b", "a.b", "aa", "abab", "x-y_z9", "日本 語",
    "²x", "a{2}", "\x1b\x01", "AbCabC", "ab|cd", "a^b$c", "12,34", "\\d", "ab\r", "ab\r\n",
]  # fmt: skip
PATTERNS = r"""
    (?i)é (?iu)é (?i)k (?i)s a\sb [\s] [^\s]+ \S+ [\S] [\h] \h+ \H \v [\v] \V+ \R a(?i)B
    (?i)a(?-i)b (?i:a)b (a(?i)b)c a(?i)b|C (a(?i)b|c)d (?<x>a) (?<x>a)b\k<x> (a)b\1 \12 (a)\12
    \x61 \x{61} \u0061 \0141 \e \cA [a-z&&[^b]] [a-c[x-z]] [^a[b]] [a-z&&ab] [[:alpha:]] []a] [^]a]
    [&&a] [a&&] [a&b] (?x)a\x20?#c (?s)a.b (?d)a.b (?m)^b (?m)a$ (?m)^ (?m)$ ^ $ \b \B \bb \W+ \D+
    [\w.]+ [^\d]+ \p{L}+ \P{L}+ [\p{L}\d]+ \p{Punct}+ \P{Punct}+ [^\p{L}]+ \pL a{1,2} a++ (?>a|ab)b
    (?=b) (?!b) (?<=a)b (?<!a)b \Qa.b\E \Qa. a\Z a\z b\Z .+ .$ [a.]+ (?i)[^a] (?i)[a-b]+ (?i)ſ () x*
    a| |a [\-a] [a\-z] [a-] \\d [\\] [\[\]] \_ }
"""
MALFORMED = r"a{,2} a{ { \p{L \p \k<y> a) (a [a [b-a] * a** \ x{1,99999999999} \y (?<x>a)(?<x>b) \G"


def quoted(pattern: str) -> str:
    return "'" + pattern.replace("\\", "\\\\") + "'"


@pytest.mark.spark
@pytest.mark.slow
def test_regular_expressions(as_written: Any) -> None:
    texts = [
        function.format(quoted(pattern))
        for pattern in PATTERNS.split()
        for function in ("rlike(s, {})", "regexp_replace(s, {}, '<>')")
    ]
    found = differences(as_written, texts, pa.table({"s": TEXTS}))
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("pattern", MALFORMED.split())
@pytest.mark.parametrize("function", ["rlike(s, {})", "regexp_replace(s, {}, '<>')"])
def test_what_is_no_pattern_is_refused_in_one_line(function: str, pattern: str) -> None:
    expression = parse_expression(function.format(quoted(pattern)), SCHEMA)
    with pytest.raises(EvaluationError, match="is not a pattern: [^\n]*$"):
        evaluate(expression, pa.table({"s": TEXTS}))
