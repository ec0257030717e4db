"""From SQL to expressions: names are looked up, types are found, mistakes are explained.

>>> from driftline.plan.types import Schema
>>> trades = Schema.of({"symbol": "STRING", "price": "DOUBLE", "qty": "INT"})
>>> expression = parse_expression("price * qty > 100 AND symbol LIKE 'A%'", trades)
>>> print(expression)
(((price * CAST(qty AS DOUBLE)) > 100.0D) AND (symbol LIKE 'A%' ESCAPE '\\\\'))
>>> sorted(expression.columns())
['price', 'qty', 'symbol']

    expressions    `parse_expression`, `resolve`, and the resolver itself
    syntax         by which method each kind of node is resolved, and what of it that uses
    names          names and constants;  conditions: IS, BETWEEN, IN, LIKE, CASE
    calls          functions;  aggregates: those over the rows of a group;  arguments: their names
    base           what these share
"""

from driftline.plan.resolver.calls import GENERATORS
from driftline.plan.resolver.expressions import Resolver, parse_expression, resolve, resolve_by

__all__ = ["GENERATORS", "Resolver", "parse_expression", "resolve", "resolve_by"]
