"""The grammar of the statements that are no queries.

CREATE [OR REPLACE] STREAM name (column type, …) [WITH (key = value, …)]
CREATE [OR REPLACE] STREAM name AS query
CREATE [OR REPLACE] MATERIALIZED VIEW name AS query: the same
CREATE [OR REPLACE] VIEW name [(column, …)] AS query
CREATE SINK name WITH (key = value, …) [AS query]
INSERT INTO name [(column, …)] query
SET name = value
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from driftline.sql.syntax import CreateSink, CreateStream, CreateView, InsertInto, Setting
from driftline.sql.window_grammar import WindowParser


class StatementParser(WindowParser):
    """Reads statements, from the word after the first one on."""

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
        if not temporary and self._match_text_seq("MATERIALIZED", "VIEW"):
            self._refuse_if_not_exists()
            name = self._name("view")
            self._expect("AS")
            return CreateStream(
                this=name, columns=None, options=[], query=self._query(), replace=replace
            ).update_positions(start)
        if not temporary and self._match_text_seq("SINK", advance=False):
            if replace:
                self.refuse("OR REPLACE is for streams and views: a sink is named once")
            self._match_text_seq("SINK")
            self._refuse_if_not_exists()
            return self._create_sink(start)
        kind = self._curr.text.upper() if self._curr and not temporary else ""
        if kind in ("TABLE", "SOURCE"):
            self.refuse(f"CREATE {kind} is written CREATE STREAM name (column TYPE, …) here")
        self.refuse(f"CREATE {kind} is not known: CREATE STREAM, VIEW or SINK is")

    def _create_sink(self, start: Token) -> exp.Expr:
        name = self._name("sink")
        if self._at(TokenType.L_PAREN):
            self.refuse(f"the sink {name.name} has the columns of its query: leave (…) out")
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
        if self._at(TokenType.DOT):
            self.refuse(f"a name with a dot stands in quotes: '{name.name}.…' = '…'")
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
        return InsertInto(this=name, columns=columns, query=self._query()).update_positions(start)

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
