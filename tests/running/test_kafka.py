from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftline.cli.streams import streamed
from driftline.running import kafka
from driftline.running.kafka import Topic, all_there_is, limited, topic_of
from driftline.running.problems import Problem
from tests.cli.run import driftline
from tests.kafka_cluster import PARTITIONS, cluster, produce

pytest.importorskip("confluent_kafka")

SCRIPT = """
CREATE STREAM s (k STRING, x INT, t BIGINT) WITH (time = 't', path = '{0}');
SELECT k, sum(x) AS x FROM s GROUP BY k;
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with cluster() as found:
        yield found


def test_messages_between_offsets(servers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    produce(servers, "between", ((number % 2, {"x": number}) for number in range(20)))
    topic = Topic(servers, "between")
    first, after = topic.ends()
    assert first == dict.fromkeys(range(PARTITIONS), 0)
    assert after == {0: 10, 1: 10, 2: 0, 3: 0}
    found = [each.value() for part in topic.between(1, 3, 6) for each in part]
    assert [json.loads(value or b"")["x"] for value in found] == [7, 9, 11]
    assert list(topic.between(1, 6, 6)) == []
    monkeypatch.setattr(kafka, "POLL", 60.0)
    start = time.monotonic()
    assert sum(map(len, topic.between(0, 2, 9))) == 7
    assert time.monotonic() - start < 30  # more messages than are asked for are not waited for
    values = [json.loads(each.value() or b"")["x"] for each in all_there_is(topic)]
    assert values == list(range(20))  # by their time


def test_shares_of_what_waits() -> None:
    assert limited({0: 5}, {0: 9, 1: 3}, None) == {0: 9, 1: 3}
    assert limited({0: 5}, {0: 9, 1: 3}, 7) == {0: 9, 1: 3}
    found = limited({0: 0, 1: 0}, {0: 1000, 1: 1}, 10)
    assert found == {0: 10, 1: 1}
    assert limited({0: 7}, {0: 7}, 1) == {0: 7}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("startingOffsets=7", "startingOffsets is earliest or latest, not 7"),
        ("maxOffsetsPerTrigger=0", "maxOffsetsPerTrigger is a number, not 0"),
        ("subscribe=t", "there is no option subscribe; there are format, stream, startingOffsets"),
    ],
)
def test_options_that_are_none(options: str, error: str) -> None:
    given = streamed(f"kafka://h:1/t?{options}")
    assert given is not None
    with pytest.raises(Problem, match=error):
        topic_of(given)


def test_secrets_are_not_shown() -> None:
    given = streamed("kafka://h:1/t", {"kafka.sasl.password": "hush"})
    assert given is not None
    topic = topic_of(given)
    assert topic.configured()["sasl.password"] == "hush"
    assert "hush" not in repr(topic)


def test_the_local_runner_reads_records_and_events(servers: str, tmp_path: Path) -> None:
    rows = [{"k": "ab"[number % 2], "x": number, "t": number} for number in range(10)]
    produce(servers, "records", ((number % 3, row) for number, row in enumerate(rows)))
    produce(servers, "records", [(0, b"no record")])
    script = tmp_path / "q.sql"
    script.write_text(SCRIPT.format(f"kafka://{servers}/records"))
    ran = driftline("run", script, "--runner", "local", "--table")
    last = [json.loads(line)["row"] for line in ran.out.splitlines() if '"ve":null' in line]
    assert last == [{"k": "a", "x": 20}, {"k": "b", "x": 25}]
    assert "driftline: 1 record could not be read" in ran.err
    events = [
        {"stream": "s", "kind": "insert", "vs": row["t"], "ve": None, "row": row} for row in rows
    ]
    produce(servers, "events", ((0, event) for event in events))
    given = f"s=kafka://{servers}/events?format=log"
    again = driftline("run", script, "--runner", "local", "--table", "--input", given)
    assert (again.out, again.err) == (ran.out, "")


def test_a_topic_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftline.running.kafka.PATIENCE", 0.5)
    (tmp_path / "q.sql").write_text(SCRIPT.format("kafka://127.0.0.1:1/t"))
    ran = driftline("run", tmp_path / "q.sql", "--runner", "local")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("driftline: kafka://127.0.0.1:1/t: ")


def test_a_topic_is_followed(servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q.sql").write_text(SCRIPT.format(f"kafka://{servers}/followed"))
    produce(servers, "followed", [(0, {"k": "a", "x": 1, "t": 1})])
    more = iter([[(1, {"k": "a", "x": 2, "t": 2}), (0, {"k": "b", "x": 3, "t": 3})], []])

    def wait(_: float) -> None:
        if (messages := next(more, None)) is None:
            raise KeyboardInterrupt
        if messages:
            produce(servers, "followed", messages)

    monkeypatch.setattr("driftline.running.local.sleep", wait)
    done = driftline("run", tmp_path / "q.sql", "--follow", "--emit", "eager")
    assert done.code == 130
    rows = [line for line in done.out.splitlines() if '"insert"' in line]
    assert [json.loads(line)["row"]["x"] for line in rows] == [1, 3, 3]
