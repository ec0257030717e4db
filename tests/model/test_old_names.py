"""Old names of the public interface still work, and say what they are called now."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.spark.history import as_of, believed
from driftline.spark.sinks import Memory
from driftline.spark.update import SparkUpdate
from driftline.spark.views import MicroBatch
from driftline.time.uniform import UniformHeartbeats
from tests.spark.saying import volumes

NAMES = [
    ("driftline", "Said", dl.Update),
    ("driftline.results", "Said", dl.Update),
    ("driftline.spark.query", "SparkSaid", SparkUpdate),
    ("driftline.spark.views", "Moment", MicroBatch),
]


@pytest.mark.parametrize(("module", "old", "new"), NAMES)
def test_old_names_of_classes(module: str, old: str, new: type) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now called .*{new.__name__}") as caught:
        assert getattr(importlib.import_module(module), old) is new
    assert caught[0].filename == __file__


def test_old_names_of_a_result() -> None:
    numbers = dl.stream("s", {"x": "INT"})
    result = numbers.agg("count(*) AS n").run(s=[dl.Insert(1, dl.INFINITY, dl.Row(x=1))])
    with pytest.warns(DeprecationWarning, match="Result.updates"):
        assert result.said is result.updates
    with pytest.warns(DeprecationWarning, match="Result.snapshots_only"):
        assert result.loose is result.snapshots_only is True


def test_old_names_of_what_a_sink_is_given() -> None:
    memory, update = Memory(), volumes()[-1]
    memory(update)
    with pytest.warns(DeprecationWarning, match="Memory.updates"):
        assert memory.said is memory.updates
    with pytest.warns(DeprecationWarning, match="SparkUpdate.dead_letters"):
        assert update.dead is update.dead_letters
    with pytest.warns(DeprecationWarning, match="SparkUpdate.shard_states"):
        assert update.heads is update.shard_states
    with pytest.warns(DeprecationWarning, match="SparkUpdate.micro_batch"):
        assert update.moment("result") == update.micro_batch("result")


def test_the_old_name_of_as_of() -> None:
    memory = Memory()
    for update in volumes():
        memory(update)
    table: Any = memory.table(view="history")
    assert isinstance(table, pa.Table)
    assert table.num_rows
    with pytest.warns(DeprecationWarning, match=r"as_of\(table, valid_time=…, system_time=…\)"):
        old = believed(table, about=3, at="2026-01-01T10:01:00Z")
    assert old == as_of(table, valid_time=3, system_time="2026-01-01T10:01:00Z")


def test_the_old_name_of_the_heartbeat_in_force() -> None:
    heartbeats = UniformHeartbeats(disorder=1)
    with pytest.warns(DeprecationWarning, match="UniformHeartbeats.in_force"):
        assert heartbeats.told == heartbeats.in_force


def test_a_name_that_never_was() -> None:
    for module, _, _ in NAMES:
        with pytest.raises(AttributeError, match="Heard"):
            getattr(importlib.import_module(module), "Heard_")  # noqa: B009
