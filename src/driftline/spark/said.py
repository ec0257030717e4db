"""What a query on Spark has said, by micro-batch: so the command line says every answer once.

    DIR/000000012.arrow   the changes, ctis and dead letters of micro-batch 12

A file appears whole or not at all. A micro-batch that comes again after a crash finds its file and
is not said twice; a run that goes on reads what earlier runs have said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
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


class Kept:
    """The folder of what was said."""

    def __init__(
        self, folder: Path, plans: Mapping[str, Node], sources: Mapping[str, Source]
    ) -> None:
        self.folder, self.plans, self.sources = folder, plans, sources
        folder.mkdir(parents=True, exist_ok=True)

    def numbers(self) -> list[int]:
        """The micro-batches that are there."""
        return sorted(int(path.stem) for path in self.folder.glob(f"*{SUFFIX}"))

    def __contains__(self, number: int) -> bool:
        return self._path(number).exists()

    def __iter__(self) -> Iterator[SparkSaid]:
        for number in self.numbers():
            yield self._read(number)

    def add(self, said: SparkSaid) -> None:
        parcels: list[Parcel] = []
        for name, batch in said.batches.items():
            parcels += packed_batch(batch, Target(OUTPUT, name), 1, 0)
        for name, letters in said.dead.items():
            parcels.append(Parcel(OUTPUT, DEAD + name, 0, 0, data=letters_to_bytes(letters)))
        path = self._path(said.batch_id)
        half = path.with_suffix(".half")
        with half.open("wb") as file:
            file.write(parcels_to_bytes(parcels))
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:09}{SUFFIX}"

    def _read(self, number: int) -> SparkSaid:
        batches: dict[str, Batch] = {}
        dead: dict[str, DeadLetters] = {}
        for parcel in parcels_from_bytes(self._path(number).read_bytes()):
            if parcel.port.startswith(DEAD):
                name = parcel.port.removeprefix(DEAD)
                dead[name] = letters_from_bytes(parcel.data, self.sources[name].schema.arrow)
            else:
                schema: pa.Schema = self.plans[parcel.port].schema.arrow
                rows = unpacked_batch(parcel.data, schema) if parcel.data else empty(schema)
                batches[parcel.port] = replace(rows, cti=parcel.cti)
        return SparkSaid(number, batches, dead)
