"""The Python interface: queries over streams, in the words of Polars and Ibis.

Expressions are Spark SQL in strings. A query is a value; nothing runs until `run` or `changes`.

>>> import driftline as dl
>>> trades = dl.stream("trades", {"symbol": "STRING", "price": "DOUBLE", "qty": "INT"})
>>> vwap = (
...     trades.where("qty > 0")
...     .window(range=10)
...     .group_by("symbol")
...     .agg("sum(price * qty) / sum(qty) AS vwap")
... )
>>> events = [dl.Insert(1, dl.INFINITY, dl.Row(symbol="A", price=10.0, qty=2)),
...           dl.Insert(4, dl.INFINITY, dl.Row(symbol="A", price=13.0, qty=1))]
>>> for row in vwap.run(trades=events).history().to_pylist():
...     print(row)
{'vs': 1, 've': 4, 'symbol': 'A', 'vwap': 10.0}
{'vs': 4, 've': 11, 'symbol': 'A', 'vwap': 11.0}
{'vs': 11, 've': 14, 'symbol': 'A', 'vwap': 13.0}

    relation   a plan, and the ways to build on it (planned: what these have in common; windowed:
               windows; ordered: ranks, window functions, patterns)
    grouped    groups and their aggregates, also those that users define
    query      queries that run in this process
    streams    where queries begin: streams, and rows that are defined by themselves
"""

from __future__ import annotations

from driftline.api.grouped import Grouped, UserDefined
from driftline.api.query import Query
from driftline.api.relation import Relation
from driftline.api.streams import recursive, recursive_together, stream

__all__ = [
    "Grouped",
    "Query",
    "Relation",
    "UserDefined",
    "recursive",
    "recursive_together",
    "stream",
]
