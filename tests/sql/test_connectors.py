from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.sql import read_script
from tests.sql.declared import pointed_at

STREAM = "CREATE STREAM s (k STRING, x INT) WITH (path = 'in.csv', 'kafka.acks' = 'all');\n"


def test_where_streams_come_from_and_answers_go() -> None:
    script = read_script(
        STREAM
        + """
        CREATE SINK a WITH (TYPE = 'DuckDB', path = '${HOME}/a.duckdb', keys = 'k', view = NOW)
          AS SELECT k, x FROM s;
        CREATE SINK b WITH (type = 'console');
        INSERT INTO B SELECT k FROM s;
        INSERT INTO b SELECT k FROM s WHERE x > 1;
        SELECT x FROM s;
        """
    )
    assert script.inputs["s"].options == {"path": "in.csv", "kafka.acks": "all"}
    first, second, plain = script.outputs
    assert first.sink is not None
    assert first.sink.options == {
        "type": "duckdb",
        "path": "${HOME}/a.duckdb",
        "keys": "k",
        "view": "now",
    }
    assert second.name == "b"
    assert second.sink is not None
    assert second.plan.tree().startswith("union")
    assert (plain.name, plain.sink) == ("result", None)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("CREATE SINK a AS SELECT k FROM t", "the sink a needs WITH (type = '…', …) @ AS SELECT"),
        (
            "CREATE SINK a WITH (path = 'x') AS SELECT k FROM t",
            "the type of a sink is missing: it is one of postgres, delta, parquet, eventlog, ",
        ),
        (
            "CREATE SINK a WITH (type = 'redis') AS SELECT k FROM t",
            "the type of a sink is not redis: it is one of postgres, ",
        ),
        (
            "CREATE SINK a WITH (type = 'parquet') AS SELECT k FROM t",
            "a sink of type parquet needs path = '…' @ CREATE SINK",
        ),
        (
            "CREATE SINK a WITH (type = 'parquet', path = 'x', keys = 'k') AS SELECT k FROM t",
            "a sink of type parquet takes path, but no keys @ 'k'",
        ),
        (
            "CREATE SINK a WITH (type = 'console', view = 'all') AS SELECT k FROM t",
            "there is no view all; there are changes, current, now, finals, history @ 'all'",
        ),
        (
            "CREATE SINK a WITH (type = 'console', veiw = 'now') AS SELECT k FROM t",
            "there is no option veiw; did you mean view? @ veiw",
        ),
        (
            "CREATE SINK a WITH (type = 'console')",
            "nothing goes to the sink a: AS SELECT …, or INSERT INTO @ CREATE SINK",
        ),
        (
            "CREATE SINK t WITH (type = 'console') AS SELECT k FROM u",
            "there is a stream, view or sink t already @ t WITH",
        ),
        (
            "CREATE SINK a WITH (type = 'kafka', servers = 'h:1', topic = 'o', view = 'current') "
            "AS SELECT k FROM t",
            "a sink of type kafka is an event log: its view is one of changes, now, finals, not "
            "current @ 'current'",
        ),
        (
            "CREATE SINK a WITH (type = 'delta', path = 'd', keys = 'k', view = 'finals') AS "
            "SELECT k FROM t",
            "a table with keys has the view current or now, not finals: leave keys out, or take "
            "another view @ 'finals'",
        ),
        (
            "CREATE SINK a WITH (type = 'delta', path = 'd', keys = 'k, q') AS SELECT k FROM t",
            "the key column q is not in the result, which has k @ 'k, q'",
        ),
        (
            "CREATE SINK a WITH (type = 'delta', path = 'd', keys = 'k, K') AS SELECT k FROM t",
            "the key column K is named twice @ 'k, K'",
        ),
        (
            "CREATE SINK a WITH (type = 'sqlite', path = '') AS SELECT k FROM t",
            "path is empty: give it a value, or leave it out @ ''",
        ),
        (
            "CREATE SINK a WITH (type = 'kafka', kafka.client.id = 'me') AS SELECT k FROM t",
            "a name with a dot stands in quotes: 'kafka.…' = '…' @ .client",
        ),
        (
            "CREATE SINK a WITH (type = 'console', rows = 'few') AS SELECT k FROM t",
            "rows is a number, not few @ 'few'",
        ),
        (
            "CREATE OR REPLACE SINK a WITH (type = 'console') AS SELECT k FROM t",
            "OR REPLACE is for streams and views: a sink is named once @ SINK a",
        ),
        (
            "CREATE SINK a (k INT) WITH (type = 'console') AS SELECT k FROM t",
            "the sink a has the columns of its query: leave (…) out @ (k INT)",
        ),
        (
            "CREATE STREAM q (a INT) WITH (format = 'csv')",
            "format is about an input: give its path, too @ 'csv'",
        ),
    ],
)
def test_what_is_refused(statement: str, error: str) -> None:
    assert pointed_at(statement).startswith(error)


def test_python_says_what_is_for_the_command_line() -> None:
    with pytest.raises(PlanError, match="the path of s is for driftline run; here it is run"):
        dl.sql(STREAM + "SELECT k FROM s")
    trades = dl.stream("trades", {"k": "STRING"})
    with pytest.raises(PlanError, match="the sink a is for driftline run"):
        dl.sql("CREATE SINK a WITH (type = 'console') AS SELECT k FROM trades", trades=trades)
