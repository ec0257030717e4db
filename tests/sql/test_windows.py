import pytest

from driftline.plan import nodes
from driftline.plan.finals import only_final
from tests.sql.declared import TRADES, T, U, plan, pointed_at

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("bracket", "window"),
    [
        ("[RANGE 5]", nodes.Window(T.plan, "sliding", 5)),
        ("[range 5 slide 2]", nodes.Window(T.plan, "hopping", 5, 2)),
        ("[NOW]", nodes.Window(T.plan, "now")),
        ("[UNBOUNDED]", nodes.Window(T.plan, "unbounded")),
        ("[RANGE INF]", T.window(range="inf").plan),
        ("[FROM ve FOR 1]", T.window(start="ve", duration=1).plan),
        (
            "[FROM vs + 2 FOR 2 * (ve - vs)]",
            T.window(start="vs + 2", duration="2 * (ve - vs)").plan,
        ),
        ("[SESSION 5]", T.session(5).plan),
        ("[STITCH]", T.stitch().plan),
        ("[session 5 max 9 per k, x + 1]", T.session(5, at_most=9, per=["k", "x + 1"]).plan),
        ("[RANGE 5] [FROM ve FOR 1]", T.window(range=5).window(start="ve", duration=1).plan),
    ],
)
def test_brackets(bracket: str, window: nodes.Node) -> None:
    assert plan(f"SELECT * FROM t {bracket}") == window
    assert plan(f"SELECT * FROM t {bracket} AS a") == nodes.Alias(window, "a")
    assert plan(f"SELECT * FROM t AS a {bracket}") == nodes.Alias(window, "a")


def test_until() -> None:
    cut = T.until(U, "t.k = u.k AND u.z > 1").plan
    assert plan("SELECT * FROM t [UNTIL u ON t.k = u.k AND u.z > 1]") == cut
    named = T.alias("a").until(U.alias("b"), "a.k = b.k").plan
    made = plan("SELECT * FROM t AS a [UNTIL u AS b ON a.k = b.k]")
    assert [each.label() for each in made.walk()][1:] == [each.label() for each in named.walk()]


@pytest.mark.parametrize(
    ("written", "per"),
    [
        ("SESSION(t, 5)", []),
        ("SESSION(TABLE t PARTITION BY k, GAP => 5)", ["k"]),
        ("SESSION(TABLE t PARTITION BY (k, x), 5)", ["k", "x"]),
        ("SESSION(TABLE t PARTITION BY k, x, 5)", ["k", "x"]),
    ],
)
def test_sessions_as_columns(written: str, per: list[str]) -> None:
    assert plan(f"SELECT * FROM {written}") == T.session(5, per=per, columns=True).plan


def test_sessions_go_by_the_time_of_the_stream() -> None:
    columns = TRADES.session("5s", per="symbol", columns=True).plan
    table = "TABLE trades PARTITION BY symbol, DESCRIPTOR(ts), INTERVAL 5 SECONDS"
    assert plan(f"SELECT * FROM SESSION({table})") == columns


OVER_WINDOWS = {
    "window(ts, '10 seconds'), symbol": "TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL 10 SECONDS)",
    "symbol, window(ts, INTERVAL 10 SECONDS, '5 seconds')": (
        "HOP(TABLE trades, DESCRIPTOR(ts), INTERVAL 5 SECONDS, INTERVAL 10 SECONDS)"
    ),
    "session_window(ts, '5 seconds'), symbol": (
        "SESSION(TABLE trades PARTITION BY symbol, DESCRIPTOR(ts), INTERVAL 5 SECONDS)"
    ),
}


@pytest.mark.parametrize("keys", OVER_WINDOWS)
def test_windows_as_spark_writes_them(keys: str) -> None:
    window = "session_window" if "session" in keys else "window"
    ours = f"SELECT symbol, window_start AS start, sum(qty) AS q FROM {OVER_WINDOWS[keys]}"
    first = keys.startswith("symbol")
    order = "symbol, window_start, window_end" if first else "window_start, window_end, symbol"
    theirs = f"SELECT symbol, {window}.start, sum(qty) AS q FROM trades GROUP BY {keys}"
    assert plan(theirs) == plan(f"{ours} GROUP BY {order}")


def test_a_window_has_a_start_and_an_end() -> None:
    made = plan("SELECT window, count(*) AS n FROM trades GROUP BY window(ts, '5 seconds')")
    assert made.schema.names == ("window", "n")
    assert [each.name for each in made.schema.fields[0].type] == ["start", "end"]
    by_name = "SELECT window(ts, '5 seconds') AS w, count(*) AS n FROM trades GROUP BY "
    for keys in ("w", "1", "ALL", "window(ts, '5 seconds')", "w HAVING w.start < w.end"):
        grouped = next(
            each for each in plan(by_name + keys).walk() if isinstance(each, nodes.Aggregate)
        )
        assert [each.name for each in grouped.keys] == ["window_start", "window_end"]
    others = plan("SELECT *, window(ts, '5 seconds').end FROM trades")
    assert others.schema.names == (*TRADES.schema.names, "end")


@pytest.mark.parametrize(
    ("query", "by"),
    [
        ("SELECT window, sum(qty) AS q FROM trades GROUP BY window(ts, '5 s')", "$end 0"),
        ("SELECT session_window, sum(qty) AS q FROM trades GROUP BY session_window(ts, '5 s')",
         "$end 0 + 1 µs"),
        ("SELECT window(window, '10 s').end AS e, sum(q) AS q FROM (SELECT window, sum(qty) AS q "
         "FROM trades GROUP BY window(ts, '5 s')) AS s GROUP BY window(window, '10 s')",
         "e + 1 µs"),
    ],
)  # fmt: skip
def test_answers_about_windows_are_final_when_these_are_over(query: str, by: str) -> None:
    made = plan(query)
    final = only_final(made, {"trades"})
    labels = [each.label() for each in final.walk() if isinstance(each, nodes.Final)]
    assert labels == [f"final by {by}"]
    assert final.schema.names == made.schema.names


def test_windows_by_a_column_that_is_none_are_found_among_the_rows() -> None:
    """A column called window is that column."""
    made = plan(
        "SELECT window, count(*) AS n FROM (SELECT qty AS window, ts FROM trades) "
        "GROUP BY window, window(ts, '5 seconds')"
    )
    assert made.schema.fields[0].type == "int32"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT window.middle FROM trades GROUP BY window(ts, '1 minute')",
         "window has the fields start and end, and no middle @ window.middle"),
        ("SELECT window(ts, '1 minute'), window(ts, '2 minutes') FROM trades",
         "one window(…) or session_window(…) in a SELECT: use a subquery @ window(ts, '2"),
        ("SELECT qty FROM trades WHERE window(ts, '1 minute').start > ts",
         "window(…) has its place in GROUP BY and the select list of a query @ window(ts"),
        ("SELECT session_window(ts, '1 minute') FROM trades",
         "session_window(…) goes with GROUP BY @ session_window"),
        ("SELECT window(ts) FROM trades", "window takes a time and 1 to 3 durations @ window(ts)"),
        ("SELECT window(price, '1 minute') FROM trades",
         "window goes by a TIMESTAMP, which price is not: it is a DOUBLE @ price"),
        ("SELECT window(ts, '5 minutes', '10 minutes') FROM trades",
         "the slide of window(…) is at most its size @ '10 minutes'"),
        ("SELECT window(ts, '1 month') FROM trades", "'1 month' is not a duration @ '1 month'"),
        ("SELECT count(*) FROM trades GROUP BY ROLLUP (session_window(ts, '1 second'))",
         "session_window(…) goes with plain keys, and not with grouping sets @ session_window"),
        ("SELECT count(*) FROM TUMBLE(trades, 5 SECONDS) GROUP BY window(ts, '1 second')",
         "window(…) needs the name window_start, and there is such a column @ window(ts"),
    ],
)  # fmt: skip
def test_windows_as_spark_writes_them_that_are_refused(text: str, said: str) -> None:
    what, _, place = said.partition(" @ ")
    message, _, pointed = pointed_at(text).partition(" @ ")
    assert message.startswith(what)
    assert pointed.startswith(place)


@pytest.mark.parametrize(
    ("written", "ticks"),
    [
        ("5 MINUTES", 5 * MINUTE),
        ("1 MINUTE 30 SECONDS", MINUTE * 3 // 2),
        ("'250ms'", 250_000),
        ("INTERVAL 2 MINUTES", 2 * MINUTE),
        ("INTERVAL '2' MINUTE", 2 * MINUTE),
        ("7 MICROSECONDS", 7),
        ("5s", 5_000_000),  # no SMALLINT
        ("1D", 1440 * MINUTE),  # no DOUBLE
        ("1.5s", 1_500_000),
        ("1h30m", 90 * MINUTE),
    ],
)
def test_durations(written: str, ticks: int) -> None:
    assert plan(f"SELECT * FROM trades [RANGE {written}]") == nodes.Window(
        TRADES.plan, "sliding", ticks
    )


def test_intervals_in_a_general_window() -> None:
    assert (
        plan("SELECT * FROM trades [FROM vs + INTERVAL 5 SECONDS FOR 2 MINUTES]")
        == TRADES.window(start="vs + 5000000", duration="2 minutes").plan
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vs + 30 MINUTES FOR 1 HOUR", ("vs + 1800000000", "1 hour")),
        ("vs - 1 HOUR 30 MINUTES FOR ve - vs", ("vs - 5400000000", "ve - vs")),
        ("vs + 5s FOR 2 * 10 MINUTES", ("vs + 5000000", "2 * 600000000")),
        ("vs + 1.5s FOR 3d", ("vs + 1500000", "3 days")),
    ],
)
def test_spoken_durations_in_a_general_window(written: str, meant: tuple[str, str]) -> None:
    start, duration = meant
    window = TRADES.window(start=start, duration=duration)
    assert plan(f"SELECT * FROM trades [FROM {written}]").label() == window.plan.label()


def test_a_window_after_a_subquery_a_view_and_a_join() -> None:
    assert (
        plan("SELECT * FROM (SELECT k FROM t) [RANGE 5] AS s")
        == T.select("k").window(range=5).alias("s").plan
    )
    view = "CREATE VIEW v AS SELECT k FROM t;"
    assert (
        plan(f"{view} SELECT * FROM v [RANGE 5]") == T.select("k").alias("v").window(range=5).plan
    )
    joined = plan("SELECT * FROM (t JOIN u ON t.k = u.k) [RANGE 5]")
    assert isinstance(joined, nodes.Window)


@pytest.mark.parametrize(
    ("table", "query"),
    [
        ("TUMBLE(t, 10)", T.tumble(10)),
        ("HOP(t, 5, 10)", T.hop(5, 10)),
        ("TUMBLE(TABLE t, DESCRIPTOR(y), 10)", T.tumble(10, time="y")),
        ("TUMBLE(trades, INTERVAL 10 SECONDS)", TRADES.tumble("10s")),
        ("HOP(TABLE trades, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
         TRADES.hop("5s", "10s", time="ts")),
        ("TUMBLE(DATA => TABLE trades, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' SECOND)",
         TRADES.tumble("10s", time="ts")),
        ("HOP(DATA => TABLE t, SIZE => 10, SLIDE => 5)", T.hop(5, 10)),
        ("TUMBLE(t [RANGE 3], 10)", T.window(range=3).tumble(10)),
        ("TUMBLE((SELECT k FROM t), 10)", T.select("k").tumble(10)),
    ],
)  # fmt: skip
def test_windows_as_columns(table: str, query: object) -> None:
    assert plan(f"SELECT * FROM {table}") == query.plan  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT k FROM t [RANGE 5 MINUTES]", "the stream's time is a plain number @ 5 MINUTES"),
        ("SELECT qty FROM trades [RANGE 5 PARSECS]", "is not a duration such as @ 5 PARSECS"),
        ("SELECT k FROM t [RANGE 0]", "lasts at least one tick @ 0]"),
        ("SELECT k FROM t [RANGE 0 SLIDE 5]", "lasts at least one tick @ 0 SLIDE"),
        ("SELECT k FROM t [FROM vs FOR 0]", "lasts at least one tick @ 0]"),
        ("SELECT k FROM t [FROM vs FOR -1]", "lasts at least one tick @ -1]"),
        ("SELECT k FROM t [RANGE -5]", "a duration cannot be negative @ -5]"),
        ("SELECT k FROM t [RANGE 5 SLIDE 0]", "a slide of at least one tick @ 0]"),
        ("SELECT k FROM t [RANGE x]", "a duration must be a constant @ x]"),
        ("SELECT k FROM t [FROM foo FOR 2]", "there is no column foo; there are vs, ve @ foo"),
        ("SELECT k FROM t [FROM vs / 2 FOR 2]", "a whole number of ticks @ vs / 2"),
        ("SELECT qty FROM trades [RANGE INTERVAL 1 MONTH]", "say it in days @ INTERVAL"),
        ("SELECT k FROM TUMBLE(t)", "TUMBLE takes a table and a size @ TUMBLE"),
        ("SELECT k FROM HOP(t, 5)", "HOP takes a table and a slide and a size @ HOP"),
        ("SELECT k FROM HOP(TABLE t, SIZE => 5)", "HOP takes a table and a slide and a size @ HOP"),
        (
            "SELECT k FROM HOP(TABLE t, SIZE => 5, OFFSET => 1)",
            "HOP takes SLIDE, SIZE, OFFSET @ )",
        ),
        ("SELECT k FROM TUMBLE(t, 0)", "at least one tick @ 0)"),
        ("SELECT k FROM TUMBLE(TABLE t, DESCRIPTOR(k), 10)", "which k is not @ k), 10)"),
        ("SELECT k FROM TUMBLE(TABLE t, DESCRIPTOR(5), 10)", "a column is expected @ 5), 10)"),
        ("SELECT k FROM TUMBLE(TUMBLE(t, 5), 5)", "there is one already @ TUMBLE(TUMBLE"),
        (
            "SELECT * FROM t [UNTIL t AS y ON t.k = y.k] AS m",
            "there is no column t.k; did you mean y.k or m.k? @ t.k =",
        ),
        ("SELECT * FROM t PIVOT (sum(x) FOR k IN ())", "IN of PIVOT has no values @ k IN"),
        (
            "SELECT k FROM t WHERE x > ALL (SELECT k, x FROM t)",
            "with one column, not 2 @ SELECT k, x",
        ),
    ],
)
def test_what_is_refused_and_where(text: str, said: str) -> None:
    message, place = said.split(" @ ")
    whole = pointed_at(text)
    assert message in whole
    assert f" @ {place}" in whole


@pytest.mark.parametrize(
    "table",
    [
        "trades [RANGE 5]",
        "trades [RANGE 5L]",
        "trades [RANGE 5 MINUTES SLIDE 30]",
        "TUMBLE(trades, 5)",
    ],
)
def test_a_number_is_no_duration_of_a_timestamp_stream(table: str) -> None:
    assert "has no unit: write" in pointed_at(f"SELECT symbol FROM {table}")
