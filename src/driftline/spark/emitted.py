"""What a query on Spark has emitted, by micro-batch: so the command line writes every change once.

    DIR/000000012.arrow             the changes, ctis and dead letters of micro-batch 12
    DIR/000000000-000000999.arrow   those of a thousand: files are put together when there are many

A file appears whole or not at all. A micro-batch that comes again after a crash finds its file and
is not emitted twice; a run that goes on reads what earlier runs have emitted. Messages are written
as they have left the last stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pyarrow as pa

from driftline.engine.shards.stored import (
    compressed,
    message_rows,
    messages_in,
)
from driftline.engine.state.stored_rows import rows_of_ipc
from driftline.event_log.atomic import atomic_file
from driftline.plan.nodes import Node, Source
from driftline.running.notes import sealed, unsealed
from driftline.spark.marks import Count, inputs_of
from driftline.spark.update import SparkUpdate, spark_update

NUMBER = "batch"
"""The column with the number of a message's micro-batch."""

SUFFIX = ".arrow"

MANY = 1_000
"""So many files of one micro-batch each become one."""


class EmittedFiles:
    """The folder of what was emitted. `spans`: the first and last micro-batch of every file;
    `marked`: updates have the prefix that they belong to."""

    def __init__(
        self,
        folder: Path,
        plans: Mapping[str, Node],
        sources: Mapping[str, Source],
        *,
        marked: bool = False,
    ) -> None:
        self.folder, self.plans, self.sources, self.marked = folder, plans, sources, marked
        folder.mkdir(parents=True, exist_ok=True)
        self.spans = self._found()

    @property
    def last(self) -> int:
        """The last micro-batch up to which all are there."""
        after = 0
        for first, last in self.spans:
            after = last + 1 if first == after else after
        return after - 1

    def __contains__(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.spans)

    def __iter__(self) -> Iterator[SparkUpdate]:
        count = Count.of(inputs_of(self.sources))
        for span in self.spans:
            rows = self._read(span)
            numbered = zip(rows.column(NUMBER).to_pylist(), messages_in(rows), strict=True)
            for number, own in groupby(numbered, key=itemgetter(0)):
                messages = [message for _, message in own]
                update = spark_update(number, messages, self.plans, self.sources)
                count = count.after(update.reads)
                yield replace(update, prefix=count.prefix(update.reads) if self.marked else None)

    def add(self, update: SparkUpdate) -> None:
        number = update.batch_id
        rows = message_rows(update.packed())
        numbers = pa.array([number] * len(rows), pa.int64())
        self._write((number, number), rows.append_column(NUMBER, numbers))
        self.spans.append((number, number))
        single = [(first, last) for first, last in self.spans if first == last]
        if len(single) >= MANY:
            together = pa.concat_batches([self._read(span) for span in single])
            self._write((single[0][0], single[-1][1]), together)
            self.spans = self._found()

    def _found(self) -> list[tuple[int, int]]:
        """The files that are there; those that have become part of a larger one go."""
        numbers = [path.stem.split("-") for path in self.folder.glob(f"*{SUFFIX}")]
        spans = [(int(each[0]), int(each[-1])) for each in numbers]
        kept: list[tuple[int, int]] = []
        for first, last in sorted(spans, key=lambda span: (span[0], -span[1])):
            if kept and last <= kept[-1][1]:
                self._path((first, last)).unlink()
            else:
                kept.append((first, last))
        return kept

    def _path(self, span: tuple[int, int]) -> Path:
        first, last = span
        name = f"{first:09}" if first == last else f"{first:09}-{last:09}"
        return self.folder / f"{name}{SUFFIX}"

    def _write(self, span: tuple[int, int], rows: pa.RecordBatch) -> None:
        path = self._path(span)
        with atomic_file(path) as file:
            file.write(sealed(compressed(rows)))

    def _read(self, span: tuple[int, int]) -> pa.RecordBatch:
        path = self._path(span)
        return rows_of_ipc(unsealed(path.read_bytes(), str(path)))
