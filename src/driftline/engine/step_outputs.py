"""What one step of a run emits."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.engine.core.operator import OperatorKey
from driftline.model.time import BEGINNING

if TYPE_CHECKING:
    from driftline.engine.core.batch import Batch
    from driftline.engine.ingest.dead_letters import DeadLetters
    from driftline.engine.outputs.now_view import NowChanges
    from driftline.model.prefix import Prefix

Counted = Mapping[OperatorKey, Mapping[str, int]]


class Counts(Mapping[OperatorKey, Mapping[str, int]]):
    """What operators have counted and what they hold, as of when it is looked at first: to add up
    what is held may take longer than a small batch. So look at it before the next step."""

    def __init__(self, count: Callable[[], Counted]) -> None:
        self._count = count

    @cached_property
    def _found(self) -> Counted:
        return self._count()

    def __getitem__(self, key: OperatorKey) -> Mapping[str, int]:
        return self._found[key]

    def __iter__(self) -> Iterator[OperatorKey]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def items(self) -> ItemsView[OperatorKey, Mapping[str, int]]:
        return self._found.items()  # not one key after the other


@dataclass(frozen=True)
class Outputs:
    """What one step of a run emits: by query the changes, by stream the dead letters, and by
    operator what it has done so far and what it holds (see `Counts`); `prefixes`: by query, the
    prefix of the input that its answer is complete for, where it is complete for one; `now`: the
    time that has come (see `outputs.clock`), and `late`: how many rows came so far when it was past
    their own; `number`: of a runner with checkpoints, the group of queries and the micro-batch;
    `now_changes`: by query what changes in the answer now, where the runner keeps that."""

    batches: Mapping[str, Batch]
    dead: Mapping[str, DeadLetters]
    counters: Counted = field(default_factory=dict)
    prefixes: Mapping[str, Prefix] = field(default_factory=dict)
    now: int = BEGINNING
    late: int = 0
    number: tuple[int, int] | None = None
    now_changes: Mapping[str, NowChanges] = field(default_factory=dict)

    @property
    def batch(self) -> Batch:
        """The changes of the only query."""
        (batch,) = self.batches.values()
        return batch

    @property
    def prefix(self) -> Prefix | None:
        """The prefix of the only query."""
        return next(iter(self.prefixes.values()), None)
