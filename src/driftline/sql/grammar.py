"""The grammar of scripts, on top of the expressions of `driftline.plan.dialect`.

A script is a list of statements: queries, and those of `statement_grammar`. The parser of queries
is made of `strict_grammar` and, for tables, `window_grammar` and `match_grammar`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from driftline.plan.dialect import DriftlineSpark, readable, unreadable
from driftline.plan.errors import ExpressionError
from driftline.sql.statement_grammar import StatementParser
from driftline.sql.strict_grammar import start_column
from driftline.sql.syntax import EXPLAINED

STATEMENTS = "CREATE STREAM, CREATE VIEW, CREATE SINK, INSERT INTO, SET, SELECT and EXPLAIN"
_STARTS = ("SELECT", "CREATE", "INSERT", "SET", "WITH", "EXPLAIN")
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
_IN_FROM = "windows stand in FROM: TUMBLE(TABLE t, INTERVAL 1 MINUTE), HOP(…) or SESSION(…)"
_ELSEWHERE = {
    "EMIT": "there are EMIT CHANGES, EMIT FINAL and EMIT ON WINDOW CLOSE, at the end of a query",
    "HOPPING": _IN_FROM,
    "TUMBLING": _IN_FROM,
    "LATEST": "the latest row of each key is QUALIFY row_number() OVER (PARTITION BY k ORDER BY ts "
    "DESC) = 1",
    "OPTIONS": "there are no hints after a query: leave OPTIONS out",
    "PARTITION BY": "PARTITION BY stands in OVER (…) and in SESSION(TABLE t PARTITION BY k, …)",
    "SAMPLE": "windows are groups: GROUP BY window(ts, '1 minute')",
    "SESSION": "sessions stand in FROM, SESSION(TABLE t PARTITION BY k, INTERVAL 5 MINUTES), or in "
    "GROUP BY session_window(ts, '5 minutes')",
    "TOP": "TOP n is written ORDER BY … LIMIT n",
    "WITHIN": "a join within a time has a condition: l.ts BETWEEN r.ts - INTERVAL 1 DAY AND r.ts",
}
"""What the words of other engines are here."""
_STATEMENTS = {
    "DECLARE": "WITH RECURSIVE name (column, …) AS (base UNION step) is a recursive view",
    "DESCRIBE": "driftline explain shows the plans of a script",
    "DROP": "a script begins with nothing, so leave it out",
    "EXECUTE": "all queries of a script run together, so leave EXECUTE STATEMENT SET … END out",
    "FLUSH": "leave it out",
    "LATENESS": "CREATE STREAM … WITH (time = 'ts', disorder = '5s') says how late records are",
    "SUBSCRIBE": "every answer is a stream of changes, so write the query alone",
    "USE": "names have one part here: there are no databases",
}
"""Statements of other engines, and what is written here."""
_BEGINNINGS = frozenset(
    [TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN]
)


def _refused_statement(parser: Any) -> NoReturn:
    start = parser._prev
    word = start.text.upper()
    message = f"{word} is not supported: {_STATEMENTS.get(word, f'there are {STATEMENTS}')}"
    raise ExpressionError(message, start.line, start_column(start))


class DriftlineSql(DriftlineSpark):
    """The dialect of scripts."""

    INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT = True

    class Parser(StatementParser):
        """Reads scripts."""

        STATEMENT_PARSERS: ClassVar[dict[TokenType, Callable[[Any], Any]]] = {
            **dict.fromkeys(DriftlineSpark.Parser.STATEMENT_PARSERS, _refused_statement),
            TokenType.CREATE: lambda self: self._create(),
            TokenType.INSERT: lambda self: self._insert(),
            TokenType.SET: lambda self: self._setting(),
            TokenType.SEMICOLON: lambda self: exp.Semicolon(),
        }

        def _parse_command(self) -> exp.Command:
            _refused_statement(self)

        def _parse_as_command(self, start: Token) -> exp.Command:
            self.refuse(f"this is not a statement: there are {STATEMENTS}", start)

        def _parse_statement(self) -> exp.Expr | None:
            start = self._curr
            if start and start.text.upper() == "EXPLAIN":
                return self._explained()
            if start and not (
                start.token_type in _BEGINNINGS
                or start.token_type in self.STATEMENT_PARSERS
                or self._is_table_query()
            ):
                near = get_close_matches(start.text.upper(), _STARTS, n=1, cutoff=0.6)
                hint = f"did you mean {near[0]}?" if near else f"there are {STATEMENTS}"
                hint = _STATEMENTS.get(start.text.upper(), hint)
                self.refuse(f"{start.text} is not supported: {hint}", start)
            statement = super()._parse_statement()
            if isinstance(statement, exp.Query):
                self._emitted(statement)
            return statement

        def _explained(self) -> exp.Expr:
            self._advance()
            query = self._curr and self._parse_statement()
            if not isinstance(query, (exp.Query, exp.Values)):
                self.refuse("EXPLAIN is for a query: EXPLAIN SELECT … FROM …")
            query.meta[EXPLAINED] = True
            return query


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
    for token in (tokens[here], *tokens[max(here - 3, 0) : here]):
        if token.text.upper() in _ELSEWHERE:
            return ExpressionError(
                f"syntax error near {token.text!r}: {_ELSEWHERE[token.text.upper()]}",
                token.line,
                start_column(token),
            )
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
