"""The corners of the triangle: the tour's question to Driftline, on Spark, in three ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.cli.demo.measured import Answer, Measured, delays

if TYPE_CHECKING:
    from driftline.api import Query
    from driftline.cli.demo.feed import Feed
    from driftline.spark.sinks import Memory
    from driftline.spark.update import SparkUpdate

QUESTION = """\
SELECT symbol, count(*) AS trades, sum(qty) AS shares
FROM trades [RANGE 1 MINUTE SLIDE 1 MINUTE] GROUP BY symbol"""

MILLISECOND = 1000
FINALIZE = "finalize"


@dataclass(frozen=True)
class Corner:
    """How consistent the answers are: how long events wait, how long the past is remembered."""

    name: str
    meaning: str
    block: str = "0"
    remember: str = "inf"


CORNERS = (
    Corner("strong", "wait until it is final", block="inf"),
    Corner("middle", "answer now, correct later"),
    Corner("weak", "correct for 4 minutes", remember="4 minutes"),
)


def question() -> Query:
    """The question, over the stream of trades."""
    import driftline as dl

    columns = {"id": "BIGINT", "symbol": "STRING", "price": "DOUBLE", "qty": "BIGINT"}
    return dl.sql(QUESTION, trades=dl.stream("trades", columns, timestamps=True))


def spooled_feed(spark: Any, feed: Feed, folder: Path) -> Any:
    """The feed as a stream of files, one for each micro-batch."""
    from driftline.engine.plan_sources import sources_of
    from driftline.spark.spool import spool, spooled

    sources = sources_of([question().plan])
    paths = spool(sources, {"trades": feed.columns}, folder, feed.batch, keep_open=True)
    return spooled(spark, paths["trades"])


def at_corner(
    frame: Any, corner: Corner, clock: Sequence[int], folder: Path, tell: Callable[[], None]
) -> Measured:
    """Ask the question at a corner, of minutes that are over. `clock` is that of the feed after
    each micro-batch; the history of the answers goes by it, too."""
    import driftline as dl
    from driftline.spark.sinks import Memory

    memory = Memory()

    def keep(step: SparkUpdate) -> None:
        memory(replace(step, time=clock[step.batch_id] // MILLISECOND))
        tell()

    query = dl.on_spark(
        question(), {"trades": frame}, emit="perfect", block=corner.block, remember=corner.remember
    )
    query.start(keep, checkpoint=folder, trigger={"availableNow": True}).awaitTermination()
    return _measured(memory, clock)


def _measured(memory: Memory, clock: Sequence[int]) -> Measured:
    import pyarrow as pa

    from driftline.model.columns import INSERT

    first: dict[int, Answer] = {}
    seen: Answer = {}
    taken_back = state_rows = left_out = 0
    for number, step in sorted(memory.updates.items()):
        (batch,) = step.batches.values()
        changes = batch.changes()
        inserts = changes.kind == INSERT
        new = _answers(changes.vs[inserts].tolist(), changes.rows().filter(pa.array(inserts)))
        first[number] = {key: value for key, value in new.items() if key not in seen}
        seen |= first[number]
        taken_back += int((~inserts).sum())
        state_rows = max(state_rows, _held(step))
        left_out += sum(len(letters) for letters in step.dead_letters.values())
    history = memory.history()
    return Measured(
        answer=_answers(history.column("vs").cast(pa.int64()).to_pylist(), history),
        first=seen,
        delays=delays(first, clock),
        taken_back=taken_back,
        state_rows=state_rows,
        left_out=left_out,
        history=memory.table(view="history"),
    )


def _answers(ends: Sequence[int], rows: Any) -> Answer:
    """The answer for the minute [T - 1 minute, T) holds from T on."""
    return {
        (row["symbol"], end): (row["trades"], row["shares"])
        for end, row in zip(ends, rows.to_pylist(), strict=True)
    }


def _held(step: SparkUpdate) -> int:
    """How many events wait, and how many rows the operators hold, in all shards. What Finalize
    notes is left out: it clears that away only when there is much of it."""
    return sum(
        counted["state_rows"] for key, counted in step.counters.items() if key.operator != FINALIZE
    )
