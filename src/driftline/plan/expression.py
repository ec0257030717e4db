"""The base of all expressions: trees that are walked, compared, changed and pickled.

A tree may be thousands of operands deep (`x + x + …`), so nothing here recurses: trees are walked
with a stack of their own, and what is known of a part (its hash, its height) is kept with it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from driftline.plan.types import DataType, quoted

if TYPE_CHECKING:
    from driftline.plan.expressions import AggregateCall

_SHOWN = 200
"""So much of an expression is shown in a message."""
_PICKLED_WHOLE = 20
"""The height up to which a tree is pickled as it is; higher ones as a list of their parts."""


@dataclass(frozen=True, eq=False)
class Expression:
    """The base of all expressions. Each has a `type`, an Arrow type (`driftline.plan.types`)."""

    is_aggregate: ClassVar[bool] = False

    @property
    def type(self) -> DataType:
        """The type of the value."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions this one is computed from, in order."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same operation on other operands."""
        return self

    def sql(self) -> str:
        """Spark SQL text that means this expression."""
        text: str = self.fold(lambda part, texts: part.written(texts))
        return text

    def brief(self) -> str:
        """Its text, or the start of it, for a message."""
        text = self.sql()
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def written(self, texts: list[str]) -> str:
        """Its text, given those of its children."""
        raise NotImplementedError

    def fold(self, combine: Callable[[Expression, list[Any]], Any]) -> Any:
        """What `combine` makes of each part and the results of its children, from the leaves up."""
        waiting: list[tuple[Expression, bool]] = [(self, False)]
        results: list[Any] = []
        while waiting:
            part, ready = waiting.pop()
            children = part.children
            if children and not ready:
                waiting.append((part, True))
                waiting.extend((child, False) for child in reversed(children))
                continue
            first = len(results) - len(children)
            results[first:] = [combine(part, results[first:])]
        return results[0]

    def walk(self) -> Iterator[Expression]:
        """This expression and all below it, from the top."""
        waiting: list[Expression] = [self]
        while waiting:
            part = waiting.pop()
            yield part
            waiting.extend(reversed(part.children))

    @property
    def height(self) -> int:
        """How many levels of operands are below it."""
        number: int = self.__dict__["_height"]
        return number

    def __post_init__(self) -> None:
        heights = (child.height for child in self.children)
        self.__dict__["_height"] = 1 + max(heights, default=-1)

    def own(self) -> tuple[Any, ...]:
        """What it is apart from its children: two parts are the same if this and those are."""
        raise NotImplementedError

    def __hash__(self) -> int:
        waiting: list[Expression] = [self]
        while waiting:
            part = waiting[-1]
            unknown = [child for child in part.children if "_hash" not in child.__dict__]
            if unknown and "_hash" not in part.__dict__:
                waiting += unknown
                continue
            waiting.pop()
            known = (child.__dict__["_hash"] for child in part.children)
            part.__dict__.setdefault("_hash", hash((type(part), *part.own(), *known)))
        number: int = self.__dict__["_hash"]
        return number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        waiting: list[tuple[Expression, Expression]] = [(self, other)]
        while waiting:
            one, two = waiting.pop()
            if one is two:
                continue
            if type(one) is not type(two) or hash(one) != hash(two) or one.own() != two.own():
                return False
            waiting.extend(zip(one.children, two.children, strict=True))
        return True

    def columns(self) -> frozenset[str]:
        """The names of the columns it reads."""
        return frozenset(node.name for node in self.walk() if isinstance(node, Column))

    def transform(self, change: Callable[[Expression], Expression]) -> Expression:
        """The expression with `change` applied to each of its parts, from the leaves up."""

        def changed(part: Expression, children: list[Expression]) -> Expression:
            same = all(map(operator.is_, children, part.children))
            return change(part if same else part.with_children(tuple(children)))

        result: Expression = self.fold(changed)
        return result

    def aggregates(self) -> tuple[AggregateCall, ...]:
        """The aggregate calls in it, each once, in the order they are written."""
        found = (cast("AggregateCall", node) for node in self.walk() if node.is_aggregate)
        return tuple(dict.fromkeys(found))

    def __str__(self) -> str:
        return self.sql()

    def __getstate__(self) -> dict[str, Any]:
        # What others keep with an expression (its compiled form) stays in this process.
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.height <= _PICKLED_WHOLE:
            return super().__reduce_ex__(protocol)
        parts: list[Expression] = []

        def number(part: Expression, children: list[int]) -> int:
            places = tuple(Column(str(child), part.type) for child in children)
            parts.append(part.with_children(places) if children else part)
            return len(parts) - 1

        self.fold(number)
        return _from_parts, (parts,)


def _from_parts(parts: list[Expression]) -> Expression:
    """The tree of which these are the parts: the children of each are the numbers of others."""
    built: list[Expression] = []
    for part in parts:
        places = part.children
        children = tuple(built[int(place.name)] for place in places if isinstance(place, Column))
        built.append(part.with_children(children) if places else part)
    return built[-1]


@dataclass(frozen=True, eq=False)
class Column(Expression):
    """The value of a column; `name` is the name of the Arrow column that holds it."""

    name: str
    kind: DataType
    qualifier: str | None = None

    @property
    def type(self) -> DataType:
        """The type of the column."""
        return self.kind

    def own(self) -> tuple[Any, ...]:
        """Its name and type."""
        return self.name, self.kind, self.qualifier

    def written(self, texts: list[str]) -> str:
        """Its name, with the relation's where the name alone was not unique."""
        if self.qualifier and self.name.startswith(f"{quoted(self.qualifier)}."):
            return self.name
        return quoted(self.name)
