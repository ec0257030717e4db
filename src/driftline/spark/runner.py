"""The Spark runner of the command line: queries over inputs, micro-batch by micro-batch.

Files are spooled, so that they are cut where the local runner cuts them; what is read as it comes
is left to Spark's sources. Spark runs in threads of
its own; the update of each micro-batch comes back through a queue, and a micro-batch is not
committed before it has been taken and dealt with.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any, cast

from driftline.engine.outputs.clock import wall_time
from driftline.engine.plan_sources import constants, sources_of
from driftline.engine.step_outputs import Outputs
from driftline.model.prefix import Prefix
from driftline.running.notes import WHAT_TO_DO
from driftline.running.options import (
    Consistency,
    NamedQuery,
    RunOptions,
    by_consistency,
    engine_options,
)
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, inside
from driftline.spark.checkpoint import Checkpoint, completed_in
from driftline.spark.emitted import EmittedFiles
from driftline.spark.failures import cause, could_not_start
from driftline.spark.inputs import close, is_closing, streamed_events
from driftline.spark.now import for_now
from driftline.spark.places import address_of, file_name
from driftline.spark.query import SparkQuery
from driftline.spark.session import session
from driftline.spark.sinks import OneResult, Several
from driftline.spark.spool import spool, spooled
from driftline.spark.update import SparkUpdate, before_the_first

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from driftline.plan.choices import Clock
    from driftline.plan.nodes import Node
    from driftline.spark.query import Sink
    from driftline.spark.written import Targets


def run_queries(
    queries: list[NamedQuery], inputs: Mapping[str, Any], options: RunOptions
) -> Generator[Outputs]:
    """Queries of the same consistency run as one, with one cut in common; others after them. What
    cannot go on from its checkpoint is refused at once."""
    _need_open(inputs, options)
    sinks = {query.name: cast("Sink", query.sink) for query in queries if query.sink is not None}
    return _run_groups(by_consistency(queries), inputs, options, sinks)


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
    groups: Mapping[Consistency, Mapping[str, Node]],
    inputs: Mapping[str, Any],
    options: RunOptions,
    sinks: Mapping[str, Sink],
) -> Generator[Outputs]:
    temporary = None if options.checkpoint else Path(tempfile.mkdtemp(prefix="driftline-"))
    folder = temporary or Path(address_of(str(options.checkpoint)))
    several = len(groups) > 1
    places = [folder / str(number) if several else folder for number in range(len(groups))]
    try:
        for own, plans in zip(places, groups.values(), strict=True):
            _refuse(Checkpoint(str(own)), plans, sinks)
        for number, (consistency, plans) in enumerate(groups.items()):
            own = places[number]
            sources = sources_of(plans.values())
            given = {**inputs, **constants(sources)}
            needed = {name: given[name] for name in sources}
            own_sinks = [OneResult(name, sinks[name]) for name in plans if name in sinks]
            last = options.after.get(number, -1)
            for update in _run(plans, consistency, needed, options, own, own_sinks, last):
                yield Outputs(
                    update.batches,
                    # An event that several groups set aside is one dead letter.
                    update.dead_letters if number == 0 else {},
                    {key._replace(run=number): each for key, each in update.counters.items()},
                    _prefixes(plans, update.prefix, needed),
                    now=wall_time() if consistency.clock == "wall" else update.latest,
                    number=(number, update.batch_id),
                    now_changes={} if update.now is None else update.now.changes,
                )
        if options.close:
            for place in (folder, *folder.glob("[0-9]*")):
                Checkpoint(str(place)).close()
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _refuse(kept: Checkpoint, plans: Mapping[str, Node], sinks: Mapping[str, Sink]) -> None:
    """Refuse what cannot go on or be written, of all groups before the first of them writes."""
    kept.verify()
    about = before_the_first(plans, kept.run)
    for name in plans:
        if name in sinks:
            OneResult(name, sinks[name]).prepare(about)


def _run(
    plans: Mapping[str, Node],
    consistency: Consistency,
    inputs: Mapping[str, Any],
    options: RunOptions,
    folder: Path,
    sinks: Sequence[Sink],
    last: int,
) -> Iterator[SparkUpdate]:
    chosen = engine_options(consistency, plans, options)
    if chosen.clock is not None:
        chosen = for_now(chosen, chosen.clock)
    sources = sources_of(plans.values())
    streamed = {name: data for name, data in inputs.items() if isinstance(data, Streamed)}
    whole = {name: source for name, source in sources.items() if name not in streamed}
    folders = spool(whole, inputs, folder / "input", chosen.batch, keep_open=options.keep_open)
    controls = {name: folder / "closing" / file_name(name) for name in streamed}
    spark = _session(options)
    frames = {
        name: streamed_events(
            spark, streamed[name], source, controls[name], with_files=chosen.outputs != "free"
        )
        if name in streamed
        else spooled(spark, folders[name])
        for name, source in sources.items()
    }
    query = SparkQuery(plans, frames, chosen, clock=cast("Clock", consistency.clock))
    kept = None
    places = {name: _place(data) for name, data in streamed.items()}
    if options.is_kept:
        kept = EmittedFiles(folder / "emitted", plans, sources, marked=query.is_marked)
        done = completed_in(folder).get(0, kept.last)
        if kept.last not in (done, done + 1):
            raise Problem(f"{folder}/emitted lacks answers of micro-batches: {WHAT_TO_DO}")
        for update in kept:
            last = update.batch_id
            yield update
    handed = [name for name in plans if options.written is None or name in options.written]
    known = Handed(last, kept, handed, is_now=options.now and bool(handed) and kept is None)
    if options.follow:
        yield from _started(query, known, sinks, folder, places, {})
        return
    yield from _started(query, known, sinks, folder, places, ALL_THERE_IS)
    if options.close or (options.checkpoint is None and not options.keep_open):
        still_open = [control for control in controls.values() if not is_closing(control)]
        for control in still_open:
            close(control)
        if still_open:
            yield from _started(query, known, sinks, folder, places, ALL_THERE_IS)


def _place(data: Streamed) -> str:
    """Where an input comes from: a directory, or a topic, whichever servers it is asked of."""
    if data.kind == "files":
        return address_of(data.place)
    return f"{data.kind} {data.place.rpartition('/')[2]}".strip()


def _prefixes(
    plans: Mapping[str, Node], prefix: Prefix | None, inputs: Mapping[str, Any]
) -> dict[str, Prefix]:
    """The prefix of every result, with the names that files have in their directories."""
    if prefix is None:
        return {}
    places = {name: each.place for name, each in inputs.items() if isinstance(each, Streamed)}
    files = {
        name: {inside(places[name], path): count for path, count in read.items()}
        for name, read in prefix.files.items()
    }
    return dict.fromkeys(plans, replace(prefix, files=files))


def _session(options: RunOptions) -> SparkSession:
    try:
        return session(master=options.master, settings=options.settings)
    except Exception as error:  # of Java, of its gateway, or of PySpark
        if "driftline" in type(error).__module__:
            raise
        raise Problem(could_not_start(str(error), options.master)) from error


ALL_THERE_IS = {"availableNow": True}


def _started(
    query: SparkQuery,
    known: Handed,
    sinks: Sequence[Sink],
    folder: Path,
    places: Mapping[str, str],
    trigger: Mapping[str, Any],
) -> Generator[SparkUpdate]:
    """The updates of a query from its start to its end, or until the consumer stops."""
    handover = Handover(known)
    sink = Several(*sinks, handover)
    started = query.launch(sink, str(folder), trigger, inputs=places)
    watcher = threading.Thread(target=handover.watch, args=(started,), daemon=True)
    watcher.start()
    try:
        yield from handover
    finally:
        handover.let_go()
        started.stop()


@dataclass
class Handed:
    """What the consumer has. `last`: the last micro-batch; `kept`: where all is kept that was
    emitted, if that is so; `names`: the results that it takes; `is_now`: it takes what changes in
    the answers now."""

    last: int
    kept: EmittedFiles | None
    names: Sequence[str]
    is_now: bool


class Handover:
    """Micro-batches on their way from Spark's thread to ours: a sink. It returns when what it was
    given is kept, if need be, and has been dealt with: only then is the micro-batch committed."""

    def __init__(self, known: Handed) -> None:
        self.known = known
        self.view, self.outputs = "now" if known.is_now else "changes", known.names
        self.waiting: Queue[SparkUpdate | BaseException | None] = Queue()
        self.dealt_with = threading.Semaphore(0)

    def targets(self, about: SparkUpdate) -> Targets | None:
        """If no result is to be handed over, executors may write what others want."""
        return None if self.known.names else {}

    def __call__(self, update: SparkUpdate) -> None:
        if self.known.is_now:
            for name in self.known.names:
                update.micro_batch(name)  # which depends on the micro-batches before
        if update.batch_id <= self.known.last:
            return
        if self.known.kept is not None:
            self.known.kept.add(update)
        self.known.last = update.batch_id
        self.waiting.put(update if self.known.is_now else replace(update, now=None))
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

    def __iter__(self) -> Iterator[SparkUpdate]:
        while (update := self.waiting.get()) is not None:
            if isinstance(update, BaseException):
                raise Problem(f"the query has failed: {cause(str(update))}") from update
            yield update
            self.dealt_with.release()
