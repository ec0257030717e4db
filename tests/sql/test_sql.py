import subprocess
import sys

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from tests.sql.declared import T


def test_streams_are_given_or_declared() -> None:
    given = dl.sql("SELECT k, count(*) AS n FROM t GROUP BY k", t=T)
    assert given == T.group_by("k").agg("count(*) AS n")
    declared = "CREATE STREAM t (k STRING, x INT, y BIGINT); SELECT k FROM t"
    assert dl.sql(declared) == T.select("k")


def test_a_query_can_go_on_in_python_and_back() -> None:
    grouped = dl.sql("SELECT k, sum(x) AS s FROM t GROUP BY k", t=T)
    assert dl.sql("SELECT * FROM g WHERE s > 1", g=grouped) == grouped.alias("g").where("s > 1")


def test_it_runs() -> None:
    query = dl.sql("SELECT k, sum(x) AS s FROM t [RANGE 5] GROUP BY k", t=T)
    events = [dl.Insert(1, dl.INFINITY, dl.Row(k="a", x=2, y=0))]
    assert query.run(t=events).history().to_pylist() == [{"vs": 1, "ve": 6, "k": "a", "s": 2}]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "the script has no query"),
        ("SET emit = eager; SELECT k FROM t", "here it is run(…, emit=…)"),
        ("SELECT kk FROM t", "there is no column kk; did you mean k? (line 1, column 8)"),
    ],
)
def test_what_is_refused(script: str, said: str) -> None:
    with pytest.raises(PlanError) as error:
        dl.sql(script, t=T)
    assert said in str(error.value)


def test_it_is_there_whatever_was_imported_before() -> None:
    script = (
        "import driftline.sql.script, driftline as dl;"
        "dl.sql('CREATE STREAM t (k STRING); SELECT k FROM t')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
