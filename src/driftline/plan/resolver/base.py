"""What all parts of the resolver share: the schema, and how a node inside another is resolved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from sqlglot import exp

from driftline.plan.expressions import Expression, Variable
from driftline.plan.functions.base import Arguments
from driftline.plan.types import Schema


class Resolving(ABC):
    """`variables`: the parameters of the functions around what is resolved, by their names."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.variables: dict[str, Variable] = {}

    @abstractmethod
    def resolve(self, node: Any) -> Expression:
        """The expression of a node."""

    def all(self, nodes: list[exp.Expr]) -> Arguments:
        """The expressions of several nodes."""
        return tuple(self.resolve(node) for node in nodes)
