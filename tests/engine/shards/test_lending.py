"""Shards that work for other processes: here, for other holders of the same process."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from driftline.engine.shards.lending import UNUSED, Lending
from driftline.engine.shards.shard import Shard
from driftline.engine.shards.state_log import StateLog
from driftline.engine.shards.stored import Kept
from tests.engine.shards.test_state_log import LEVEL, Store, micro_batch, withdraw

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is lent")


class Process:
    """What a process has, and how often it has made a shard."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.lending = Lending(self.kept)

    def step(self, store: Store, *times: int) -> object:
        return StateLog(LEVEL, 0, store, self.kept, self.lending).step(micro_batch(list(times)))


@pytest.fixture
def processes() -> Iterator[tuple[Process, Process]]:
    found = Process(), Process()
    yield found
    withdraw(*(each.lending for each in found))


def test_a_shard_stays_where_it_is(processes: tuple[Process, Process]) -> None:
    one, other = processes
    store, alone = Store(), Shard(LEVEL, 0)
    for process, time in ((one, 1), (other, 2), (one, 9), (other, 3), (other, 12)):
        assert process.step(store, time) == alone.step(micro_batch([time]))
        assert (len(one.kept), len(other.kept)) == (1, 0)


def test_a_process_at_work_gives_a_shard_away(processes: tuple[Process, Process]) -> None:
    one, other = processes
    store, alone = Store(), Shard(LEVEL, 0)
    assert one.step(store, 1) == alone.step(micro_batch([1]))
    with one.lending.working():
        assert other.step(store, 2) == alone.step(micro_batch([2]))
    assert (len(one.kept), len(other.kept)) == (0, 1)
    assert one.step(store, 3) == alone.step(micro_batch([3]))
    assert (len(one.kept), len(other.kept)) == (0, 1)


def test_what_a_lender_cannot_do_is_done_from_the_store(
    processes: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = processes
    store, alone = Store(), Shard(LEVEL, 0)
    assert one.step(store, 1) == alone.step(micro_batch([1]))
    (kept,) = one.kept.values()

    def fail(messages: object) -> None:
        raise MemoryError

    monkeypatch.setattr(kept.shard, "step", fail)
    assert other.step(store, 2) == alone.step(micro_batch([2]))
    assert (len(one.kept), len(other.kept)) == (0, 1)


def test_a_shard_that_nobody_uses_is_dropped(processes: tuple[Process, Process]) -> None:
    one, other = processes
    store, ended, alone = Store(), Store(), Shard(LEVEL, 0)
    one.step(ended, 1)
    (kept,) = one.kept.values()
    kept.at -= 2 * UNUSED
    assert one.step(store, 1) == alone.step(micro_batch([1]))
    one.lending.drop_unused()
    assert len(one.kept) == 1
    assert [*one.kept] == [*one.lending.offered]
    assert other.step(store, 2) == alone.step(micro_batch([2]))
    assert (len(one.kept), len(other.kept)) == (1, 0)
