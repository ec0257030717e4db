import pytest

from driftline.sql.grammar import parse_script
from tests.sql.declared import pointed_at


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        ("  \n ;; -- only a remark\n;", []),
        ("SELECT k FROM t", ["Select"]),
        ("SELECT k FROM t;", ["Select"]),
        ("/* one */ SELECT k FROM t; -- two\nSELECT k FROM t -- three", ["Select", "Select"]),
        ("create stream q (a int) with (time = 'a')", ["CreateStream"]),
        ("CREATE OR REPLACE STREAM q AS SELECT k FROM t", ["CreateStream"]),
        ("CREATE TEMPORARY VIEW v AS SELECT k FROM t", ["CreateView"]),
        ("INSERT INTO q (a) SELECT k FROM t", ["InsertInto"]),
        ("SET block = 2 SECONDS", ["Setting"]),
        ("SELECT ';' AS k FROM t", ["Select"]),
    ],
)
def test_statements(text: str, statements: list[str]) -> None:
    assert [type(tree).__name__ for tree in parse_script(text)] == statements


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DELETE FROM t", "DELETE is not supported @ DELETE FROM t"),
        ("SHOW TABLES", "SHOW is not supported @ SHOW TABLES"),
        ("CREATE INDEX i ON t (k)", "there is no CREATE INDEX: answers are kept without @ INDEX"),
        ("DROP TABLE t", "DROP is not supported: a script begins with nothing @ DROP TABLE t"),
        ("SUBSCRIBE (SELECT 1)", "so write the query alone @ SUBSCRIBE"),
        ("SELECT k FROM", "a table is expected after FROM @ FROM"),
        ("SELECT k FROM t SELECT k FROM u", "is a ; missing before it? @ SELECT k FROM u"),
        ("SELECT 'abc FROM t", "a ' is opened here and not closed @ 'abc FROM t"),
        ("SELECT k FROM t WHERE (x = 1", "a ) is missing @ 1"),
        ("SELECT k FROM t [RANGE 5", "a ] is expected after the window @ 5"),
        ("SELECT k FROM t [RANGE]", "a duration is expected, such as 5 MINUTES or 10 @ ]"),
        ("SELECT k FROM u, t [ROWS 5]", "a window is [RANGE d] @ ROWS 5]"),
        ("SELECT k FROM t [FROM vs]", "FOR is expected here @ ]"),
        ("WITH RECURSIVE r MAX RECURSION LEVEL x AS (SELECT k FROM t) SELECT * FROM r",
         "MAX RECURSION LEVEL takes a whole number @ x"),
        ("CREATE STREAM q", "the stream q needs columns @ q"),
        ("CREATE STREAM q (a INT) AS SELECT k FROM t", "both columns and a query @ CREATE"),
        ("CREATE STREAM q (a)", "the column a needs a type @ )"),
        ("CREATE STREAM q (a FOO)", "the column a needs a type @ FOO)"),
        ("CREATE STREAM q (a INT NOT NULL)", "NOT NULL would not be checked @ NOT NULL)"),
        ("CREATE STREAM q (a INT b INT)", "a , or ) is expected after the column a @ b INT)"),
        ("CREATE TABLE q (a INT, WATERMARK FOR a AS b - 5)", "the time less a duration: @ b - 5"),
        ("CREATE TABLE q (a INT, WATERMARK FOR a AS a + 5)", "- INTERVAL … is expected @ + 5"),
        ("CREATE TABLE q (a INT, PRIMARY KEY (a) NOT ENFORCED)", "needs the time of q @ a)"),
        ("CREATE TABLE q (a INT PRIMARY KEY, b INT PRIMARY KEY)", "two primary keys @ CREATE"),
        ("CREATE TABLE q (a INT, PRIMARY KEY (b)) WITH (time = 'a')", "q has no column b @ b))"),
        ("CREATE TABLE q (a INT, PRIMARY KEY (a, a)) WITH (time = 'a')", "each once @ a, a"),
        ("CREATE TABLE q (a INT, b AS a + 1)", "CREATE VIEW … AS SELECT *, … AS b @ AS a"),
        ("CREATE TABLE q (a INT DEFAULT 1)", "leave DEFAULT out, and write coalesce(a, …) @ DEF"),
        ("CREATE SOURCE q (a INT) FORMAT PLAIN ENCODE JSON", "is written WITH (path @ FORMAT"),
        ("CREATE SOURCE q FROM KAFKA CONNECTION k", "a stream is read from what WITH @ FROM"),
        ("CREATE STREAM q (a JSONB)", "a STRING holds JSON, and text ->> 'a' @ a JSONB"),
        ("CREATE STREAM a.b (x INT)", "names have one part here @ a.b"),
        ("INSERT OVERWRITE q SELECT k FROM t", "INSERT is written INSERT INTO @ OVERWRITE"),
        ("INSERT INTO q VALUES (1)", "INSERT takes a query @ VALUES (1)"),
        ("CREATE STREAM q (from INT)", "from is a word of SQL, write `from` @ from INT"),
        ("SELECT k,, x FROM t", "a value is expected after this @ ,, x"),
        ("SELECT f(,k) FROM t", "a value is expected before this @ ,k)"),
        ("SELECT k FROM t WHERE x IN (1,,2)", "a value is expected after this @ ,,2)"),
        ("SELECT x'zz' FROM t", "x'zz' is not binary @ x'zz'"),
        ("SELECT 'x''zz''', X'0g' FROM t", "X'0g' is not binary @ X'0g'"),
        ("SELEC * FROM t", "SELEC is not supported: did you mean SELECT? @ SELEC"),
        ("CRATE STREAM q (a INT)", "CRATE is not supported: did you mean CREATE? @ CRATE"),
        ("hello", "hello is not supported: there are CREATE STREAM @ hello"),
        ("WITH a AS (SELCT k FROM t) SELECT * FROM a", "did you mean SELECT? @ SELCT"),
        ("SELECT * FORM t", "near 'FORM': did you mean FROM? @ FORM t"),
        ("SELECT k FROM t WERE x > 1", "near 'WERE': did you mean WHERE? @ WERE"),
        ("SELECT k FROM t GROUP k", "near 'GROUP': did you mean GROUP BY? @ GROUP k"),
        ("SELECT k FROM t WHERE x = 1 ODER BY x", "did you mean ORDER BY? @ ODER"),
        ("CREATE OR REPLACE STREAM IF NOT EXISTS q (a INT)", "write one of them @ q"),
        ("CREATE SINK IF NOT EXISTS q WITH (type = 'console')", "a sink is named once @ CREATE"),
        ("CREATE STREAM q (a TIMESTAMP(9))", "TIMESTAMP takes no size: leave out (9) @ a TIME"),
        ("CREATE STREAM q (a STRUCT<b: INT NOT NULL>)", "leave out NOT NULL @ a STRUCT"),
        ("CREATE VIEW v (a, a) AS SELECT k, x FROM t", "two columns would have the name a @ a)"),
        ("SELECT x + 1, current_date FROM t", "current_date() has another value @ current_date"),
        ("SELECT k, explode(x) FROM t", "explode takes an ARRAY or a MAP @ explode"),
        ("SELECT k FROM t WHERE x IN ()", "IN needs at least one value @ x IN"),
        ("SELECT k FROM t FOR SYSTEM_TIME AS OF '2024-05-01'", "TIMESTAMP AS OF @ t"),
        ("SELECT k FROM t VERSION AS OF 3", "VERSION AS OF is not supported @ t"),
        ("SELECT k FROM t WHERE", "something is missing here @ WHERE"),
        ("SELECT k, FROM t", "a value is expected after this @ , FROM"),
        ("SELECT k FROM t /* why", "a /* is opened here and not closed @ /* why"),
        ("SET emit", "emit needs a value @ emit"),
        ("SET emit = eager SET block = 2", "is there a ; missing? @ SET block"),
        ("SELECT k FROM SESSION(t)", "SESSION takes a table and a gap @ SESSION"),
        ("SELECT k FROM t [SESSION 5 PER]", "a column is expected after PER @ ]"),
        ("SELECT k FROM t [SESSION 0]", "a session needs a gap @ 0"),
        ("SELECT k FROM SESSION(t, DESCRIPTOR(k), 5)", "SESSION goes by the time @ k)"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole
