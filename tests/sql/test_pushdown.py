from tests.sql.declared import T, U, plan


def test_conditions_of_where_become_those_of_a_bare_join() -> None:
    pushed = plan("SELECT * FROM t, u WHERE t.k = u.k AND x > 3 AND z > 1 AND x < z")
    assert pushed == T.where("x > 3").join(U.where("z > 1"), "t.k = u.k AND x < z").plan


def test_a_join_with_a_condition_stays_as_it_was_written() -> None:
    assert (
        plan("SELECT * FROM t JOIN u ON t.k = u.k WHERE x > 3")
        == T.join(U, "t.k = u.k").where("x > 3").plan
    )


def test_three_tables() -> None:
    tree = plan(
        "SELECT a.k FROM u a, u b, t WHERE a.k = b.k AND b.z = x AND a.z = 1 AND y IS NULL"
    ).tree()
    assert tree.count("inner join on") == 2
    assert tree.count("inner join\n") == 0


def test_only_the_left_of_an_outer_join_can_be_tested_before_it() -> None:
    tree = plan(
        "SELECT a.k FROM u a CROSS JOIN u b LEFT JOIN t ON t.k = b.k WHERE a.k = b.k AND x IS NULL"
    ).tree()
    assert tree.index("select (x IS NULL)") < tree.index("left join")
    assert "inner join on (a.k = b.k)" in tree
