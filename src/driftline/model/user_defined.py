"""What a user's own aggregate has to offer."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from driftline.model.row import Value


@runtime_checkable
class UserDefinedAggregate(Protocol):
    """A user's own aggregate over the values that are not null.

    `add` takes a state and a value and returns the state; so does `remove`, where an object has
    one, and then it must undo `add` exactly. Objects without `remove` are computed afresh from the
    values, which come in the order of `sort_key`.
    """

    def initial(self) -> Any: ...

    def add(self, state: Any, value: Value) -> Any: ...

    def result(self, state: Any) -> Value: ...
