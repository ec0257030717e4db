import sys
from pathlib import Path

import pytest

from tests.cli.run import driftline

SCRIPT = """
CREATE STREAM trades (symbol STRING, qty INT, ts TIMESTAMP) WITH (time = 'ts', disorder = '5s');
CREATE STREAM limits (symbol STRING, most INT) WITH (timestamps = true);
CREATE VIEW totals AS SELECT symbol, sum(qty) AS qty FROM trades [RANGE 5 MINUTES] GROUP BY symbol;
SET emit = eager;
SELECT t.symbol, qty FROM totals t JOIN limits l ON t.symbol = l.symbol AND qty > most;
CREATE STREAM symbols AS SELECT DISTINCT symbol FROM trades;
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "q.sql"
    path.write_text(SCRIPT)
    return path


def test_the_tree(script: Path) -> None:
    ran = driftline("explain", script)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "result: emit eager, block 0, remember inf"
    for said in (
        "keys: t.symbol = l.symbol",
        "keys: symbol",
        "lifetimes: [vs, vs + 5 min)",
        "lifetimes: one for every value the answer has, emitted eager",
        "state: a timeline for every group",
        "the watermark drops: endpoints before it",
        "final: by ctis of the log, or the latest time less 5 s",
        "symbols: emit eager",
        "note: without ctis in the input",
    ):
        assert said in ran.out


def test_on_spark(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM s (k STRING, x INT, t INT) WITH (time = 't');"
        "CREATE VIEW v AS SELECT k, x, count(*) AS n FROM s WHERE x > 0 GROUP BY k, x;"
        "SELECT max(n) AS m FROM v"
    )
    said = driftline("explain", path).out.split("on Spark:\n")[1]
    assert "stage 1: " in said
    assert "exchange: s, by k, x" in said
    assert "natively in Spark if it reads records: select (x > 0)" in said
    assert "stage 2: result" in said
    assert "to one shard" in said


def test_emit_from_the_command_line(script: Path) -> None:
    assert "emit perfect" in driftline("explain", script, "--emit", "perfect").out


def test_graphviz(script: Path) -> None:
    lines = driftline("explain", script, "--dot").out.splitlines()
    assert lines[0] == "digraph driftline {"
    assert lines[-1] == "}"
    assert len([line for line in lines if "source trades" in line]) == 1
    assert len(lines) == len(set(lines))


def test_a_mistake_is_shown_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("SELECT x")
    ran = driftline("explain", path)
    assert ran.code == 2
    assert ran.err.splitlines()[1:] == ["SELECT x", "       ^"]


@pytest.mark.parametrize(
    ("query", "emit", "said"),
    [
        ("SELECT window_end, sum(qty) AS q FROM {} GROUP BY window_end", "ordered", True),
        ("SELECT window_end, sum(qty) AS q FROM {} GROUP BY window_end", "perfect", False),
        ("SELECT DISTINCT window_end, symbol FROM {}", "eager", True),
        (
            "SELECT row_number() OVER (PARTITION BY window_end ORDER BY qty) AS n FROM {}",
            "ordered",
            True,
        ),
        ("SELECT symbol, sum(qty) AS q FROM {} GROUP BY symbol", "ordered", False),
    ],
)
def test_windows_that_a_cti_closes(tmp_path: Path, query: str, emit: str, said: bool) -> None:
    stream = "CREATE STREAM trades (symbol STRING, qty INT, ts TIMESTAMP) WITH (time = 'ts');"
    (tmp_path / "q.sql").write_text(stream + query.format("TUMBLE(trades, INTERVAL 1 MINUTE)"))
    ran = driftline("explain", tmp_path / "q.sql", "--emit", emit)
    assert "windows of 1 min every 1 min" in ran.out
    assert ("groups whose window is over" in ran.out) is said, ran.err


@pytest.mark.parametrize(
    ("how", "dropped"),
    [
        ("JOIN", "; of plain records, those 5 min old on the left and 1 min old on the right\n"),
        (
            "LEFT JOIN",
            "; of plain records, those 6 min old on the left and 6 min old on the right\n",
        ),
    ],
)
def test_for_how_long_a_join_holds_plain_records(tmp_path: Path, how: str, dropped: str) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM s (k INT, ts TIMESTAMP) WITH (time = 'ts', disorder = '5s');"
        f"SELECT a.k FROM s a {how} s b ON a.ts BETWEEN b.ts - INTERVAL 5 MINUTES"
        " AND b.ts + INTERVAL 1 MINUTE"
    )
    assert dropped in driftline("explain", path).out


@pytest.mark.parametrize(
    ("setting", "bounds", "native"),
    [
        ("", "", True),
        ("", ", disorder = '5s'", False),
        ("", ", source = 'k', disorder = 0, skew = '5s'", False),
        ("SET block = '5s';", "", False),
        ("SET remember = '5s';", "", False),
        ("SET remember = 'inf';", "", True),
    ],
)
def test_what_spark_runs_itself(tmp_path: Path, setting: str, bounds: str, native: bool) -> None:
    """It is what the Spark runner asks: nothing may be set aside or held back before it."""
    path = tmp_path / "q.sql"
    path.write_text(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) WITH (time = 'ts'{bounds});"
        f"{setting} SELECT k FROM s WHERE k > 0"
    )
    ran = driftline("explain", path)
    assert ran.code == 0, ran.err
    assert ("natively in Spark" in ran.out) is native


def test_queries_of_different_settings_are_cut_apart(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM s (k INT, t INT) WITH (time = 't');"
        "CREATE STREAM a AS SELECT k FROM s WHERE k > 0;"
        "SET emit = eager; CREATE STREAM b AS SELECT k FROM s WHERE k > 1;"
    )
    out = driftline("explain", path).out
    one, other = out.split("on Spark, ")[1:]
    assert one.startswith("emit ordered, block 0, remember inf:\n  stage 1: a\n")
    assert other.startswith("emit eager, block 0, remember inf:\n  stage 1: b\n")
    assert "natively in Spark if it reads records: select (k > 0)" in one
    assert "natively in Spark if it reads records: select (k > 1)" in other
    together = driftline("explain", path, "--emit", "eager").out
    assert "on Spark:\n" in together


def test_a_setting_that_does_not_fit_the_time_of_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM s (k INT, t INT) WITH (time = 't'); SET block = '5s'; SELECT k FROM s"
    )
    ran = driftline("explain", path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("driftline: block: '5s' is a time span, but the stream's time is a")


def test_a_loop_is_drawn_with_its_edge_back(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM roots (n INT); CREATE STREAM links (a INT, b INT);"
        "WITH RECURSIVE r (root, n) AS (SELECT n, n FROM roots UNION "
        "SELECT r.root, links.b FROM r JOIN links ON r.n = links.a) SELECT * FROM r"
    )
    printed = driftline("explain", path).out
    plan, spark = printed.split("on Spark:\n")
    assert "keys: r.root, which goes around unchanged: on Spark by that" in plan
    for drawn in (plan, spark):
        lines = drawn.splitlines()
        (head,) = [line for line in lines if "r (root, n), a set: ◄─" in line]
        (back,) = [line for line in lines if "back from r ─" in line]
        assert (head[-1], back[-1]) == ("┐", "┘")
        assert len(head) == len(back)
    assert "exchange: links, to every shard" in spark
    assert "exchange: roots, by n" in spark
    edges = driftline("explain", path, "--dot").out
    assert "[style=dashed, constraint=false]" in edges


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ("l.b, l.b FROM r JOIN links l ON r.n = l.a", "r.a is b, which comes from outside"),
        ("r.n, r.a FROM r JOIN links l ON r.n = l.a", "r.a is taken from r.n"),
        ("r.a + 1, l.b FROM r JOIN links l ON r.n = l.a", "r.a becomes (a + 1)"),
        ("p.a, q.n FROM r p JOIN r q ON p.n = q.a", "r.a is not equal in the recursive rows"),
        ("least(p.a, q.n), 1 FROM r p JOIN r q ON p.n = q.a", "r.a becomes least("),
    ],
)
def test_why_a_loop_is_in_one_shard(tmp_path: Path, step: str, reason: str) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM links (a INT, b INT);"
        f"WITH RECURSIVE r (a, n) AS (SELECT a, b FROM links UNION SELECT {step}) SELECT * FROM r"
    )
    printed = driftline("explain", path).out
    assert f"keys: none, so one shard on Spark: {reason}" in printed


def test_long_chains_of_views(tmp_path: Path) -> None:
    views = "".join(
        f"CREATE VIEW v{number} AS SELECT k, x + 1 AS x FROM {f'v{number - 1}' if number else 't'};"
        for number in range(300)
    )
    path = tmp_path / "q.sql"
    path.write_text(
        f"CREATE STREAM t (k INT, x INT); {views} SELECT k, sum(x) FROM v299 GROUP BY k"
    )
    before = sys.getrecursionlimit()
    ran = driftline("explain", path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("project") > 2 * 299
    assert sys.getrecursionlimit() == before
