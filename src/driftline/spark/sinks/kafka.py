"""Results as messages of a topic of Kafka (pip install "driftline[kafka]"): a line of an event log
each, all in one partition, in their order.

A micro-batch is a transaction. Every message says in its headers which query it is of, which
micro-batch, and the how many-th of it: after a crash the last of them tells what is there already,
and only the rest is written. The producer of a run that was killed is fenced off by its
transactional id.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from driftline.plan.errors import PlanError
from driftline.running.kafka import AT_ONCE, PATIENCE, Topic
from driftline.spark.sinks.event_log import LogView, log_view, write_events

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from driftline.spark.update import SparkUpdate

RUN, NUMBER = "driftline-run", "driftline-number"


class Kafka:
    """`partition`: the one that all is written to; `last`: the micro-batch and the place in it of
    the last message that is there; `final`: how far each result was final."""

    def __init__(self, topic: Topic, view: LogView = "changes", *, partition: int = 0) -> None:
        self.topic, self.view, self.partition = topic, log_view(view), partition
        self.run: str | None = None
        self.last = (-1, 0)
        self.producer: Producer | None = None

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse a topic that cannot be reached."""
        self.topic.ends()

    def __call__(self, update: SparkUpdate) -> None:
        producer = self.producer
        if producer is None or self.run != update.run:
            producer = self._claimed(update.run)
        batch, place = self.last
        if update.batch_id < batch:
            return
        text = io.BytesIO()
        write_events(text, update, {}, self.view)
        lines = text.getvalue().splitlines()
        rest = lines[place + 1 :] if update.batch_id == batch else lines
        done = len(lines) - len(rest)
        if rest:
            self._write(producer, update, rest, done)
            self.last = (update.batch_id, len(lines) - 1)

    def _write(self, producer: Any, update: SparkUpdate, lines: list[bytes], done: int) -> None:
        from confluent_kafka import KafkaException

        failed: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        run = update.run.encode()
        try:
            producer.begin_transaction()
            for place, line in enumerate(lines, done):
                headers = [(RUN, run), (NUMBER, f"{update.batch_id} {place}".encode())]
                while True:
                    try:
                        producer.produce(
                            self.topic.name,
                            line,
                            partition=self.partition,
                            headers=headers,
                            on_delivery=delivered,
                        )
                        break
                    except BufferError:  # until some have gone
                        producer.poll(1)
            producer.commit_transaction(PATIENCE)
        except KafkaException as error:
            self.producer = None  # the next one finds out what is there
            raise PlanError(f"{self.topic.shown}: {error.args[0].str()}") from None
        if failed:
            self.producer = None
            raise PlanError(f"{self.topic.shown}: {failed[0].str()}")

    def _claimed(self, run: str) -> Producer:
        """Become the only producer of a query, and find out what the topic holds."""
        try:
            from confluent_kafka import KafkaException, Producer
        except ImportError:
            raise PlanError('Kafka needs confluent-kafka: pip install "driftline[kafka]"') from None
        name = f"driftline-{run}-{self.topic.name}-{self.partition}"
        try:
            made = Producer(self.topic.configured(**{"transactional.id": name, "log_level": 0}))
            made.init_transactions(PATIENCE)
        except KafkaException as error:
            raise PlanError(f"{self.topic.shown}: {error.args[0].str()}") from None
        self.producer, self.run, self.last = made, run, self._found(run)
        return made

    def _found(self, run: str) -> tuple[int, int]:
        """The last message of a query: its micro-batch, and its place in that."""
        first, after = self.topic.ends()
        low, high = first.get(self.partition, 0), after.get(self.partition, 0)
        while high > low:
            start = max(low, high - AT_ONCE)
            last = None
            for messages in self.topic.between(self.partition, start, high):
                for message in messages:
                    headers = dict(message.headers() or ())
                    if headers.get(RUN) == run.encode():
                        last = headers[NUMBER]
            if last is not None:
                batch, place = last.split()
                return int(batch), int(place)
            high = start
        return -1, 0
