import pytest
from sqlglot import exp

from driftline.plan.errors import ExpressionError
from driftline.plan.resolver import parse_expression
from driftline.sql.grammar import parse_script
from driftline.sql.scope import Relations, Scope, columns_in, replaced
from tests.sql.declared import T, U


def expression(text: str) -> exp.Expr:
    [select] = parse_script(f"SELECT {text} FROM t")
    node: exp.Expr = select.expressions[0]
    return node


def test_inner_relations_hide_outer_ones() -> None:
    outer = Relations()
    outer.define("T", T.plan)
    inner = Relations(outer)
    table = exp.Table(this=exp.to_identifier("t"))
    assert inner.find(table) is T.plan
    inner.define("t", U.plan)
    assert inner.find(table) is U.plan
    assert outer.find(table) is T.plan
    assert (outer.read, inner.read) == ({"t"}, {"t"})


def test_nothing_is_known() -> None:
    with pytest.raises(ExpressionError, match="there are none: CREATE STREAM declares one"):
        Relations().find(exp.Table(this=exp.to_identifier("t")))


def test_columns_of_a_scope() -> None:
    scope = Scope(T.join(U, "t.k = u.k").plan)
    known = {"x": True, "t.x": True, "u.x": False, "k": True, "foo": False, "z": True}
    assert {name: scope.has(expression(name)) for name in known} == known  # type: ignore[arg-type]
    assert [named.name for named in scope.star()] == ["t.k", "x", "y", "u.k", "z"]
    assert [named.name for named in scope.star(exp.to_identifier("U"))] == ["k", "z"]


def test_columns_of_a_subquery_are_not_those_of_the_expression() -> None:
    [select] = parse_script("SELECT k FROM t WHERE x IN (SELECT z FROM u) AND y > 1")
    assert [column.name for column in columns_in(select.args["where"].this)] == ["x", "y"]


def test_columns_give_way() -> None:
    node = expression("x + y")
    changed = replaced(node, lambda column: expression("1") if column.name == "x" else None)
    scope = Scope(T.plan)
    assert scope.resolve(changed) == parse_expression("1 + y", T.schema)
    assert scope.resolve(node) == parse_expression("x + y", T.schema)
