"""The resolver: the expression of a node, by the method for its kind."""

from __future__ import annotations

from typing import Any, cast

from sqlglot import exp

from driftline.plan.depth import room
from driftline.plan.dialect import CALLS, parse_sql
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Expression
from driftline.plan.resolver.calls import Calls
from driftline.plan.resolver.conditions import Conditions
from driftline.plan.resolver.syntax import BINARY, BY_DIALECT, CHAINED, METHODS, is_chained
from driftline.plan.types import Schema
from driftline.plan.used import mark, place_of, refuse_unused, uses


def parse_expression(text: str, schema: Schema) -> Expression:
    """The expression that a text means over the columns of a schema.

    >>> parse_expression("pric * 2", Schema.of({"price": "INT"}))
    Traceback (most recent call last):
    driftline.plan.errors.ExpressionError: there is no column pric; did you mean price? \
(line 1, column 1)
    """
    return resolve(parse_sql(text), schema)


def resolve(node: exp.Expr, schema: Schema) -> Expression:
    """The expression that a parsed piece of SQL means over the columns of a schema.

    The tree should come from `driftline.plan.dialect`, which keeps function calls as they were
    written.
    """
    return resolve_by(Resolver(schema), node)


@room(CALLS)
def resolve_by(resolver: Resolver, node: exp.Expr) -> Expression:
    """The expression that a resolver finds for a parsed piece of SQL, all of which it has used."""
    mark(node)
    value = resolver.resolve(node)
    refuse_unused(node)
    return value


class Resolver(Calls, Conditions):
    """From syntax to expressions over the columns of a schema. Where names or functions have a
    meaning of their own, a subclass has methods of its own for them."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self.known: tuple[Any, Expression] | None = None

    def resolve(self, node: Any) -> Expression:
        """The expression of a node; an error is given the place of the innermost node."""
        known, self.known = self.known, None
        if known is not None and known[0] is node:
            return known[1]
        chain = [node]  # of a + b + …, which may be long, the left operands come first
        while type(chain[-1]) in CHAINED and is_chained(chain[-1].this):
            chain.append(chain[-1].this)
        while len(chain) > 1:
            operand = chain.pop()
            self.known = operand, self._resolve(operand)
        return self._resolve(node)

    def _resolve(self, node: Any) -> Expression:
        try:
            if type(node) in METHODS:
                method, *used = METHODS[type(node)]
                uses(node, *used)
                read = getattr(self, method) if isinstance(method, str) else method
                return cast("Expression", read(node))
            if type(node) in BINARY:
                uses(node, "this", "expression", *BY_DIALECT)
                build, name = BINARY[type(node)]
                return build(name, self.resolve(node.this), self.resolve(node.expression))
            if isinstance(node, exp.Func):
                return self.plain_function(node)
            raise ExpressionError(f"{node.sql('spark')} is not supported in an expression")
        except ExpressionError as error:
            if error.line is not None:
                raise
            raise error.at(*place_of(node)) from None
