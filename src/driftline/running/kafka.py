"""Topics of Kafka, through `confluent-kafka` (pip install "driftline[kafka]"): no JVM is needed.

    kafka://HOST:PORT[,HOST:PORT…]/TOPIC?startingOffsets=earliest&maxOffsetsPerTrigger=100000

Options with `kafka.` before their names are settings of librdkafka, such as
`kafka.security.protocol`. An offset is the number of the message that comes next in a partition; a
position has one for each partition, by its number.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from driftline.running.problems import Problem

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

    from driftline.running.streams import Streamed

OWN = "kafka."
AT_ONCE = 10_000
"""How many messages are taken from a consumer at once."""
PATIENCE = 30.0
"""For so many seconds a broker is waited for."""
POLL = 1.0

Position = dict[int, int]


@dataclass(frozen=True)
class Topic:
    """Servers, a topic, and settings of librdkafka; `start`: "earliest" or "latest"; `most`: how
    many messages a micro-batch takes."""

    servers: str
    name: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    start: str = "earliest"
    most: int | None = None

    @property
    def shown(self) -> str:
        return f"kafka://{self.servers}/{self.name}"

    def configured(self, **more: Any) -> dict[str, Any]:
        """The settings of a client."""
        return {"bootstrap.servers": self.servers, **more, **self.settings}

    def consumer(self) -> Consumer:
        _need_client()
        from confluent_kafka import Consumer

        return Consumer(
            self.configured(
                **{
                    "group.id": "driftline",  # which is asked for, and never joined
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "error",
                    "log_level": 0,
                }
            )
        )

    def ends(self) -> tuple[Position, Position]:
        """The first messages that there are, and those that come next; of a topic that is not there
        yet none."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        consumer = self.consumer()
        try:
            known = consumer.list_topics(self.name, timeout=PATIENCE).topics[self.name]
            if known.error is not None and known.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise Problem(f"{self.shown}: {known.error.str()}")
            first: Position = {}
            after: Position = {}
            for number in known.partitions:
                place = TopicPartition(self.name, number)
                first[number], after[number] = consumer.get_watermark_offsets(
                    place, timeout=PATIENCE
                )
            return first, after
        except KafkaException as error:
            raise Problem(f"{self.shown}: {error.args[0].str()}") from None
        finally:
            consumer.close()

    def between(self, partition: int, start: int, end: int) -> Iterator[list[Message]]:
        """The messages of a partition from one offset up to before another."""
        from confluent_kafka import KafkaError, TopicPartition

        if start >= end:
            return
        consumer = self.consumer()
        try:
            consumer.assign([TopicPartition(self.name, partition, start)])
            while True:
                found: list[Message] = []
                # For more than there are it would wait until its time is over.
                for message in consumer.consume(min(AT_ONCE, end - start), POLL):
                    error = message.error()
                    offset = message.offset()
                    if error is None and offset is not None and offset < end:
                        found.append(message)
                        start = offset + 1
                    elif error is None or (
                        error.code() == KafkaError._PARTITION_EOF and (offset or 0) >= end
                    ):
                        start = end  # what is left are marks of transactions
                    elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                        raise Problem(
                            f"{self.shown}/{partition}: the messages from {start} on are gone: "
                            "begin anew with another checkpoint"
                        )
                    elif error.code() != KafkaError._PARTITION_EOF and error.fatal():
                        raise Problem(f"{self.shown}/{partition}: {error.str()}")
                if found:
                    yield found
                if start >= end:
                    return
        finally:
            consumer.close()


def topic_of(given: Streamed) -> Topic:
    """The topic that an input names."""
    servers, _, name = given.place.partition("/")
    options = dict(given.options)
    settings = {key[len(OWN) :]: options.pop(key) for key in [*options] if key.startswith(OWN)}
    start = options.pop("startingOffsets", "earliest")
    most = options.pop("maxOffsetsPerTrigger", None)
    if options:
        raise Problem(
            f"{given.shown}: there is no option {next(iter(options))}; there are format, stream, "
            "startingOffsets, maxOffsetsPerTrigger and kafka.…"
        )
    if start not in ("earliest", "latest"):
        raise Problem(f"{given.shown}: startingOffsets is earliest or latest, not {start}")
    if most is not None and not (most.isdigit() and int(most)):
        raise Problem(f"{given.shown}: maxOffsetsPerTrigger is a number, not {most}")
    return Topic(servers, name, settings, start, None if most is None else int(most))


def limited(start: Position, end: Position, most: int | None) -> Position:
    """A position at most so many messages after another, of each partition its share.

    >>> limited({0: 0, 1: 5}, {0: 100, 1: 5, 2: 50}, 30)
    {0: 20, 1: 5, 2: 10}
    """
    waiting = {number: after - start.get(number, 0) for number, after in end.items()}
    total = sum(waiting.values())
    if most is None or total <= most:
        return dict(end)
    return {
        number: start.get(number, 0) + -(-count * most // total)
        for number, count in waiting.items()
    }


def all_there_is(topic: Topic) -> Iterator[Message]:
    """The messages that a topic has now, those of all partitions by their time."""
    first, after = topic.ends()
    return iter(()) if topic.start == "latest" else merged(topic, first, after)


def merged(topic: Topic, start: Position, end: Position) -> Iterator[Message]:
    """The messages of all partitions from one position up to another, by their time."""

    def of(number: int) -> Iterator[tuple[int, int, int, Message]]:
        for messages in topic.between(number, start[number], end[number]):
            for message in messages:
                yield message.timestamp()[1], number, message.offset() or 0, message

    return (message for *_, message in heapq.merge(*map(of, end)))


def lines(messages: Iterable[Message]) -> bytes:
    """The values of messages as lines: white space is all that a line break can be in JSON."""
    return b"\n".join((message.value() or b"null").replace(b"\n", b" ") for message in messages)


def _need_client() -> None:
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        raise Problem('Kafka needs confluent-kafka: pip install "driftline[kafka]"') from None
