"""Answers that several kinds of nodes give alike: bases to put before the one that says what a node
is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.plan.nodes.base import Node

if TYPE_CHECKING:
    from driftline.plan.facts import Delays, Facts, Times
    from driftline.plan.nodes.base import Keys, Part


@dataclass(frozen=True)
class KeepsNothing(Node):
    """Each change is answered by itself, wherever it is and whenever it comes."""

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return None

    @property
    def is_stateless(self) -> bool:
        return True

    @property
    def wants_order(self) -> bool:
        return False


@dataclass(frozen=True)
class KeepsRows(Node):
    """Its operator keeps rows, and has less to correct if they come in order."""

    @property
    def is_stateless(self) -> bool:
        return False

    @property
    def wants_order(self) -> bool:
        return True


@dataclass(frozen=True)
class OfSnapshots(Node):
    """A function of the snapshots of its inputs alone: in how many pieces a row is emitted is left
    open, and rows come and go."""

    @property
    def is_loose(self) -> bool:
        return True

    @property
    def goes_by(self) -> Part | None:
        return None

    def only_grows(self, facts: Facts) -> bool:
        return False

    def never_ends(self, facts: Facts) -> bool:
        return False


@dataclass(frozen=True)
class WithoutTimes(Node):
    """Its columns tell nothing of when rows start or are final."""

    def closes(self, facts: Facts) -> Delays:
        return {}

    def after_vs(self, place: int, facts: Facts) -> int | None:
        return None

    def times(self, place: int, facts: Facts) -> Times | None:
        return None
