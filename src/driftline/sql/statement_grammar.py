"""The grammar of the statements that are no queries.

CREATE [OR REPLACE] STREAM name (column type, …) [WITH (key = value, …)]; as other engines have it
    CREATE TABLE or CREATE SOURCE, with WATERMARK FOR ts AS ts - INTERVAL … among the columns or
    LATENESS INTERVAL … after one: the time and the disorder of the stream; and with PRIMARY KEY
    (column, …) among the columns, or PRIMARY KEY after one
CREATE [OR REPLACE] STREAM name AS query
CREATE [OR REPLACE] MATERIALIZED VIEW name AS query: the same
CREATE [OR REPLACE] VIEW name [(column, …)] AS query
    and IF NOT EXISTS before a name, in the place of OR REPLACE
CREATE SINK name WITH (key = value, …) [AS query]
INSERT INTO name [(column, …)] query
SET name = value

A query of a statement may end in EMIT CHANGES, which is what all do, or in EMIT FINAL or EMIT ON
WINDOW CLOSE: its rows come once, when they are final.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from driftline.sql.syntax import FINAL, CreateSink, CreateStream, CreateView, InsertInto, Setting
from driftline.sql.window_grammar import WindowParser

_STREAMS = ("STREAM", "TABLE", "SOURCE")
_OTHERS = {
    "AGGREGATE": "aggregates of your own are given in Python, dl.UserDefined(…)",
    "CONNECTION": "the options of a connection stand in WITH (…) of the stream or sink",
    "FUNCTION": "aggregates of your own are given in Python, dl.UserDefined(…)",
    "INDEX": "answers are kept without one, and a sink takes keys = '…'",
    "TYPE": "write STRUCT<name: TYPE, …> where it is used",
}
"""What other engines create besides, and what is written here instead."""
_AFTER_TYPE = {
    "AS": "a column that is computed stands in a view: CREATE VIEW … AS SELECT *, … AS {}",
    "DEFAULT": "a value that is missing is null: leave DEFAULT out, and write coalesce({}, …)",
    "GENERATED": "a column that is computed stands in a view: CREATE VIEW … AS SELECT *, … AS {}",
    "KEY": "the records of a topic have no key here: leave KEY out",
    "METADATA": "a column is a field of the records: there is no METADATA",
    "NOT": "NOT NULL would not be checked: leave it out",
}
"""What other engines have after the type of a column."""
_AFTER_COLUMNS = {
    "APPEND": "records only ever come: leave APPEND ONLY out",
    "FORMAT": "FORMAT … ENCODE … is written WITH (path = '…', format = '…') here",
    "FROM": "a stream is read from what WITH (path = '…', format = '…') says, and has columns",
    "INCLUDE": "a column is a field of the records: leave INCLUDE out",
    "LIKE": "the columns are written out: (name TYPE, …)",
    "PARTITIONED": "the directories of a path are read as they are: leave PARTITIONED BY out",
    "USING": "USING is written WITH (path = '…', format = '…') here",
}
"""What other engines have after the name or the columns of a stream."""
_STAMPS = (
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ,
    exp.DType.TIMESTAMPNTZ,
    exp.DType.TIMESTAMPTZ,
)
_DIGITS = frozenset("0123456")
"""What other engines write after the type of a time: how many digits of a second it has. All of
these have six here."""


class StatementParser(WindowParser):
    """Reads statements, from the word after the first one on."""

    def _create(self) -> exp.Expr:
        start = self._prev
        replace = self._match_text_seq("OR", "REPLACE")
        temporary = self._match_text_seq("TEMPORARY") or self._match_text_seq("TEMP")
        kind = self._curr.text.upper() if self._curr else ""
        if kind in _STREAMS:
            self._advance()
            if temporary:
                self.refuse(f"CREATE {kind} takes no TEMPORARY", start)
            return self._create_stream(start, replace, self._if_not_exists(replace))
        if self._match_text_seq("VIEW") or self._match_text_seq("LOCAL", "VIEW"):
            unless = self._if_not_exists(replace)
            name = self._name("view")
            columns = self._parse_wrapped_id_vars() if self._at(TokenType.L_PAREN) else None
            self._expect("AS")
            return CreateView(
                this=name, columns=columns, query=self._query(), replace=replace, unless=unless
            ).update_positions(start)
        if not temporary and self._match_text_seq("MATERIALIZED", "VIEW"):
            unless = self._if_not_exists(replace)
            name = self._name("view")
            query = self._materialized()
            return CreateStream(
                this=name, columns=None, options=[], query=query, replace=replace, unless=unless
            ).update_positions(start)
        if not temporary and self._match_text_seq("SINK", advance=False):
            if replace:
                self.refuse("OR REPLACE is for streams and views: a sink is named once")
            self._match_text_seq("SINK")
            if self._if_not_exists(replace):
                self.refuse("IF NOT EXISTS is for streams and views: a sink is named once", start)
            return self._create_sink(start)
        if kind in _OTHERS:
            self.refuse(f"there is no CREATE {kind}: {_OTHERS[kind]}")
        self.refuse(f"CREATE {kind} is not known: CREATE STREAM, VIEW or SINK is")

    def _materialized(self) -> exp.Expr:
        """`[(column, …)] [EMIT ON WINDOW CLOSE] AS query`."""
        columns = self._parse_wrapped_id_vars() if self._at(TokenType.L_PAREN) else None
        before = exp.Select()
        self._emitted(before)
        self._expect("AS")
        query = self._query()
        final = query.meta.get(FINAL) or before.meta.get(FINAL)
        if columns:
            alias = exp.TableAlias(this=exp.to_identifier("$rows", quoted=True), columns=columns)
            query = exp.select("*").from_(exp.Subquery(this=query, alias=alias), copy=False)
        if final:
            query.meta[FINAL] = True
        return query

    def _create_sink(self, start: Token) -> exp.Expr:
        name = self._name("sink")
        if self._at(TokenType.L_PAREN):
            self.refuse(f"the sink {name.name} has the columns of its query: leave (…) out")
        if not self._match(TokenType.WITH):
            self.refuse(f"the sink {name.name} needs WITH (type = '…', …)")
        options = self._parse_wrapped_csv(self._option)
        query = self._query() if self._match(TokenType.ALIAS) else None
        return CreateSink(this=name, options=options, query=query).update_positions(start)

    def _if_not_exists(self, replace: bool) -> bool:
        """IF NOT EXISTS: what has the name already stays."""
        unless = bool(self._match_text_seq("IF", "NOT", "EXISTS"))
        if unless and replace:
            self.refuse("OR REPLACE and IF NOT EXISTS are two ways: write one of them")
        return unless

    def _create_stream(self, start: Token, replace: bool, unless: bool) -> exp.Expr:
        name = self._name("stream")
        columns: list[exp.Expr] | None = None
        parts: list[exp.Expr] = []
        options: list[exp.Expr] = []
        if self._at(TokenType.L_PAREN):
            parts = self._parse_wrapped_csv(self._column_definition)
            columns = [each for each in parts if isinstance(each, exp.ColumnDef)]
            options = [item for each in parts for item in each.args.pop("constraints", ())]
            options += [item for each in parts if isinstance(each, exp.Tuple) for item in each]
        keys = [each for each in parts if isinstance(each, exp.PrimaryKey)]
        keys += [each for each in options if isinstance(each, exp.PrimaryKey)]
        if len(keys) > 1:
            self.refuse(f"the stream {name.name} has two primary keys: write one, (a, b)", start)
        options = [each for each in options if not isinstance(each, exp.PrimaryKey)]
        if self._match(TokenType.WITH):
            options += self._parse_wrapped_csv(self._option)
        following = self._curr.text.upper().split()[:1] if self._curr else []
        if following and following[0] in _AFTER_COLUMNS:
            self.refuse(_AFTER_COLUMNS[following[0]])
        query = self._query() if self._match(TokenType.ALIAS) else None
        if query is not None and columns is not None:
            self.refuse(f"CREATE STREAM {name.name} has both columns and a query", start)
        if query is None and columns is None:
            self.refuse(f"the stream {name.name} needs columns: (name TYPE, …), or AS SELECT …")
        return CreateStream(
            this=name,
            columns=columns,
            options=options,
            keys=keys[0].expressions if keys else None,
            query=query,
            replace=replace,
            unless=unless,
        ).update_positions(start)

    def _primary_key(self, *columns: exp.Expr) -> exp.Expr:
        """PRIMARY KEY (column, …), or that of one column, with NOT ENFORCED, as it is."""
        self._advance()
        key = exp.PrimaryKey(expressions=list(columns) or self._parse_wrapped_id_vars())
        self._match_text_seq("NOT", "ENFORCED")
        return key

    def _column_definition(self) -> exp.Expr:
        if self._match_text_seq("WATERMARK", "FOR"):
            return self._watermark()
        if self._at(TokenType.PRIMARY_KEY):
            return self._primary_key()
        name = self._name("column")
        at_type = self._curr
        if self._at(TokenType.ALIAS):
            self.refuse(_AFTER_TYPE["AS"].format(name.name))
        kind = self._parse_types(check_func=False, schema=True)
        if not isinstance(kind, (exp.DataType, exp.Interval)):
            self.refuse(f"the column {name.name} needs a type, such as STRING or INT", at_type)
        if kind.this in _STAMPS and {each.sql() for each in kind.expressions} <= _DIGITS:
            kind.set("expressions", None)
        if self._match_text_seq("COMMENT"):
            self._advance()
        more: list[exp.Expr] = []
        if self._at(TokenType.PRIMARY_KEY):
            more.append(self._primary_key(name.copy()))
        if self._curr and self._curr.text.upper() in _AFTER_TYPE:
            self.refuse(_AFTER_TYPE[self._curr.text.upper()].format(name.name))
        if self._match_text_seq("LATENESS"):
            more += self._bounded(name)
        if not (self._at(TokenType.COMMA) or self._at(TokenType.R_PAREN)):
            self.refuse(f"a , or ) is expected after the column {name.name}")
        if at_type:
            kind.update_positions(at_type)
        return exp.ColumnDef(this=name, kind=kind, constraints=more)

    def _watermark(self) -> exp.Expr:
        """FOR column AS column - INTERVAL …, or AS column."""
        column = self._name("column")
        self._expect("AS")
        same = self._name("column")
        if same.name.lower() != column.name.lower():
            self.refuse(
                f"a watermark is the time less a duration: WATERMARK FOR {column.name} AS "
                f"{column.name} - INTERVAL …",
                self._prev,
            )
        if self._match(TokenType.DASH):
            return exp.Tuple(expressions=self._bounded(column))
        if not (self._at(TokenType.COMMA) or self._at(TokenType.R_PAREN)):
            self.refuse(f"- INTERVAL … is expected after {column.name}")
        none = exp.Literal.string("0").update_positions(self._prev)
        return exp.Tuple(expressions=self._bounded(column, none))

    def _bounded(self, column: exp.Expr, by: exp.Expr | None = None) -> list[exp.Expr]:
        """The options of a stream whose time is a column that is late by so much at most."""
        place = self._prev
        time, disorder = exp.to_identifier("time"), exp.to_identifier("disorder")
        given = exp.Literal.string(column.name).update_positions(place)
        bound = by or self._value(disorder, (TokenType.COMMA,))
        options = [(time, given), (disorder, bound)]
        return [
            Setting(this=key.update_positions(place), expression=value) for key, value in options
        ]

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
        if words[0].token_type == TokenType.EQ:
            self.refuse(f"{name.name} needs a value", words[0])
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

    def _emitted(self, query: exp.Query) -> None:
        """EMIT CHANGES, EMIT FINAL and EMIT ON WINDOW CLOSE after a query."""
        if not self._at_emit():
            return
        self._advance()
        if self._match_text_seq("FINAL") or self._match_text_seq("ON", "WINDOW", "CLOSE"):
            query.meta[FINAL] = True
        else:
            self._expect("CHANGES")

    def _name(self, what: str) -> exp.Expr:
        token = self._curr
        if what in ("option", "setting") and self._match(TokenType.STRING):  # as in Flink
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
