"""The grammar of scripts, on top of the expressions of `driftline.plan.dialect`.

statement:  CREATE [OR REPLACE] STREAM name (column type, …) [WITH (key = value, …)]
         |  CREATE [OR REPLACE] STREAM name AS query
         |  CREATE [OR REPLACE] VIEW name [(column, …)] AS query
         |  CREATE SINK name WITH (key = value, …) [AS query]
         |  INSERT INTO name [(column, …)] query
         |  SET name = value
         |  query
bracket:    [RANGE d] | [RANGE d SLIDE d] | [SESSION d] | [NOW] | [UNBOUNDED] | [FROM e FOR d]
table:      name | (query) | TUMBLE(table, d) | HOP(table, d, d) |
            CUMULATE(table, d, d), also in TABLE(…), each with brackets and an alias,
            and with MATCH_RECOGNIZE (…) and its alias after that
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from driftline.plan.dialect import DriftlineSpark, readable, unreadable
from driftline.plan.durations import is_unit
from driftline.plan.errors import ExpressionError
from driftline.plan.used import place_of
from driftline.sql.match_grammar import WORD as MATCH
from driftline.sql.match_grammar import match_recognize
from driftline.sql.syntax import (
    Bracket,
    CreateSink,
    CreateStream,
    CreateView,
    Duration,
    InsertInto,
    Setting,
    WindowTable,
)

STATEMENTS = "CREATE STREAM, CREATE VIEW, CREATE SINK, INSERT INTO, SET and SELECT"
WINDOW_TABLES = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_ENDLESS = ("INF", "INFINITE", "UNBOUNDED")
_STARTS = ("SELECT", "CREATE", "INSERT", "SET", "WITH")
_WORDS = {
    **{
        word: word
        for word in (
            *("SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "UNION"),
            *("INTERSECT", "EXCEPT", "JOIN", "LEFT", "RIGHT", "INNER", "OUTER", "CROSS", "USING"),
            *("STREAM", "VIEW", "VALUES", "DISTINCT", "BETWEEN", "RANGE", "SLIDE"),
        )
    },
    **{word: f"{word} BY" for word in ("GROUP", "ORDER", "PARTITION")},
}
"""Words that a misspelt word is compared with."""
_BEGINNINGS = frozenset(
    [TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN]
)
_UNFINISHED = frozenset(
    [TokenType.COLLATE, TokenType.DEFAULT, TokenType.FORMAT, TokenType.ALIAS, TokenType.COMMA]
)
"""Tokens that cannot stand before a closing bracket."""
TEXT = "text"
"""In the meta of an item of a select list: how it was written."""


def _refused_statement(parser: Any) -> NoReturn:
    start = parser._prev
    message = f"{start.text.upper()} is no statement here: there are {STATEMENTS}"
    raise ExpressionError(message, start.line, start_column(start))


def _with_place(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A clause of a query with the place where it begins."""

    def parsed(parser: Any) -> Any:
        start = parser._curr
        key, clause = parse(parser)
        if isinstance(clause, exp.Expr) and "line" not in clause.meta:
            clause.update_positions(start)
        return key, clause

    return parsed


class DriftlineSql(DriftlineSpark):
    """The dialect of scripts."""

    INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT = True

    class Parser(DriftlineSpark.Parser):
        """Reads scripts; what it refuses has a place."""

        STATEMENT_PARSERS: ClassVar[dict[TokenType, Callable[[Any], Any]]] = {
            **dict.fromkeys(DriftlineSpark.Parser.STATEMENT_PARSERS, _refused_statement),
            TokenType.CREATE: lambda self: self._create(),
            TokenType.INSERT: lambda self: self._insert(),
            TokenType.SET: lambda self: self._setting(),
            TokenType.SEMICOLON: lambda self: exp.Semicolon(),
        }

        QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[[Any], Any]]] = {
            token: _with_place(parse)
            for token, parse in DriftlineSpark.Parser.QUERY_MODIFIER_PARSERS.items()
        }

        _in_window = False
        """Whether an expression over vs and ve is read, in which `30 MINUTES` is a number of
        ticks."""

        def refuse(self, message: str, token: Token | None = None) -> NoReturn:
            """Raises an error with a place; unlike a ParseError, nothing tries another way."""
            place = token or self._curr or self._prev
            raise ExpressionError(message, place.line, start_column(place))

        def _parse_command(self) -> exp.Command:
            _refused_statement(self)

        def _parse_as_command(self, start: Token) -> exp.Command:
            self.refuse(f"this is no statement here: there are {STATEMENTS}", start)

        # Places and texts that sqlglot does not keep

        def _parse_select(self, *args: Any, **options: Any) -> exp.Expr | None:
            start = self._curr
            query = super()._parse_select(*args, **options)
            if isinstance(query, exp.Select) and "line" not in query.meta:
                query.update_positions(start)
            return query

        def _parse_expression(self) -> exp.Expr | None:
            start = self._curr
            node = super()._parse_expression()
            if node is not None and start and self._prev and self._prev.end >= start.start:
                node.meta[TEXT] = self._find_sql(start, self._prev)
                if place_of(node)[0] is None:
                    node.update_positions(start)
            return node

        def _parse_statement(self) -> exp.Expr | None:
            start = self._curr
            if start and not (
                start.token_type in _BEGINNINGS or start.token_type in self.STATEMENT_PARSERS
            ):
                near = get_close_matches(start.text.upper(), _STARTS, n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}?" if near else f"there are {STATEMENTS}"
                self.refuse(f"{start.text} is no statement here: {hint}", start)
            return super()._parse_statement()

        # What sqlglot passes over

        def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
            start = self._curr
            made = super()._parse_alias(this, explicit)
            if made is this and self._curr is not start:
                self.raise_error("a name is expected after this", start)
            return made

        def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
            comma = self._curr if self._at(TokenType.COMMA) else None
            join = super()._parse_join(*args, **options)
            if comma and join is None:
                self.refuse("a table is expected after the ,", comma)
            if join is not None and self._match_text_seq("MATCH_CONDITION"):
                join.set("match_condition", self._parse_wrapped(self._parse_comparison))
                if self._match(TokenType.ON):
                    join.set("on", self._parse_disjunction())
            return join

        def _parse_ordered(self, *args: Any, **options: Any) -> exp.Ordered | None:
            start = self._index
            item = super()._parse_ordered(*args, **options)
            words = [token.text.upper() for token in self._tokens[start : self._index]]
            for pair in (["ASC", "DESC"], ["FIRST", "NULLS"]):
                if any(words[place : place + 2] == pair for place in range(len(words))):
                    self.refuse("an item of ORDER BY has one direction", self._tokens[start])
            return item

        def _parse_partition_by(self) -> list[exp.Expr]:
            start = self._curr
            keys = super()._parse_partition_by()
            if not keys and self._curr is not start:
                self.refuse(f"{start.text} needs an expression", start)
            return keys

        def _parse_window_spec(self) -> dict[str, Any]:
            if self._at(TokenType.BETWEEN) and self._prev.text.upper() in ("BETWEEN", "AND"):
                self.refuse("BETWEEN is not expected here")
            return super()._parse_window_spec()

        def _parse_star_op(self, *keywords: str) -> list[exp.Expr] | None:
            start = self._curr
            found = super()._parse_star_op(*keywords)
            if not found and self._curr is not start:
                self.refuse(f"* {start.text} needs the names of columns: * EXCEPT (a, b)", start)
            return found

        def parse_set_operation(self, *args: Any, **options: Any) -> exp.SetOperation | None:
            method = self._curr
            made = super().parse_set_operation(*args, **options)
            if made is not None and method.token_type in self.JOIN_METHODS:
                self.refuse(f"{method.text} is not expected here", method)
            return made

        def _parse_pipe_syntax_query(self, query: Any) -> Any:
            self.refuse("|> is not supported: write the query as SELECT … FROM …")

        def _parse_cast(self, *args: Any, **options: Any) -> exp.Expr:
            made = super()._parse_cast(*args, **options)
            if self._prev.token_type in _UNFINISHED:
                self.raise_error("something is missing after this", self._prev)
            return made

        def _parse_limit(self, *args: Any, **options: Any) -> exp.Expr | None:
            if self._match_pair(TokenType.LIMIT, TokenType.COMMA, advance=False):
                self.refuse("LIMIT needs a number", self._next)
            return super()._parse_limit(*args, **options)

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

        def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
            if self._match_text_seq("WINDOW", "(", advance=False):
                self.refuse(
                    "window(…) is written FROM TUMBLE(stream, INTERVAL …) or HOP(…) here: they add "
                    "window_start and window_end"
                )
            return super()._parse_function_call(*args, **options)

        def _parse_query_modifiers(self, this: Any) -> Any:
            if self._at(TokenType.GROUP_BY) and self._next and self._next.text.upper() == "WINDOW":
                self.refuse("GROUP BY window(…) is written FROM TUMBLE(…) or HOP(…) here")
            return super()._parse_query_modifiers(this)

        def _parse_projections(self) -> Any:
            if self._prev and self._prev.token_type == TokenType.ALIAS:
                self.refuse("AS stands after an expression", self._prev)
            found = super()._parse_projections()
            if self._prev and self._prev.token_type == TokenType.COMMA:
                self.refuse("a column is expected after the ,", self._prev)
            return found

        # Statements

        def _create(self) -> exp.Expr:
            start = self._prev
            replace = self._match_text_seq("OR", "REPLACE")
            temporary = self._match_text_seq("TEMPORARY") or self._match_text_seq("TEMP")
            if self._match_text_seq("STREAM"):
                if temporary:
                    self.refuse("CREATE STREAM takes no TEMPORARY", start)
                self._refuse_if_not_exists()
                return self._create_stream(start, replace)
            if self._match_text_seq("VIEW"):
                self._refuse_if_not_exists()
                name = self._name("view")
                columns = self._parse_wrapped_id_vars() if self._at(TokenType.L_PAREN) else None
                self._expect("AS")
                return CreateView(
                    this=name, columns=columns, query=self._query(), replace=replace
                ).update_positions(start)
            if not temporary and not replace and self._match_text_seq("SINK"):
                self._refuse_if_not_exists()
                return self._create_sink(start)
            kind = self._curr.text.upper() if self._curr and not temporary else ""
            self.refuse(f"CREATE {kind} is not known: CREATE STREAM, VIEW or SINK is")

        def _create_sink(self, start: Token) -> exp.Expr:
            name = self._name("sink")
            if not self._match(TokenType.WITH):
                self.refuse(f"the sink {name.name} needs WITH (type = '…', …)")
            options = self._parse_wrapped_csv(self._option)
            query = self._query() if self._match(TokenType.ALIAS) else None
            return CreateSink(this=name, options=options, query=query).update_positions(start)

        def _refuse_if_not_exists(self) -> None:
            if self._match_text_seq("IF", "NOT", "EXISTS", advance=False):
                self.refuse("IF NOT EXISTS is not supported: write OR REPLACE, or leave it out")

        def _create_stream(self, start: Token, replace: bool) -> exp.Expr:
            name = self._name("stream")
            columns: list[exp.Expr] | None = None
            options: list[exp.Expr] = []
            if self._at(TokenType.L_PAREN):
                columns = self._parse_wrapped_csv(self._column_definition)
            if self._match(TokenType.WITH):
                options = self._parse_wrapped_csv(self._option)
            query = self._query() if self._match(TokenType.ALIAS) else None
            if query is not None and columns is not None:
                self.refuse(f"CREATE STREAM {name.name} has both columns and a query", start)
            if query is None and columns is None:
                self.refuse(f"the stream {name.name} needs columns: (name TYPE, …), or AS SELECT …")
            return CreateStream(
                this=name, columns=columns, options=options, query=query, replace=replace
            ).update_positions(start)

        def _column_definition(self) -> exp.Expr:
            if self._match_text_seq("WATERMARK", "FOR", advance=False):
                self.refuse("WATERMARK FOR is written WITH (time = '…', disorder = '5s') here")
            name = self._name("column")
            at_type = self._curr
            kind = self._parse_types(check_func=False, schema=True)
            if not isinstance(kind, (exp.DataType, exp.Interval)):
                self.refuse(f"the column {name.name} needs a type, such as STRING or INT", at_type)
            if self._match_text_seq("COMMENT"):
                self._advance()
            if self._match_text_seq("NOT", "NULL", advance=False):
                self.refuse("NOT NULL would not be checked: leave it out")
            if not (self._at(TokenType.COMMA) or self._at(TokenType.R_PAREN)):
                self.refuse(f"a , or ) is expected after the column {name.name}")
            if at_type:
                kind.update_positions(at_type)
            return exp.ColumnDef(this=name, kind=kind)

        def _option(self) -> exp.Expr:
            name = self._name("option")
            if not self._match(TokenType.EQ):
                self.refuse(f"{name.name} needs a value: {name.name} = '…'")
            return Setting(this=name, expression=self._value(name, (TokenType.COMMA,)))

        def _setting(self) -> exp.Expr:
            start = self._prev
            name = self._name("setting")
            if not self._match(TokenType.EQ):
                self.refuse(f"{name.name} needs a value: SET {name.name} = …")
            return Setting(this=name, expression=self._value(name)).update_positions(start)

        def _value(self, name: exp.Expr, ends: Collection[TokenType] = ()) -> exp.Expr:
            """A text, or words up to the end, such as 2 SECONDS."""
            start, words = self._curr, []
            while self._curr and self._curr.token_type not in (*ends, TokenType.R_PAREN):
                words.append(self._curr)
                self._advance()
            if not words:
                self.refuse(f"{name.name} needs a value")
            if any(word.token_type == TokenType.EQ for word in words):
                self.refuse("is there a ; missing?", words[1])
            # As it is written: 5s is a number of a type to the tokenizer, and -1 two words.
            text = words[0].text
            if len(words) > 1:
                text = self.sql[words[0].start : words[-1].end + 1]
            literal = exp.Literal(
                this=text, is_string=words[0].token_type in (TokenType.STRING, TokenType.VAR)
            )
            return literal.update_positions(start)

        def _insert(self) -> exp.Expr:
            start = self._prev
            if not self._match_text_seq("INTO"):
                self.refuse("INSERT is written INSERT INTO name SELECT … here")
            self._match_text_seq("TABLE")
            name = self._name("stream to insert into")
            columns = self._parse_wrapped_id_vars() if self._at(TokenType.L_PAREN) else None
            if self._match_text_seq("VALUES", advance=False):
                self.refuse("INSERT takes a query: rows come from the inputs of a stream")
            return InsertInto(this=name, columns=columns, query=self._query()).update_positions(
                start
            )

        def _query(self) -> exp.Expr:
            start = self._curr
            query = self._parse_statement() if start else None
            if not isinstance(query, exp.Query):
                self.refuse("a query is expected: SELECT … FROM …", start or self._prev)
            return query

        def _name(self, what: str) -> exp.Expr:
            token = self._curr
            if what == "option" and self._match(TokenType.STRING):  # as in Flink
                return exp.to_identifier(self._prev.text, quoted=True).update_positions(token)
            name = self._parse_id_var(any_token=False)
            if name is None:
                word = token.text if token else ""
                hint = f": {word} is a word of SQL, write `{word}`" if word.isalpha() else ""
                article = "an" if what.startswith("o") else "a"
                self.refuse(f"the name of {article} {what} is expected{hint}", token or self._prev)
            if self._at(TokenType.DOT) and what not in ("option", "setting"):
                self.refuse("names have one part here: there are no databases", token)
            return name

        def _at(self, kind: TokenType) -> bool:
            return bool(self._curr) and self._curr.token_type == kind

        def _expect(self, word: str) -> None:
            if not self._match_text_seq(word):
                self.refuse(f"{word} is expected here", self._curr or self._prev)

        # Tables

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
            is_name = not self._at_match() and not self._at_match_condition()
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
            while self._match(TokenType.COMMA):
                self._keyword("TIMECOL", "SIZE", "SLIDE", "STEP", "GAP")
                if self._match_text_seq("DESCRIPTOR", "("):
                    time = self._parse_column()
                    self._match_r_paren()
                else:
                    durations.append(self._duration(TokenType.COMMA, TokenType.R_PAREN))
            self._match_r_paren()
            return WindowTable(
                this=table, name=name, time=time, keys=keys, expressions=durations
            ).update_positions(start)

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

        def _keyword(self, *names: str) -> None:
            """Passes over `NAME =>`."""
            if self._next and self._next.token_type == TokenType.FARROW:
                if self._curr.text.upper() not in names:
                    self.refuse(f"there is no argument {self._curr.text}")
                self._advance(2)

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


def start_column(token: Token) -> int:
    """The column, from 1, where a token starts; sqlglot keeps where it ends."""
    return max(1, token.col - (token.end - token.start))


def parse_script(text: str) -> list[exp.Expr]:
    """The syntax trees of the statements of a script.

    >>> [type(tree).__name__ for tree in parse_script("SET emit = eager; SELECT a FROM s [NOW];")]
    ['Setting', 'Select']
    """
    dialect = DriftlineSql()
    try:
        trees = dialect.parse(text)
    except ParseError as error:
        raise _with_hint(readable(error), dialect.tokenize(text)) from None
    except TokenError as error:
        raise unreadable(error, text) from None
    return [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]


def _with_hint(error: ExpressionError, tokens: list[Token]) -> ExpressionError:
    """Adds a hint to an error: at a word that starts a statement, a semicolon was forgotten; at a
    word that is nearly a word of SQL, that one was meant."""
    for word in _STARTS:
        if error.message.upper().startswith(f"SYNTAX ERROR NEAR '{word}'"):
            message = f"{error.message}; is a ; missing before it?"
            return ExpressionError(message, error.line, error.column)
    places = [(token.line, start_column(token)) for token in tokens]
    wrong = (error.line or 0, error.column or 0)
    if wrong not in places:
        return error
    here = places.index(wrong)
    for token in (tokens[here], *tokens[max(here - 1, 0) : here]):
        near = get_close_matches(token.text.upper(), _WORDS, n=1, cutoff=0.75)
        if near and token.token_type == TokenType.VAR:
            word = _WORDS[near[0]]
            return ExpressionError(
                f"syntax error near {token.text!r}: did you mean {word}?",
                token.line,
                start_column(token),
            )
    return error
