"""What a query on Spark has said, by micro-batch: so the command line says every answer once.

    DIR/000000012.arrow             the changes, ctis and dead letters of micro-batch 12
    DIR/000000000-000000999.arrow   those of a thousand: files are put together when there are many

A file appears whole or not at all. A micro-batch that comes again after a crash finds its file and
is not said twice; a run that goes on reads what earlier runs have said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from driftline.engine.batch import Batch, empty
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.parcels import OUTPUT, Parcel, Target, packed_batch, unpacked_batch
from driftline.engine.state_log import parcels_from_bytes, parcels_to_bytes
from driftline.plan.nodes import Node, Source
from driftline.spark.letters import DEAD, letters_from_bytes, letters_to_bytes
from driftline.spark.query import SparkSaid

SUFFIX = ".arrow"

MANY = 1_000
"""So many files of one micro-batch each become one."""


class Kept:
    """The folder of what was said. `spans`: the first and last micro-batch of every file."""

    def __init__(
        self, folder: Path, plans: Mapping[str, Node], sources: Mapping[str, Source]
    ) -> None:
        self.folder, self.plans, self.sources = folder, plans, sources
        folder.mkdir(parents=True, exist_ok=True)
        self.spans = self._found()

    def __contains__(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.spans)

    def __iter__(self) -> Iterator[SparkSaid]:
        for span in self.spans:
            for number, parcels in groupby(self._read(span), key=lambda each: each.origin):
                yield self._said(number, parcels)

    def add(self, said: SparkSaid) -> None:
        number = said.batch_id
        parcels: list[Parcel] = []
        for name, batch in said.batches.items():
            parcels += packed_batch(batch, Target(OUTPUT, name), 1, number)
        for name, letters in said.dead.items():
            parcels.append(Parcel(OUTPUT, DEAD + name, 0, number, data=letters_to_bytes(letters)))
        self._write((number, number), parcels)
        self.spans.append((number, number))
        single = [(first, last) for first, last in self.spans if first == last]
        if len(single) >= MANY:
            together = [parcel for span in single for parcel in self._read(span)]
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

    def _write(self, span: tuple[int, int], parcels: list[Parcel]) -> None:
        path = self._path(span)
        half = path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(parcels_to_bytes(parcels))
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)

    def _read(self, span: tuple[int, int]) -> list[Parcel]:
        return parcels_from_bytes(self._path(span).read_bytes())

    def _said(self, number: int, parcels: Iterable[Parcel]) -> SparkSaid:
        batches: dict[str, Batch] = {}
        dead: dict[str, DeadLetters] = {}
        for parcel in parcels:
            if parcel.port.startswith(DEAD):
                name = parcel.port.removeprefix(DEAD)
                dead[name] = letters_from_bytes(parcel.data, self.sources[name].schema.arrow)
            else:
                schema: pa.Schema = self.plans[parcel.port].schema.arrow
                rows = unpacked_batch(parcel.data, schema) if parcel.data else empty(schema)
                batches[parcel.port] = replace(rows, cti=parcel.cti)
        return SparkSaid(number, batches, dead)
