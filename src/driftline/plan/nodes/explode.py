"""The plan node of explode: every row once for each item of a list or a map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.plan.errors import PlanError
from driftline.plan.expressions import Expression
from driftline.plan.nodes.base import Keys, same_place
from driftline.plan.nodes.rowwise import Rowwise
from driftline.plan.types import (
    INT,
    DataType,
    Field,
    Schema,
    is_array,
    is_map,
    is_struct,
    type_name,
)

if TYPE_CHECKING:
    from driftline.plan.native import Native
    from driftline.plan.nodes.base import Part


@dataclass(frozen=True)
class Explode(Rowwise):
    """The rows, each with one item of a list, or one entry of a map; `names` are those of the
    columns this adds, of a relation `qualifier`. With `fields` (inline) these are the fields of the
    structs in a list."""

    value: Expression
    names: tuple[str, ...] = ()
    outer: bool = False
    position: bool = False
    qualifier: str | None = None
    fields: bool = False

    def __post_init__(self) -> None:
        kinds = self._kinds()
        if self.names and len(self.names) != len(kinds):
            what = ", ".join(name for name, _ in kinds)
            raise PlanError(
                f"explode({self.value.sql()}) gives {len(kinds)} columns ({what}), and there are "
                f"{len(self.names)} names for them"
            )
        super().__post_init__()

    def _kinds(self) -> list[tuple[str, DataType]]:
        """The columns that are added, with the names they have if none are given."""
        kind = self.value.type
        place: list[tuple[str, DataType]] = [("pos", INT)] if self.position else []
        if self.fields:
            if not is_array(kind) or not is_struct(kind.value_type):
                raise PlanError(
                    f"inline takes an ARRAY of STRUCTs, and {self.value.sql()} is a "
                    f"{type_name(kind)}"
                )
            return [(each.name, each.type) for each in kind.value_type]
        if is_array(kind):
            return [*place, ("col", kind.value_type)]
        if is_map(kind):
            return [*place, ("key", kind.key_type), ("value", kind.item_type)]
        raise PlanError(
            f"explode takes an ARRAY or a MAP, and {self.value.sql()} is a {type_name(kind)}"
        )

    @property
    def added(self) -> Schema:
        """The columns that are added."""
        kinds = self._kinds()
        names = self.names or tuple(name for name, _ in kinds)
        return Schema(
            tuple(
                Field(name, kind, self.qualifier)
                for name, (_, kind) in zip(names, kinds, strict=True)
            )
        )

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema + self.added

    def label(self) -> str:
        how = " with places" * self.position + ", or null if there is none" * self.outer
        names = ", ".join(each.name for each in self.added)
        word = "inline" if self.fields else "explode"
        return f"{word} {self.value.sql()} AS {names}{how}"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    @property
    def computes_with(self) -> Keys:
        return (self.value,)

    @property
    def native(self) -> Native | None:
        return None
