"""The Spark runner of the command line: queries over finite inputs, micro-batch by micro-batch.

Inputs are spooled, so that they are cut where the local runner cuts them. Spark runs in threads of
its own; what each micro-batch says comes back through a queue, and a micro-batch is not committed
before it has been taken and dealt with.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

from driftline.cli.runners import Consistency, Query, RunOptions, Spoken, engine_options
from driftline.engine.local import sources_of
from driftline.spark.query import SparkQuery, SparkSaid
from driftline.spark.said import Kept
from driftline.spark.session import session
from driftline.spark.spool import spool, spooled

if TYPE_CHECKING:
    from driftline.plan.nodes import Node


def run_queries(
    queries: list[Query], inputs: Mapping[str, Any], options: RunOptions
) -> Iterator[Spoken]:
    """Queries of the same consistency run as one, with one cut in common; others after them."""
    groups: dict[Consistency, dict[str, Node]] = {}
    for query in queries:
        groups.setdefault(query.consistency, {})[query.name] = query.plan
    temporary = None if options.checkpoint else Path(tempfile.mkdtemp(prefix="driftline-"))
    folder = temporary or Path(str(options.checkpoint))
    try:
        for number, (consistency, plans) in enumerate(groups.items()):
            own = folder / str(number) if len(groups) > 1 else folder
            needed = {name: inputs[name] for name in sources_of(plans.values())}
            for spoken in _run(plans, consistency, needed, options, own):
                # An event that several groups set aside is one dead letter.
                yield spoken if number == 0 else Spoken(spoken.batches, {})
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _run(
    plans: Mapping[str, Node],
    consistency: Consistency,
    inputs: Mapping[str, Any],
    options: RunOptions,
    folder: Path,
) -> Iterator[Spoken]:
    chosen = engine_options(consistency, plans, options)
    sources = sources_of(plans.values())
    folders = spool(sources, inputs, folder / "input", chosen.batch, keep_open=options.keep_open)
    spark = session(master=options.master)
    frames = {name: spooled(spark, path) for name, path in folders.items()}
    query = SparkQuery(plans, frames, chosen)
    kept = Kept(folder / "said", plans, sources)
    yield from (Spoken(said.batches, said.dead) for said in kept)
    handover = Handover(kept)
    started = query.start(handover.put, checkpoint=folder, trigger={"availableNow": True})
    watcher = threading.Thread(target=handover.watch, args=(started,), daemon=True)
    watcher.start()
    try:
        for said in handover:
            yield Spoken(said.batches, said.dead)
    finally:
        handover.let_go()
        started.stop()


class Handover:
    """Micro-batches on their way from Spark's thread to ours. `put` returns when what was put is
    kept and has been dealt with: only then is the micro-batch committed."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.waiting: Queue[SparkSaid | BaseException | None] = Queue()
        self.dealt_with = threading.Semaphore(0)

    def put(self, said: SparkSaid) -> None:
        if said.batch_id in self.kept:
            return
        self.kept.add(said)
        self.waiting.put(said)
        self.dealt_with.acquire()

    def watch(self, started: Any) -> None:
        """Wait for the end of a query, and pass it on."""
        try:
            started.awaitTermination()
        except BaseException as error:
            self.waiting.put(error)
        else:
            self.waiting.put(None)

    def let_go(self) -> None:
        """Let a thread that waits go on."""
        self.dealt_with.release()

    def __iter__(self) -> Iterator[SparkSaid]:
        while (said := self.waiting.get()) is not None:
            if isinstance(said, BaseException):
                raise said
            yield said
            self.dealt_with.release()
