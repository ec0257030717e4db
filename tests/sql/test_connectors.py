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
