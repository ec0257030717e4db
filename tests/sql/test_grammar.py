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
        ("DELETE FROM t", "DELETE is no statement here @ DELETE FROM t"),
        ("SHOW TABLES", "SHOW is no statement here @ SHOW TABLES"),
        ("CREATE TABLE q (a INT)", "CREATE TABLE is not known @ TABLE q (a INT)"),
        ("SELECT k FROM", "a table is expected after FROM @ FROM"),
        ("SELECT k FROM t SELECT k FROM u", "is a ; missing before it? @ SELECT k FROM u"),
        ("SELECT 'abc FROM t", "a ' is opened here and not closed @ 'abc FROM t"),
        ("SELECT k FROM t WHERE (x = 1", "a ) is missing @ 1"),
        ("SELECT k FROM t [RANGE 5", "a ] is expected after the window @ 5"),
        ("SELECT k FROM t [RANGE]", "a duration is expected, such as 5 MINUTES or 10 @ ]"),
        ("SELECT k FROM u, t [ROWS 5]", "a window is [RANGE d] @ ROWS 5]"),
        ("SELECT k FROM t [FROM vs]", "FOR is expected here @ ]"),
        ("WITH RECURSIVE r AS (SELECT k FROM t) SELECT * FROM r",
         "WITH RECURSIVE is not supported yet @ RECURSIVE"),
        ("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x)",
         "MATCH_RECOGNIZE is not supported yet @ MATCH_RECOGNIZE"),
        ("SELECT window(ts, '1 hour') FROM trades", "window(…) is written FROM TUMBLE @ window(ts"),
        ("SELECT count(*) FROM trades GROUP BY window(ts, '1 hour')",
         "GROUP BY window(…) is written FROM TUMBLE @ GROUP BY window"),
        ("CREATE STREAM q", "the stream q needs columns @ q"),
        ("CREATE STREAM q (a INT) AS SELECT k FROM t", "both columns and a query @ CREATE"),
        ("CREATE STREAM q (a)", "the column a needs a type @ )"),
        ("CREATE STREAM q (a FOO)", "the column a needs a type @ FOO)"),
        ("CREATE STREAM q (a INT NOT NULL)", "NOT NULL would not be checked @ NOT NULL)"),
        ("CREATE STREAM q (a INT b INT)", "a , or ) is expected after the column a @ b INT)"),
        ("CREATE STREAM q (a INT, WATERMARK FOR a AS a)", "WATERMARK FOR is written WITH @ WATER"),
        ("CREATE STREAM a.b (x INT)", "names have one part here @ a.b"),
        ("INSERT OVERWRITE q SELECT k FROM t", "INSERT is written INSERT INTO @ OVERWRITE"),
        ("INSERT INTO q VALUES (1)", "INSERT takes a query @ VALUES (1)"),
        ("CREATE STREAM q (from INT)", "from is a word of SQL, write `from` @ from INT"),
        ("SELECT k FROM t WHERE", "something is missing here @ WHERE"),
        ("SELECT k, FROM t", "a column is expected after the , @ , FROM"),
        ("SELECT k FROM t /* why", "a /* is opened here and not closed @ /* why"),
        ("SET emit", "emit needs a value @ emit"),
        ("SET emit = eager SET block = 2", "is there a ; missing? @ SET block"),
        ("SELECT k FROM SESSION(t, 10)", "SESSION windows are not supported @ SESSION"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole
