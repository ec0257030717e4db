import pytest

from driftline.plan import nodes
from driftline.plan.durations import ticks as ticks_of
from driftline.sql import read_script
from tests.sql.declared import RELATIONS, T, U, pointed_at, refused


def outputs(text: str) -> dict[str, nodes.Node]:
    return {each.name: each.plan for each in read_script(text, RELATIONS).outputs}


def test_a_stream() -> None:
    script = read_script(
        "CREATE STREAM q (`A b` STRING, n DECIMAL(10, 2) COMMENT 'how many', s STRUCT<x: INT>, "
        "ts TIMESTAMP) WITH (time = 'TS', disorder = 5 SECONDS)"
    )
    source = script.streams["q"]
    assert source.columns.names == ("A b", "n", "s", "ts")
    assert (source.time, source.timestamps, source.disorder) == ("ts", True, 5_000_000)
    assert not script.outputs


def test_the_time_of_a_stream() -> None:
    streams = read_script(
        "CREATE STREAM a (x INT); CREATE STREAM b (x INT) WITH (time = x, disorder = 3);"
        "CREATE STREAM c (x INT) WITH (timestamps = true)"
    ).streams
    assert [(each.time, each.timestamps, each.disorder) for each in streams.values()] == [
        (None, False, None),
        ("x", False, 3),
        (None, True, None),
    ]


def test_views_over_views_share_their_plan() -> None:
    script = read_script(
        "CREATE VIEW v AS SELECT k FROM t; CREATE VIEW w (j) AS SELECT * FROM v;"
        "SELECT * FROM v JOIN w ON k = j",
        RELATIONS,
    )
    views = [node for node in script.outputs[0].plan.walk() if isinstance(node, nodes.Source)]
    assert len(views) == 1


def test_names_of_outputs() -> None:
    text = (
        "CREATE STREAM a AS SELECT k FROM t; INSERT INTO b SELECT k FROM a;"
        "INSERT INTO b SELECT k FROM u; SELECT * FROM b; SELECT k FROM u"
    )
    made = outputs(text)
    assert list(made) == ["a", "b", "result", "result_2"]
    assert made["b"] == T.select("k").alias("a").select("k").union(U.select("k")).plan
    assert made["result"] == nodes.Alias(made["b"], "b")


def test_a_declared_sink_gives_names_and_types() -> None:
    made = outputs(
        "CREATE STREAM s (a STRING, n BIGINT); INSERT INTO s SELECT k, x FROM t;"
        "SELECT sum(n) AS m FROM s"
    )
    assert made["s"] == T.select("k", "x").select("k AS a", "CAST(x AS BIGINT) AS n").plan
    assert "as s" in made["result"].tree()
    named = outputs("CREATE STREAM s (a STRING, n INT); INSERT INTO s (n, a) SELECT x, k FROM t")
    assert named["s"].schema.names == ("a", "n")


def test_ctes_before_and_after_insert() -> None:
    before = "WITH a AS (SELECT k FROM t) INSERT INTO o SELECT * FROM a"
    after = "INSERT INTO o WITH a AS (SELECT k FROM t) SELECT * FROM a"
    assert outputs(before) == outputs(after)
    same = "WITH o AS (SELECT k FROM t) INSERT INTO o SELECT * FROM o"
    assert list(outputs(same)) == ["o"]


def test_settings_hold_for_what_follows() -> None:
    script = read_script(
        "SELECT k FROM t; SET emit = 'eager'; SET block = 2 SECONDS; CREATE STREAM a AS SELECT k "
        "FROM t; SET emit = PERFECT; SET remember = inf; SELECT x FROM t",
        RELATIONS,
    )
    assert [dict(each.settings) for each in script.outputs] == [
        {},
        {"emit": "eager", "block": "2 SECONDS"},
        {"emit": "perfect", "block": "2 SECONDS", "remember": "inf"},
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CREATE TABLE s (t TIMESTAMP, x INT, WATERMARK FOR t AS t - INTERVAL '5' SECOND)",
         "CREATE STREAM s (t TIMESTAMP, x INT) WITH (time = 't', disorder = '5s')"),
        ("CREATE SOURCE s (x INT, `t` TIMESTAMP(6), WATERMARK FOR `t` AS `t`)",
         "CREATE STREAM s (x INT, t TIMESTAMP) WITH (time = 't', disorder = 0)"),
        ("CREATE TABLE s (t TIMESTAMP LATENESS INTERVAL 1 HOUR, x INT) WITH (source = 'x')",
         "CREATE STREAM s (t TIMESTAMP, x INT) WITH (time = 't', disorder = '1h', source = 'x')"),
        ("CREATE TABLE s (r ROW<a INT, b ARRAY<ROW<c VARBINARY>>>)",
         "CREATE STREAM s (r STRUCT<a: INT, b: ARRAY<STRUCT<c: BINARY>>>)"),
    ],
)  # fmt: skip
def test_streams_as_other_engines_declare_them(one: str, other: str) -> None:
    assert read_script(one).streams == read_script(other).streams


def test_what_is_emitted_as_other_engines_write_it() -> None:
    script = read_script(
        "CREATE MATERIALIZED VIEW v (k) EMIT ON WINDOW CLOSE AS SELECT k FROM t; "
        "SELECT k FROM t WHERE x = 1 EMIT CHANGES; INSERT INTO o SELECT k FROM v EMIT FINAL; "
        "CREATE LOCAL VIEW w AS SELECT k FROM t; CREATE TABLE z AS SELECT k FROM w EMIT CHANGES",
        RELATIONS,
    )
    assert {each.name: dict(each.settings) for each in script.outputs} == {
        "v": {"final": "true"},
        "result": {},
        "o": {"final": "true"},
        "z": {},
    }


def test_order_without_limit_is_remarked_on() -> None:
    [note] = read_script("SELECT k\nFROM t ORDER BY k", RELATIONS).notes
    assert note.startswith("line 2, column 8: ORDER BY without LIMIT has no effect")
    for first in ("k FROM t ORDER BY x LIMIT 1 BY k", "DISTINCT ON (k) k FROM t ORDER BY k, x"):
        assert read_script(f"SELECT {first}", RELATIONS).notes == ()


def test_duplicate_columns_of_a_join_have_their_tables_before_them() -> None:
    [made] = outputs("SELECT * FROM t JOIN u ON t.k = u.k").values()
    assert made.schema.names == ("t.k", "x", "y", "u.k", "z")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CREATE STREAM t (a INT)", "there is a stream or view t already @ t ("),
        ("CREATE VIEW U AS SELECT k FROM t", "there is a stream or view U already @ U"),
        ("CREATE STREAM q (a INT, A INT)", "there are two columns A @ A INT"),
        ("CREATE STREAM q (a INT) WITH (time = 'b')", "time column b does not exist @ 'b'"),
        ("CREATE STREAM q (a STRING) WITH (time = 'a')", "the time a is a STRING @ 'a'"),
        ("CREATE STREAM q (a INT) WITH (speed = 1)", "there is no option speed @ speed"),
        ("CREATE TABLE q (a INT) WITH ('connector' = 'x')", "is read from a path @ 'connector'"),
        ("CREATE TABLE q (a INT LATENESS 5, b INT LATENESS 5)", "time is given twice @ LATENESS"),
        ("CREATE VIEW v AS SELECT k FROM t EMIT FINAL", "and not for a view @ CREATE"),
        ("INSERT INTO o SELECT k FROM t; INSERT INTO o SELECT k FROM u EMIT FINAL",
         "the first INSERT INTO o says how it is emitted @ INSERT INTO o SELECT k FROM u"),
        ("CREATE STREAM q (a INT) WITH (skew = 1)", "skew says nothing without disorder @ 1"),
        ("CREATE STREAM q (a INT) WITH (disorder = '5s')", "a plain number @ '5s'"),
        ("CREATE STREAM q (a INT) WITH (disorder = 1, disorder = 2)", "given twice @ disorder = 2"),
        ("CREATE STREAM q WITH (time = 'a') AS SELECT k FROM t", "takes no WITH @ CREATE"),
        ("CREATE VIEW v (a, b) AS SELECT k FROM t", "there are 2 names for 1 columns @ a, b"),
        ("CREATE STREAM s (a INT); INSERT INTO s SELECT k, z FROM u",
         "s has 1 columns, the query 2 @ INSERT"),
        ("CREATE STREAM s (a INT); SELECT a FROM s; INSERT INTO s SELECT z FROM u",
         "s is read before INSERT INTO fills it @ INSERT"),
        ("CREATE VIEW v AS SELECT k FROM t; INSERT INTO v SELECT k FROM t", "is a view @ v SELECT"),
        ("CREATE STREAM s (a ARRAY<INT>); INSERT INTO s SELECT z FROM u",
         "a is a ARRAY<INT>, and the query gives a INT @ INSERT"),
        ("CREATE STREAM result AS SELECT k FROM t; SELECT k FROM t",
         "two queries have the name result @ SELECT k FROM t"),
        ("INSERT INTO o SELECT k FROM t; INSERT INTO o SELECT symbol FROM trades",
         "one side has integer time @ SELECT symbol"),
        ("INSERT INTO o SELECT k FROM t; INSERT INTO o SELECT z FROM u", "of other types @ INSERT"),
        ("INSERT INTO o SELECT k FROM t; INSERT INTO o SELECT k, z FROM u", "columns already @ IN"),
        ("SET speed = 1", "there is no setting speed @ speed"),
        ("SET emit = fast", "emit is perfect, ordered or eager, not 'fast' @ fast"),
        ("SET remember = 5 parsecs", "is not a duration @ 5 parsecs"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole


def test_disorder_of_timestamps_has_a_unit() -> None:
    stream = "CREATE STREAM s (t {}) WITH (time = 't', disorder = {});\nSELECT * FROM s"
    assert refused(stream.format("TIMESTAMP", 5)).message.startswith("5 has no unit")
    for kind, disorder in (("TIMESTAMP", 0), ("TIMESTAMP", "'5s'"), ("INT", 5)):
        read_script(stream.format(kind, disorder))


@pytest.mark.parametrize(
    ("option", "ticks"),
    [
        ("disorder = 5s", 5_000_000),
        ("'disorder' = '5s'", 5_000_000),
        ("`disorder` = 1d", 86_400_000_000),
        ("disorder = INTERVAL 5 SECONDS", 5_000_000),
        ("disorder = INTERVAL '5' SECOND", 5_000_000),
        ("DISORDER = 1h 30m", 5_400_000_000),
    ],
)
def test_spellings_of_an_option(option: str, ticks: int) -> None:
    script = read_script(f"CREATE STREAM s (t TIMESTAMP) WITH ('time' = 't', {option})")
    assert script.streams["s"].disorder == ticks


@pytest.mark.parametrize("said", ["5s", "'5s'", "5 SECONDS", "INTERVAL 5 SECONDS"])
def test_spellings_of_a_setting(said: str) -> None:
    script = read_script(f"SET block = {said}; SELECT k FROM t", RELATIONS)
    assert ticks_of(script.outputs[0].settings["block"], timestamps=True) == 5_000_000


def test_a_negative_duration() -> None:
    refusal = refused("CREATE STREAM s (t INT) WITH (time = 't', disorder = -1)").message
    assert refusal == "a duration cannot be negative, as '-1' is"


def test_a_query_cannot_fill_what_it_reads() -> None:
    text = "CREATE STREAM s (x INT);\nINSERT INTO s SELECT * FROM s"
    assert refused(text).message == "the query reads s, which is what it fills: name another"


def test_what_exists_already_stays() -> None:
    script = read_script(
        "CREATE TABLE IF NOT EXISTS t (k STRING); CREATE TABLE IF NOT EXISTS t (other INT); "
        "CREATE VIEW IF NOT EXISTS t AS SELECT nothing FROM nowhere; SELECT k FROM t;"
    )
    assert script.outputs[0].plan.schema.names == ("k",)
