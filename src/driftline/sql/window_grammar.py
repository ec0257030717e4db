"""The grammar of tables and their windows.

bracket:    [RANGE d] | [RANGE d SLIDE d] | [SESSION d] | [NOW] | [UNBOUNDED] | [FROM e FOR d]
         |  [STITCH] | [UNTIL table ON condition]
table:      name | (query) | TUMBLE(table, d) | HOP(table, d, d) |
            CUMULATE(table, d, d) | SESSION(table, d), also in TABLE(…), each with brackets and an
            alias, and with MATCH_RECOGNIZE (…) and its alias after that
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from driftline.plan.durations import is_unit
from driftline.sql.match_grammar import WORD as MATCH
from driftline.sql.match_grammar import match_recognize
from driftline.sql.strict_grammar import StrictParser
from driftline.sql.syntax import Bracket, Duration, WindowTable

_LENGTHS = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
"""The names that durations may have (HOP(…, SIZE => d, SLIDE => d)), in the order of those without
names."""
WINDOW_TABLES = tuple(_LENGTHS)
_ENDLESS = ("INF", "INFINITE", "UNBOUNDED")


class WindowParser(StrictParser):
    """Reads tables with windows after them."""

    _in_window = False
    """Whether an expression over vs and ve is read, in which `30 MINUTES` is a number of ticks."""

    def _parse_table_parts(self, *args: Any, **options: Any) -> Any:
        if not self._curr:
            self.refuse(f"a table is expected after {self._prev.text}", self._prev)
        if self._at(TokenType.DOT):
            self.refuse("a name is expected before the .")
        table = super()._parse_table_parts(*args, **options)
        if self._at(TokenType.STAR):
            self.refuse("* is not expected here: it stands in the select list")
        return table

    def _parse_table_alias(
        self, alias_tokens: Collection[TokenType] | None = None
    ) -> exp.TableAlias | None:
        brackets = self._brackets()
        start = self._curr
        is_name = not (self._at_match() or self._at_match_condition() or self._at_emit())
        alias = super()._parse_table_alias(alias_tokens) if is_name else None
        if alias is None and self._curr is not start:
            self.refuse("a name is expected after AS", start)
        brackets += self._brackets()
        if brackets:
            alias = alias or exp.TableAlias()
            alias.set("brackets", brackets)
        if self._at_match():
            alias = alias or exp.TableAlias()
            alias.set("match", match_recognize(self))
        if alias is not None and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            if not self._at(TokenType.NUMBER) or not self._curr.text.isdigit():
                self.refuse("MAX RECURSION LEVEL takes a whole number, from 1 on")
            if int(self._curr.text) == 0:
                self.refuse(
                    "MAX RECURSION LEVEL 0 would allow no step: the base has the level 0, the "
                    "first step 1"
                )
            alias.set("limit", self._curr.text)
            self._advance()
        return alias

    def _at_match(self) -> bool:
        return bool(self._match_text_seq(MATCH, "(", advance=False))

    def _at_match_condition(self) -> bool:
        return bool(self._match_text_seq("MATCH_CONDITION", "(", advance=False))

    def _at_emit(self) -> bool:
        """Whether EMIT CHANGES or the like comes, which ends a query."""
        return bool(
            self._match_text_seq("EMIT", "CHANGES", advance=False)
            or self._match_text_seq("EMIT", "FINAL", advance=False)
            or self._match_text_seq("EMIT", "ON", "WINDOW", "CLOSE", advance=False)
        )

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        # After a table a bracket is a window, which is read with the alias.
        return this if isinstance(this, exp.Table) else super()._parse_bracket(this)

    def _parse_table_part(self, schema: bool = False) -> exp.Expr | None:
        if self._next and self._next.token_type == TokenType.L_PAREN and not schema:
            word = self._curr.text.upper()
            if word == "TABLE" and self._at_window_table(self._index + 2):
                self._advance(2)
                found = self._window_table(self._curr.text.upper())
                self._match_r_paren()
                return found
            if self._at_window_table(self._index):
                return self._window_table(word)
        return super()._parse_table_part(schema)

    def _at_window_table(self, index: int) -> bool:
        """Whether TUMBLE( or the like stands at a place, which TABLE( … ) may be around."""
        words = [token.text.upper() for token in self._tokens[index : index + 2]]
        return len(words) > 1 and words[0] in WINDOW_TABLES and words[1] == "("

    def _window_table(self, name: str) -> exp.Expr:
        start = self._curr
        self._advance(2)
        self._keyword("DATA")
        self._match_text_seq("TABLE")
        table = self._parse_table()
        if table is None:
            self.refuse(f"{name} takes a stream, a view or a subquery first")
        time = None
        keys = self._partition() if name == "SESSION" else []
        durations: list[exp.Expr] = []
        named: list[str] = []
        while self._match(TokenType.COMMA):
            word = self._keyword("TIMECOL", "KEY", "SIZE", *_LENGTHS[name])
            named += [word] if word not in ("", "TIMECOL", "KEY") else []
            if self._match_text_seq("DESCRIPTOR", "("):
                columns = self._parse_csv(self._parse_column)
                self._match_r_paren()
                if name == "SESSION" and (word == "KEY" or (time is not None and not keys)):
                    keys = columns  # as Calcite writes PARTITION BY
                elif len(columns) == 1:
                    (time,) = columns
                else:
                    self.refuse(f"{name} goes by one column: DESCRIPTOR(ts)", self._prev)
            elif time is None and not durations and self._at_name_before_comma():
                time = self._parse_column()  # as RisingWave writes it
            elif time is None and not durations and self._at_quoted_name():
                time = exp.column(self._curr.text).update_positions(self._curr)  # as BigQuery
                self._advance()
            else:
                durations.append(self._duration(TokenType.COMMA, TokenType.R_PAREN))
        self._match_r_paren()
        if named:
            durations = self._in_order(name, named, durations)
        return WindowTable(
            this=table, name=name, time=time, keys=keys, expressions=durations
        ).update_positions(start)

    def _in_order(self, name: str, named: list[str], durations: list[exp.Expr]) -> list[exp.Expr]:
        """Durations that are written with their names, as they are without them."""
        wanted = ("SIZE",) if named == ["SIZE"] else _LENGTHS[name]
        if len(named) != len(durations) or {*named} != {*wanted[: len(named)]}:
            self.refuse(f"{name} takes {', '.join(wanted)}, all with their names", self._prev)
        by_name = dict(zip(named, durations, strict=True))
        return [by_name[each] for each in wanted if each in by_name]

    def _at_name_before_comma(self) -> bool:
        names = (TokenType.VAR, TokenType.IDENTIFIER)
        return bool(
            self._curr
            and self._curr.token_type in names
            and self._next
            and self._next.token_type == TokenType.COMMA
        )

    def _at_quoted_name(self) -> bool:
        """Whether a text stands here that is no duration."""
        return self._at(TokenType.STRING) and not self._curr.text.strip()[:1].isdigit()

    def _partition(self) -> list[exp.Expr]:
        """PARTITION BY k, (k, …) or k, …: before DESCRIPTOR, or the last comma."""
        if not self._match(TokenType.PARTITION_BY):
            return []
        if self._match(TokenType.L_PAREN):
            keys = self._parse_csv(self._parse_disjunction)
            self._match_r_paren()
            return keys
        keys = [self._key()]
        while self._at(TokenType.COMMA) and self._next_is_key():
            self._advance()
            keys.append(self._key())
        return keys

    def _key(self) -> exp.Expr:
        key = self._parse_disjunction()
        if key is None:
            self.refuse("a column is expected after PARTITION BY")
        return key

    def _next_is_key(self) -> bool:
        """Whether a name comes after the comma, and no argument."""
        following = self._next
        after = self._tokens[self._index + 2] if self._index + 2 < len(self._tokens) else None
        return bool(
            following
            and following.token_type == TokenType.VAR
            and (after is None or after.token_type in (TokenType.COMMA, TokenType.DOT))
        )

    def _keyword(self, *names: str) -> str:
        """The name of an argument that is written with it, `NAME => value`."""
        if not self._next or self._next.token_type != TokenType.FARROW:
            return ""
        word: str = self._curr.text.upper()
        if word not in names:
            self.refuse(f"there is no argument {self._curr.text}")
        self._advance(2)
        return word

    # Windows in brackets

    def _brackets(self) -> list[exp.Expr]:
        found = []
        while self._at(TokenType.L_BRACKET):
            found.append(self._bracket())
        return found

    def _bracket(self) -> exp.Expr:
        start = self._curr
        self._advance()
        if self._match_text_seq("RANGE"):
            size = self._duration(TokenType.R_BRACKET, words=("SLIDE",))
            slide = None
            if self._match_text_seq("SLIDE"):
                slide = self._duration(TokenType.R_BRACKET)
            made = Bracket(form="range", size=size, slide=slide)
        elif self._match_text_seq("SESSION"):
            made = self._session()
        elif self._match_text_seq("STITCH"):
            made = Bracket(form="stitch")
        elif self._match_text_seq("UNTIL"):
            other = self._parse_table()
            if other is None or not self._match(TokenType.ON):
                self.refuse("[UNTIL other ON condition] needs a table and a condition")
            made = Bracket(form="until", other=other, on=self._parse_disjunction())
        elif self._match_text_seq("NOW"):
            made = Bracket(form="now")
        elif self._match_text_seq("UNBOUNDED"):
            made = Bracket(form="unbounded")
        elif self._match_text_seq("FROM"):
            self._in_window = True
            beginning = self._parse_disjunction()
            if beginning is None:
                self.refuse("[FROM e FOR d] needs an expression over vs and ve after FROM")
            self._expect("FOR")
            made = Bracket(
                form="from", start=beginning, duration=self._duration(TokenType.R_BRACKET)
            )
            self._in_window = False
        else:
            self.refuse(
                "a window is [RANGE d], [RANGE d SLIDE d], [SESSION d], [NOW], [UNBOUNDED], "
                "[FROM e FOR d], [STITCH] or [UNTIL other ON condition]"
            )
        if not self._match(TokenType.R_BRACKET):
            self.refuse("a ] is expected after the window", self._curr or self._prev)
        return made.update_positions(start)

    def _session(self) -> Bracket:
        """`gap [MAX d] [PER k, …]`."""
        gap = self._duration(TokenType.R_BRACKET, words=("MAX", "PER"))
        most, keys = None, []
        if self._match_text_seq("MAX"):
            most = self._duration(TokenType.R_BRACKET, words=("PER",))
        if self._match_text_seq("PER"):
            keys = self._parse_csv(self._parse_disjunction)
            if not keys:
                self.refuse("a column is expected after PER")
        return Bracket(form="session", size=gap, most=most, keys=keys)

    # Durations

    def _parse_type(self, *args: Any, **options: Any) -> exp.Expr | None:
        duration = self._written_duration() if self._in_window else None
        return duration or super()._parse_type(*args, **options)

    def _parse_interval(self, *args: Any, **options: Any) -> Any:
        before, self._in_window = self._in_window, False
        interval = super()._parse_interval(*args, **options)
        self._in_window = before
        return interval

    def _written_duration(self) -> exp.Expr | None:
        """`30 MINUTES` or `5s` in an expression over vs and ve."""
        start, words = self._curr, []
        while self._at(TokenType.NUMBER):
            index, amount = self._index, self._curr.text
            self._advance()
            if self._curr and self._is_type_sign():
                self._advance()
            unit = self._curr.text if self._curr else ""
            if not is_unit(unit):
                self._retreat(index)
                break
            words += [amount, unit]
            self._advance()
        return Duration(this=" ".join(words)).update_positions(start) if words else None

    def _is_type_sign(self) -> bool:
        """Whether it is the :: that the tokenizer puts into 5s and 5d, which it takes for a
        SMALLINT and a DOUBLE: here they are seconds and days."""
        unit = self._next and self._next.text.lower()
        return (
            self._curr.token_type == TokenType.DCOLON
            and self._curr.start == self._prev.start
            and unit in ("s", "d")
        )

    def _duration(self, *ends: TokenType, words: Collection[str] = ()) -> exp.Expr:
        """`5 MINUTES`, `1 HOUR 30 MINUTES`, `10`, `INF`, or else an expression."""
        start = self._curr
        if not start or start.token_type in ends:
            self.refuse("a duration is expected, such as 5 MINUTES or 10", start or self._prev)
        written: list[str] = []
        index = self._index
        while self._curr and self._curr.token_type not in ends:
            if self._curr.text.upper() in words:
                break
            if not self._is_type_sign():
                written.append(self._curr.text)
            self._advance()
        text = " ".join(written)
        if start.token_type == TokenType.STRING and len(written) == 1:
            return Duration(this=text).update_positions(start)
        if text.upper() in _ENDLESS or _is_written_duration(written):
            return Duration(this=text).update_positions(start)
        self._retreat(index)
        value = self._parse_disjunction()
        if value is None:
            self.refuse("a duration is expected, such as 5 MINUTES or 10", start)
        return value if "line" in value.meta else value.update_positions(start)


def _is_written_duration(words: list[str]) -> bool:
    """Whether the tokens are numbers, each with a unit, or one number."""
    if len(words) == 1:
        return words[0][:1].isdigit()
    return (
        len(words) % 2 == 0
        and all(word.replace(".", "", 1).isdigit() for word in words[::2])
        and all(word.isalpha() for word in words[1::2])
    )
