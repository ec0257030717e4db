"""The Spark runner of the command line: queries over inputs, micro-batch by micro-batch.

Files are spooled, so that they are cut where the local runner cuts them; what is read as it comes
is left to Spark's sources. Spark runs in threads of
its own; what each micro-batch says comes back through a queue, and a micro-batch is not committed
before it has been taken and dealt with.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

from driftline.cli.errors import Problem
from driftline.cli.learned import learned
from driftline.cli.progress import Tally
from driftline.cli.runners import Consistency, Query, RunOptions, Spoken, engine_options
from driftline.cli.streams import Streamed
from driftline.engine.local import constants, sources_of
from driftline.spark.checkpoint import Checkpoint
from driftline.spark.failures import cause, could_not_start
from driftline.spark.inputs import close, is_closing, streamed_events
from driftline.spark.query import SparkQuery, SparkSaid
from driftline.spark.said import Kept
from driftline.spark.session import session
from driftline.spark.spool import spool, spooled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from driftline.plan.nodes import Node


def run_queries(
    queries: list[Query], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Spoken]:
    """Queries of the same consistency run as one, with one cut in common; others after them. What
    cannot go on from its checkpoint is refused at once."""
    groups: dict[Consistency, dict[str, Node]] = {}
    for query in queries:
        groups.setdefault(query.consistency, {})[query.name] = query.plan
    _need_open(inputs, options)
    return _run_groups(queries, groups, inputs, options)


def _need_open(inputs: Mapping[str, Any], options: RunOptions) -> None:
    """Refuses to go on where nothing new can come."""
    if options.checkpoint is None:
        return
    growing = [each.shown for each in inputs.values() if isinstance(each, Streamed)]
    if growing and Checkpoint(options.checkpoint).is_closed:
        raise Problem(
            f"--checkpoint: {options.checkpoint} has been closed (--close), so that nothing new of "
            f"{growing[0]} can come: give another directory, and --close only when all has come"
        )
    folder = Path(options.checkpoint)
    controls = (*folder.glob("closing/*"), *folder.glob("[0-9]*/closing/*"))
    if not options.close and any(map(is_closing, controls)):
        raise Problem(
            f"--checkpoint: a run with --close was stopped while it closed {options.checkpoint}: "
            "run it once more with --close"
        )


def _run_groups(
    queries: list[Query],
    groups: Mapping[Consistency, Mapping[str, Node]],
    inputs: Mapping[str, Any],
    options: RunOptions,
) -> Generator[Spoken]:
    temporary = None if options.checkpoint else Path(tempfile.mkdtemp(prefix="driftline-"))
    folder = temporary or Path(str(options.checkpoint))
    tally = Tally([q.name for q in queries], timestamps=all(q.plan.timestamps for q in queries))
    held = Held()
    try:
        for number, (consistency, plans) in enumerate(groups.items()):
            own = folder / str(number) if len(groups) > 1 else folder
            sources = sources_of(plans.values())
            given = {**inputs, **constants(sources)}
            needed = {name: given[name] for name in sources}
            for said in _run(plans, consistency, needed, options, own):
                held.add(number, said.heads)
                progress = tally.add(said.batches, held.events, held.rows)
                # An event that several groups set aside is one dead letter.
                dead = said.dead if number == 0 else {}
                yield Spoken(said.batches, dead, progress, learned(held.counters.values()))
        if options.close:
            for place in (folder, *folder.glob("[0-9]*")):
                Checkpoint(str(place)).close()
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


class Held:
    """What the shards have received and hold, by what they said last."""

    def __init__(self) -> None:
        self.counters: dict[tuple[int, int, int], Mapping[str, Mapping[str, int]]] = {}

    def add(self, group: int, heads: Mapping[tuple[int, int], Mapping[str, Any]]) -> None:
        for (level, shard), head in heads.items():
            self.counters[group, level, shard] = head["counters"]

    @property
    def rows(self) -> int:
        return sum(each["state_rows"] for held in self.counters.values() for each in held.values())

    @property
    def events(self) -> int:
        """How many events have come; those of a source that goes to several places come once."""
        come: dict[tuple[str, int, int], int] = {}
        for (group, level, _), held in self.counters.items():
            for name, counted in held.items():
                if "dead_letters" in counted:  # it stands at a source
                    place = (name, group, level)
                    come[place] = come.get(place, 0) + counted["changes_in"]
        most: dict[str, int] = {}
        for (name, *_), count in come.items():
            source = name.split(":")[0].split(" (")[0]
            most[source] = max(most.get(source, 0), count)
        return sum(most.values())


def _run(
    plans: Mapping[str, Node],
    consistency: Consistency,
    inputs: Mapping[str, Any],
    options: RunOptions,
    folder: Path,
) -> Iterator[SparkSaid]:
    chosen = engine_options(consistency, plans, options)
    sources = sources_of(plans.values())
    streamed = {name: data for name, data in inputs.items() if isinstance(data, Streamed)}
    whole = {name: source for name, source in sources.items() if name not in streamed}
    folders = spool(whole, inputs, folder / "input", chosen.batch, keep_open=options.keep_open)
    controls = {name: folder / "closing" / name for name in streamed}
    spark = _session(options)
    frames = {
        name: streamed_events(spark, streamed[name], source, controls[name])
        if name in streamed
        else spooled(spark, folders[name])
        for name, source in sources.items()
    }
    query = SparkQuery(plans, frames, chosen)
    kept = Kept(folder / "said", plans, sources)
    yield from kept
    if options.follow:
        yield from _started(query, kept, folder, {})
        return
    yield from _started(query, kept, folder, ALL_THERE_IS)
    if options.close or (options.checkpoint is None and not options.keep_open):
        still_open = [control for control in controls.values() if not is_closing(control)]
        for control in still_open:
            close(control)
        if still_open:
            yield from _started(query, kept, folder, ALL_THERE_IS)


def _session(options: RunOptions) -> SparkSession:
    try:
        return session(master=options.master, settings=options.settings)
    except Exception as error:  # of Java, of its gateway, or of PySpark
        if "driftline" in type(error).__module__:
            raise
        raise Problem(could_not_start(str(error), options.master)) from error


ALL_THERE_IS = {"availableNow": True}


TOO_SLOW = "Python worker failed to connect back"
"""What Spark says of a process that took more than ten seconds to start: the machine is busy."""

PATIENCE = 3
"""So many times in a row a query is started again if that happens."""


def _started(
    query: SparkQuery, kept: Kept, folder: Path, trigger: Mapping[str, Any]
) -> Iterator[SparkSaid]:
    """What a query says from its start to its end, or until nobody asks any more."""
    left = PATIENCE
    while True:
        try:
            with closing(_once(query, kept, folder, trigger)) as spoken:
                for said in spoken:
                    left = PATIENCE
                    yield said
        except Problem as problem:
            left -= 1
            if TOO_SLOW not in str(problem) or not left:
                raise
        else:
            return


def _once(
    query: SparkQuery, kept: Kept, folder: Path, trigger: Mapping[str, Any]
) -> Generator[SparkSaid]:
    """What a query says in one go: it goes on from its checkpoint."""
    handover = Handover(kept)
    started = query.start(handover.put, checkpoint=folder, trigger=trigger)
    watcher = threading.Thread(target=handover.watch, args=(started,), daemon=True)
    watcher.start()
    try:
        yield from handover
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
                raise Problem(f"the query has failed: {cause(str(said))}") from said
            yield said
            self.dealt_with.release()
