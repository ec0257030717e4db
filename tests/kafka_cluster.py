"""A cluster of Kafka for tests: the one that librdkafka brings, over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

PARTITIONS = 4
"""How many a topic of this cluster has."""


@contextmanager
def cluster() -> Iterator[str]:
    """The servers of a cluster, which is there for as long as this process wants."""
    from confluent_kafka import Producer

    made = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 0})
    brokers = made.list_topics(timeout=20).brokers.values()
    yield ",".join(f"{each.host}:{each.port}" for each in brokers)
    del made


def produce(servers: str, topic: str, rows: Iterable[tuple[int, Any]]) -> None:
    """Write values as JSON, each to a partition."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for number, (partition, value) in enumerate(rows, 1):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        producer.produce(topic, text, partition=partition, timestamp=number)
        producer.poll(0)
    assert producer.flush(20) == 0
