from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driftline.running.kafka import Topic
from driftline.spark.kafka_source import KafkaReader, Part
from tests.cli.run import driftline
from tests.kafka_cluster import cluster, produce

pytest.importorskip("confluent_kafka")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with cluster() as found:
        yield found


def read(reader: KafkaReader, start: dict[str, int], end: dict[str, int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in reader.partitions(start, end):
        for batch in reader.read(part):
            found += zip(
                [json.loads(value)["x"] for value in batch.column("value").to_pylist()],
                batch.column("line").to_pylist(),
                strict=True,
            )
    return found


def test_offsets_say_what_a_micro_batch_has(servers: str) -> None:
    produce(servers, "offsets", ((number % 2, {"x": number}) for number in range(10)))
    reader = KafkaReader(Topic(servers, "offsets", most=6))
    start = reader.initialOffset()
    assert start == {"0": 0, "1": 0, "2": 0, "3": 0}
    first = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert first == {"0": 3, "1": 3, "2": 0, "3": 0}
    assert read(reader, start, first) == [(0, 0), (2, 1), (4, 2), (1, 0), (3, 1), (5, 2)]
    produce(servers, "offsets", [(2, {"x": 99})])
    after = KafkaReader(Topic(servers, "offsets"))  # after a crash
    assert read(after, start, first) == read(reader, start, first)
    second = after.latestOffset(first, after.getDefaultReadLimit())
    assert read(after, first, second) == [(6, 3), (8, 4), (7, 3), (9, 4), (99, 0)]
    assert after.partitions(second, second) == []


def test_what_is_there_now_and_what_comes_from_now_on(servers: str) -> None:
    produce(servers, "now", [(0, {"x": 1})])
    reader = KafkaReader(Topic(servers, "now"))
    reader.prepareForTriggerAvailableNow()
    produce(servers, "now", [(0, {"x": 2})])
    nothing = reader.initialOffset()
    assert reader.latestOffset(nothing, reader.getDefaultReadLimit())["0"] == 1
    late = KafkaReader(Topic(servers, "now", start="latest"))
    assert late.initialOffset()["0"] == 2
    assert Part(0, 1, 2) in late.partitions({"0": 1}, {"0": 2})


SCRIPT = """
CREATE STREAM s (k STRING, x INT, t BIGINT) WITH (time = 't', disorder = 5, path = '{0}/in');
CREATE SINK totals WITH (type = 'kafka', servers = '{1}', topic = 'totals') AS
  SELECT k, sum(x) AS x FROM s GROUP BY k;
"""


@pytest.mark.spark
def test_from_topic_to_topic_on_spark(spark: Any, servers: str, tmp_path: Path) -> None:
    script = tmp_path / "q.sql"
    script.write_text(SCRIPT.format(f"kafka://{servers}", servers))
    rows = [{"k": "ab"[number % 2], "x": number, "t": number} for number in range(12)]
    for part, more in ((rows[:7], ()), (rows[7:], ("--close",))):
        produce(servers, "in", ((number % 2, row) for number, row in enumerate(part)))
        ran = driftline(
            "run", script, "--runner", "spark", "--checkpoint", tmp_path / "state", *more
        )
        assert ran.code == 0, ran.err
    log = f"s=kafka://{servers}/totals?format=log&stream=totals"
    (tmp_path / "again.sql").write_text("CREATE STREAM s (k STRING, x BIGINT); SELECT k, x FROM s")
    ran = driftline("run", tmp_path / "again.sql", "-i", log, "--runner", "local", "--table")
    last = [json.loads(line)["row"] for line in ran.out.splitlines() if '"ve":null' in line]
    assert last == [{"k": "a", "x": 30}, {"k": "b", "x": 36}]
    assert ran.err == ""
