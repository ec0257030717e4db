"""Conditions: IS, BETWEEN, IN, LIKE, and CASE with them."""

from __future__ import annotations

from functools import partial, reduce
from typing import cast

from sqlglot import exp

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Expression, Literal
from driftline.plan.functions import operators
from driftline.plan.functions.collections import struct
from driftline.plan.functions.conditionals import choose
from driftline.plan.functions.strings import like
from driftline.plan.resolver.base import Resolving
from driftline.plan.types import BOOLEAN
from driftline.plan.used import uses


class Conditions(Resolving):
    """What conditions mean."""

    def not_(self, node: exp.Not) -> Expression:
        """`NOT condition`."""
        return operators.logical("not", self.resolve(node.this))

    def bitwise_not(self, node: exp.BitwiseNot) -> Expression:
        """`~ value`."""
        return operators.bitwise_not((self.resolve(node.this),))

    def is_(self, node: exp.Is) -> Expression:
        """`IS NULL`, `IS TRUE`, `IS FALSE`."""
        value, what = self.resolve(node.this), node.expression
        if isinstance(what, exp.Null):
            uses(what)
            return operators.is_null((value,))
        if isinstance(what, exp.Boolean):
            uses(what, "this")
            truth = Literal(bool(what.this), BOOLEAN)
            return operators.compare("null_safe_equal", value, truth)
        raise ExpressionError(f"IS {what.sql('spark')} is not supported")

    def distinct_from(self, node: exp.NullSafeNEQ) -> Expression:
        """`IS DISTINCT FROM`."""
        same = operators.compare(
            "null_safe_equal", self.resolve(node.this), self.resolve(node.expression)
        )
        return operators.logical("not", same)

    def between(self, node: exp.Between) -> Expression:
        """`value BETWEEN low AND high`; SYMMETRIC: whichever of both is the lower one."""
        value = self.resolve(node.this)
        low, high = self.resolve(node.args["low"]), self.resolve(node.args["high"])

        def within(low: Expression, high: Expression) -> Expression:
            above = operators.compare("greater_equal", value, low)
            return operators.logical("and", above, operators.compare("less_equal", value, high))

        if not node.args.get("symmetric"):
            return within(low, high)
        return operators.logical("or", within(low, high), within(high, low))

    def in_(self, node: exp.In) -> Expression:
        """`value IN (…)`."""
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            raise ExpressionError("IN (SELECT …) is a join, and is not supported here")
        if not node.expressions:
            raise ExpressionError("IN needs at least one value")
        return operators.is_in(
            self.compared(node.this), tuple(self.compared(each) for each in node.expressions)
        )

    def compared(self, node: exp.Expr) -> Expression:
        """A value; several in brackets are a struct, whose fields go by their places."""
        while isinstance(node, exp.Paren):
            uses(node, "this")
            node = node.this
        if not isinstance(node, exp.Tuple):
            return self.resolve(node)
        uses(node, "expressions")
        names = [f"col{place}" for place in range(1, len(node.expressions) + 1)]
        return struct(names, self.all(node.expressions))

    def like(self, node: exp.Like | exp.ILike) -> Expression:
        """`[NOT] LIKE`, with any, all and some of several patterns."""
        return self.liked(node, "\\")

    def escape(self, node: exp.Escape) -> Expression:
        """`LIKE … ESCAPE '…'`."""
        pattern, escape = node.this, node.expression
        if not isinstance(pattern, (exp.Like, exp.ILike)):
            raise ExpressionError("ESCAPE belongs to LIKE and ILIKE")
        if not isinstance(escape, exp.Literal):
            raise ExpressionError("ESCAPE takes a character, such as ESCAPE '!'")
        uses(pattern, "this", "expression", "negate")
        uses(escape, "this", "is_string")
        return self.liked(pattern, escape.name)

    def liked(self, node: exp.Expr, escape: str) -> Expression:
        """LIKE or ILIKE with an escape character; NOT LIKE ALL is like none of the patterns, and
        NOT LIKE ANY unlike one of them."""
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        text, pattern = self.resolve(node.this), node.expression
        options = [pattern]
        if isinstance(pattern, (exp.Any, exp.All)):
            uses(pattern, "this")
            uses(pattern.this, "this", "expressions")
            options = pattern.this.expressions or [pattern.this.unnest()]
        tests = [like(name, text, self.resolve(option), escape) for option in options]
        if node.args.get("negate"):
            tests = [operators.logical("not", test) for test in tests]
        operator = "or" if isinstance(pattern, exp.Any) else "and"
        return reduce(partial(operators.logical, operator), tests)

    def case(self, node: exp.Case) -> Expression:
        """Both forms of CASE."""
        subject = None if node.this is None else self.resolve(node.this)
        branches = []
        for branch in node.args["ifs"]:
            uses(branch, "this", "true")
            when = self.resolve(branch.this)
            if subject is not None:
                when = operators.compare("equal", subject, when)
            branches.append((when, self.resolve(branch.args["true"])))
        default = node.args.get("default")
        otherwise = operators.NULL if default is None else self.resolve(default)
        return operators.case(tuple(branches), otherwise)

    def if_(self, node: exp.If) -> Expression:
        """`if(condition, then, otherwise)`."""
        parts = (node.this, node.args.get("true"), node.args.get("false"))
        if None in parts:
            raise ExpressionError("if takes 3 arguments")
        return choose(self.all(list(cast("tuple[exp.Expr, ...]", parts))))
