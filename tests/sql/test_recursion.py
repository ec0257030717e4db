from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.expressions.errors import EvaluationError
from driftline.sql import SqlError

STREAMS = """
CREATE STREAM links (a BIGINT, b BIGINT, cost BIGINT);
CREATE STREAM roots (n BIGINT);
"""
#   3→1   2───────────8      1→2      3──────────────10     2→3    4───────9      root 3  1────6
LINKS = [
    dl.Insert(2, 8, dl.Row(a=3, b=1, cost=1)),
    dl.Insert(3, 10, dl.Row(a=1, b=2, cost=5)),
    dl.Insert(4, 9, dl.Row(a=2, b=3, cost=1)),
]
ROOTS = [dl.Insert(1, 6, dl.Row(n=3))]
REACH = "r (n) AS (SELECT n FROM roots UNION SELECT b FROM r JOIN links ON n = a)"
REACHED = [(1, 6, 3), (2, 6, 1), (3, 6, 2)]


def answer(query: str) -> list[tuple[object, ...]]:
    result = dl.sql(STREAMS + query).run(roots=ROOTS, links=LINKS)
    return sorted(tuple(row.values()) for row in result.history().to_pylist())


def test_reachability() -> None:
    assert answer(f"WITH RECURSIVE {REACH} SELECT n FROM r") == REACHED


def test_python_gives_the_same_plan_as_sql() -> None:
    links = dl.stream("links", {"a": "BIGINT", "b": "BIGINT", "cost": "BIGINT"})
    roots = dl.stream("roots", {"n": "BIGINT"})
    reach = dl.recursive(
        "r", {"n": "BIGINT"}, roots.select("n"), lambda r: r.join(links, "n = a").select("b")
    )
    assert dl.sql(f"{STREAMS} WITH RECURSIVE {REACH} SELECT n FROM r").plan == (
        reach.alias("r").select("n").plan
    )


def test_names_that_use_each_other_in_any_order() -> None:
    query = """
    WITH RECURSIVE
        even (n) AS (SELECT n FROM roots UNION SELECT b FROM odd, links WHERE odd.n = a),
        odd (n) AS (SELECT b FROM even JOIN links ON even.n = a)
    SELECT 'even' AS w, n FROM even UNION ALL SELECT 'odd', n FROM odd"""
    assert answer(query) == [
        (1, 6, "even", 3), (2, 6, "odd", 1), (3, 6, "even", 2),
        (4, 6, "even", 1), (4, 6, "odd", 2), (4, 6, "odd", 3),
    ]  # fmt: skip


def test_as_materialize_writes_it() -> None:
    """Every name of a WITH RECURSIVE may use every other; the types are those of the columns."""
    typed = REACH.replace("(n)", "(n INT)", 1)
    both = f"WITH MUTUALLY RECURSIVE {typed}, s (m BIGINT) AS (SELECT n FROM r) SELECT m FROM s"
    assert answer(both) == REACHED
    assert answer(f"CREATE VIEW v AS {both}; {both}") == REACHED


def test_a_loop_in_a_view_read_by_another_loop_and_by_a_subquery() -> None:
    query = f"""
    CREATE VIEW reached AS WITH RECURSIVE {REACH} SELECT n FROM r;
    WITH RECURSIVE back AS (
        SELECT n FROM reached WHERE n <> 3 UNION SELECT a FROM back JOIN links ON back.n = b)
    SELECT n FROM back WHERE n IN (SELECT n FROM reached)"""
    assert answer(query) == [(2, 6, 1), (2, 6, 3), (3, 6, 2)]


def test_types_become_those_that_hold_all_branches() -> None:
    query = """
    WITH RECURSIVE r AS (
        SELECT n, 0 AS d FROM roots UNION
        SELECT b, d + cost FROM r JOIN links ON n = a WHERE d < 5)
    SELECT n, d FROM r"""
    assert answer(query) == [(1, 6, 3, 0), (2, 6, 1, 1), (3, 6, 2, 6)]


def test_several_branches_and_a_condition_about_what_comes_from_outside() -> None:
    query = """
    WITH RECURSIVE r AS (
        SELECT n FROM roots
        UNION SELECT b FROM r JOIN links ON n = a WHERE b NOT IN (SELECT n + 1 FROM roots)
        UNION SELECT n + 10 FROM r WHERE n < 10)
    SELECT n FROM r"""
    assert answer(query) == [
        (1, 6, 3), (1, 6, 13), (2, 6, 1), (2, 6, 11), (3, 6, 2), (3, 6, 12)
    ]  # fmt: skip


def test_union_all_over_a_circle_is_stopped() -> None:
    query = """
    WITH RECURSIVE r (n) MAX RECURSION LEVEL 7 AS (
        SELECT n FROM roots UNION ALL SELECT b FROM r JOIN links ON n = a)
    SELECT n FROM r"""
    with pytest.raises(EvaluationError, match="r goes on after level 7.* MAX RECURSION LEVEL"):
        answer(query)
    without_a_limit = query.replace("MAX RECURSION LEVEL 7", "")
    problem = "r has no end: level 67 has the rows of level 64, .* UNION drops such repetitions"
    with pytest.raises(EvaluationError, match=problem):
        answer(without_a_limit)


def test_a_deep_recursion_that_ends_is_no_circle() -> None:
    query = """
    WITH RECURSIVE r (n) AS (
        SELECT n FROM roots UNION ALL SELECT n + 1 FROM r WHERE n < 300)
    SELECT max(n) AS deepest FROM r, links"""
    assert {row[-1] for row in answer(query)} == {300}


@pytest.mark.parametrize(
    ("step", "problem", "place"),
    [
        ("SELECT b FROM links LEFT JOIN r ON n = a", "an outer join cannot ask", "r ON"),
        ("SELECT sum(b) FROM links JOIN r ON n = a", "sum of a recursive name", "b)"),
        ("SELECT max(b) FROM links JOIN r ON n = a", "(n = a).* may hold in one", "r ON"),
        ("SELECT b FROM links JOIN r [RANGE 3] ON n = a", "a window cannot be inside", "r ["),
        ("SELECT b FROM links WHERE a NOT IN (SELECT n FROM r)", "NOT IN or NOT EXISTS", ""),
        ("SELECT b FROM links WHERE a IN (SELECT n FROM r)", "IN or EXISTS.*write a join", ""),
        ("SELECT n FROM links JOIN (SELECT n FROM r EXCEPT SELECT 1) ON n = a", "EXCEPT", ""),
        ("SELECT lag(n) OVER (ORDER BY n) FROM r", "a window function of a recursive name", ""),
    ],
)
def test_what_cannot_go_round_is_refused_with_its_place(
    step: str, problem: str, place: str
) -> None:
    start = "WITH RECURSIVE r AS (SELECT n FROM roots UNION "
    with pytest.raises(SqlError, match=problem) as refused:
        dl.sql(f"{STREAMS}{start}{step}) SELECT * FROM r")
    if place:
        written = refused.value.text.splitlines()[-1][refused.value.column - 1 :]
        assert place in written[:16], written


SHORTEST = """
WITH RECURSIVE d (n, c) AS (
    SELECT n, min(c) FROM (
        SELECT n, 0 AS c FROM roots
        UNION ALL SELECT b, c + cost FROM d JOIN links ON n = a) GROUP BY n)
SELECT n, c FROM d"""


def test_shortest_distances() -> None:
    assert answer(SHORTEST) == [(1, 6, 3, 0), (2, 6, 1, 1), (3, 6, 2, 6)]
    of_each_step = """
    WITH RECURSIVE d (n, c) AS (
        SELECT n, 0 FROM roots
        UNION SELECT b, min(c + cost) FROM d JOIN links ON n = a GROUP BY b)
    SELECT n, min(c) FROM d GROUP BY n"""
    assert answer(of_each_step) == answer(SHORTEST)


def test_python_has_min_in_a_loop_too() -> None:
    links = dl.stream("links", {"a": "BIGINT", "b": "BIGINT", "cost": "BIGINT"})
    roots = dl.stream("roots", {"n": "BIGINT"})
    base = roots.select("n", "CAST(0 AS BIGINT) AS c")
    distances = dl.recursive_together(
        {
            "d": (
                {"n": "BIGINT", "c": "BIGINT"},
                lambda names: (
                    base.union(names["d"].join(links, "n = a").select("b AS n", "c + cost AS c"))
                    .group_by("n")
                    .agg("min(c) AS c")
                ),
            )
        }
    )["d"]
    found = distances.run(roots=ROOTS, links=LINKS).history().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == answer(SHORTEST)


def test_a_circle_of_negative_cost_is_stopped() -> None:
    cheaper = SHORTEST.replace("c + cost", "c - cost").replace(
        "(n, c)", "(n, c) MAX RECURSION LEVEL 9"
    )
    with pytest.raises(EvaluationError, match="d goes on after level 9.* better for ever"):
        answer(cheaper)


@pytest.mark.parametrize(
    ("written", "problem", "place"),
    [
        ("b, min(cost - c) {} GROUP BY b", "is of a value that rises", "cost - c"),
        ("b, min(c * cost) {} GROUP BY b", "need not get better", "c * cost"),
        ("b, min(c % 3) {} GROUP BY b", "need not get better", "c % 3"),
        ("b, min(coalesce(c, 0)) {} GROUP BY b", "need not get better", "coalesce"),
        ("b, min(c) {} WHERE c > 3 GROUP BY b", "may hold in one round", "c > 3"),
        ("b, min(c) {} GROUP BY b HAVING min(c) = 3", r"\(min\(c\) = 3\) inside", "min(c) = 3"),
        ("b, min(c), count(*) {} GROUP BY b", "count of a recursive name", "count(*)"),
        ("b, min(c) FILTER (WHERE c > 3) {} GROUP BY b", "may hold in one round", ""),
        ("c, min(b) {} GROUP BY c", "GROUP BY cannot go by c", ""),
        ("b, min(c) {} AND c = cost GROUP BY b", "may hold in one round", "links"),
        ("b, c + cost {} UNION SELECT n, min(c) FROM d GROUP BY n", "goes round without", ""),
        ("b, min(c) {} GROUP BY b UNION SELECT b, max(cost) {} GROUP BY b", "a min and a max", ""),
    ],
)
def test_what_does_not_get_better_with_a_min_is_refused(
    written: str, problem: str, place: str
) -> None:
    step = written.format(*["FROM d JOIN links ON n = a"] * 2)
    columns = "n, 0 AS c, 0 AS k" if "count" in step else "n, 0 AS c"
    with pytest.raises(SqlError, match=problem) as refused:
        dl.sql(
            f"{STREAMS}WITH RECURSIVE d AS (SELECT {columns} FROM roots UNION SELECT {step}) "
            "SELECT * FROM d"
        )
    written_there = refused.value.text.splitlines()[-1][refused.value.column - 1 :]
    assert place in written_there[:32], written_there


@pytest.mark.parametrize(
    "written",
    [
        "b, min(2 * c + abs(cost)) {} WHERE NOT c >= 9 GROUP BY b HAVING min(c) < 9",
        "b, min(CASE WHEN cost > 1 THEN c ELSE c - -1 END) {} AND cost > c GROUP BY b",
        "b, CAST(min(floor(c / 2)) AS INT) {} WHERE c IS NOT NULL OR cost = 1 GROUP BY b",
        "b, min(c) FILTER (WHERE c < 7) {} GROUP BY b",
        "x.n, x.c FROM (SELECT b AS n, min(c) AS c {} GROUP BY b) x LEFT JOIN roots r ON r.n = x.n",
    ],
)
def test_what_gets_better_with_a_min_runs(written: str) -> None:
    step = written.format("FROM d JOIN links ON n = a")
    assert answer(
        f"WITH RECURSIVE d AS (SELECT n, 0 AS c FROM roots UNION SELECT {step}) SELECT n FROM d"
    )


def test_columns_are_those_of_the_first_branch_wherever_the_step_stands() -> None:
    between = SHORTEST.replace(") GROUP BY", " UNION ALL SELECT n, 7 FROM roots) GROUP BY")
    assert answer(between) == answer(SHORTEST)
    step_first = """
    WITH RECURSIVE d (n, c) AS (
        SELECT n, min(c) FROM (
            SELECT b AS n, c + cost AS c FROM d JOIN links ON n = a
            UNION ALL SELECT roots.n, 0 FROM roots) GROUP BY n)
    SELECT n, c FROM d"""
    assert answer(step_first) == answer(SHORTEST)


@pytest.mark.parametrize(
    "names",
    [
        "r AS (SELECT n FROM roots UNION SELECT b FROM r JOIN links ON n = a)",
        "s AS (SELECT n FROM r), r AS (SELECT n FROM roots)",
    ],
)
def test_a_with_that_has_to_be_recursive_is_told_so(names: str) -> None:
    with pytest.raises(SqlError, match="r is not defined here yet.* needs WITH RECURSIVE"):
        answer(f"WITH {names} SELECT n FROM r")


def test_a_limit_of_no_level_is_refused() -> None:
    with pytest.raises(SqlError, match="MAX RECURSION LEVEL 0 would allow no step"):
        answer(
            f"WITH RECURSIVE {REACH.replace('(n)', '(n) MAX RECURSION LEVEL 0')} SELECT n FROM r"
        )


def test_a_name_needs_something_to_begin_with() -> None:
    with pytest.raises(SqlError, match="r has nothing to begin with"):
        answer("WITH RECURSIVE r AS (SELECT b FROM links JOIN r ON r.b = a) SELECT * FROM r")
