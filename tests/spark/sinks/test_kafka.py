from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest

from driftline.plan.errors import PlanError
from driftline.running.kafka import Topic
from driftline.spark.sinks import Kafka
from driftline.spark.sinks.event_log import write_events
from tests.kafka_cluster import cluster, produce
from tests.spark.saying import volumes
from tests.spark.sinks import writing

pytest.importorskip("confluent_kafka")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with cluster() as found:
        yield found


def values(topic: Topic) -> list[bytes]:
    _, after = topic.ends()
    return [each.value() or b"" for part in topic.between(0, 0, after[0]) for each in part]


def expected(updates: list[Any]) -> list[bytes]:
    text = io.BytesIO()
    for each in updates:
        write_events(text, each, {})
    return text.getvalue().splitlines()


def test_every_micro_batch_is_there_once(servers: str) -> None:
    topic = Topic(servers, "once")
    produce(servers, "once", [(0, {"of": "another"})])
    updates = writing.steps()[:12]
    for number, each in enumerate(updates):
        Kafka(topic)(each)  # a new process
        if number % 3 == 0:
            produce(servers, "once", [(0, {"of": "another"})])
        Kafka(topic)(each)  # comes again after a crash
    own = [value for value in values(topic) if b"another" not in value]
    assert own == expected(updates)


def test_a_crash_in_the_middle_of_a_micro_batch(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster of the tests shows messages of transactions that were never committed, which
    Kafka does not: what is there is found out by its number in either case."""
    topic = Topic(servers, "crash")
    updates = writing.steps()[:3]

    def killed(self: Kafka, producer: Any, update: Any, lines: list[bytes], done: int) -> None:
        write(self, producer, update, lines[: len(lines) // 2], done)
        raise KeyboardInterrupt

    write = Kafka._write
    with monkeypatch.context() as patched:
        patched.setattr(Kafka, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            Kafka(topic)(updates[0])
    assert 0 < len(values(topic)) < len(expected(updates[:1]))
    sink = Kafka(topic)
    for each in updates:
        sink(each)
    assert values(topic) == expected(updates)


def test_other_queries_write_to_the_same_topic(servers: str) -> None:
    topic = Topic(servers, "both")
    for run in ("one", "two"):
        for each in volumes(run=run):
            Kafka(topic)(each)
    assert values(topic) == expected(volumes()) * 2


def test_a_view_that_it_has_not() -> None:
    with pytest.raises(PlanError, match="an event log has the view changes or now"):
        Kafka(Topic("h:1", "t"), "current")  # type: ignore[arg-type]
