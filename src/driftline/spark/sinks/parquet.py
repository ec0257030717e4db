"""Results as Parquet files: a directory to which every micro-batch adds a file for each shard.

    DIR/part-000000012-00003.parquet            of a query with one result
    DIR/<result>/part-000000012-00003.parquet   of one with several

Executors write the files (but those of the views current and now: see `spark.written`) in a folder
beside them, and the driver gives them their names when all are there. A file appears whole; half
files have names that Spark, Arrow, DuckDB and Polars pass over.
Where outputs are marked, DIR/_marks/000000012.json has the prefix of the inputs that the files up
to this micro-batch are the answer for.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from driftline.event_log.writer import mark_line
from driftline.plan.errors import PlanError
from driftline.spark.places import place_of
from driftline.spark.sinks.files import OwnFolder, numbered
from driftline.spark.views import ViewName, view_of
from driftline.spark.written import FileTarget, Targets, is_by_shard

if TYPE_CHECKING:
    from driftline.spark.update import SparkUpdate

PART, MARKS = "part-", "_marks"

STAGED = ".staged-"
"""What the folders are called in which files wait for the commit of their micro-batch."""


class Parquet:
    """Writes a view of every result. A micro-batch that changes nothing has no file, but for
    the first, so that the columns are known."""

    def __init__(self, path: str | Path, view: ViewName = "changes") -> None:
        self.folder, self.name, self.view = OwnFolder(path), view, view_of(view)

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [self.folder.path]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse the folder of another query, and columns that the view has itself."""
        self.folder.check(about.run)
        for name in about.batches:
            self.view(about.micro_batch(name))

    def targets(self, about: SparkUpdate) -> Targets | None:
        """Where executors write: beside the results, in a folder that goes with the commit."""
        self.folder.claim(about.run)
        if not is_by_shard(self.name, about):
            return None
        for name in about.batches:
            self.view(about.micro_batch(name))  # which refuses columns that it has itself
        return {name: [self._target(about, name)] for name in about.batches}

    def _target(self, update: SparkUpdate, name: str) -> FileTarget:
        folder = self.folder.path.rstrip("/") + ("" if len(update.batches) == 1 else f"/{name}")
        staged = f"{STAGED}{numbered(update.batch_id, '/')}"
        return FileTarget(folder, staged, PART + numbered(update.batch_id, "-"), self.name)

    def __call__(self, update: SparkUpdate) -> None:
        self.folder.claim(update.run)
        for name in update.batches:
            below = "" if len(update.batches) == 1 else f"{name}/"
            part = below + PART + numbered(update.batch_id, "-")
            if update.files is not None:
                target = self._target(update, name)
                staged = update.files.get(target, ())
                moved = {f"{below}{each.name}": f"{part}{each.shard:05}.parquet" for each in staged}
                self.folder.adopt(moved, below + target.below)
                tables = []
            elif is_by_shard(self.name, update):
                tables = [(shard, self.view(each)) for shard, each in update.by_shard(name)]
            else:
                tables = [(0, self.view(update.micro_batch(name)))]
            for shard, table in tables:
                if table.num_rows:
                    self.folder.put(f"{part}{shard:05}.parquet", partial(pq.write_table, table))
            if update.batch_id == 0 and not self.folder.has(part):
                nothing = self.view(update.micro_batch(name))
                self.folder.put(f"{part}00000.parquet", partial(pq.write_table, nothing))
            if update.prefix is not None:
                mark = f"{below}{MARKS}/{numbered(update.batch_id, '.json')}"
                self.folder.put(mark, partial(_write, mark_line(name, update.prefix)))


def _write(data: bytes, file: IO[bytes]) -> None:
    file.write(data)


def read_parquet(path: str | Path, output: str | None = None) -> pa.Table:
    """All whole files of a result, in the order of the micro-batches; files that are no Parquet, as
    a copy that was broken off leaves them, are passed over."""
    files, root = place_of(path)
    folder = f"{root}/{output}" if output else root
    tables = []
    found = files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    for name in sorted(info.base_name for info in found):
        if not (name.startswith(PART) and name.endswith(".parquet")):
            continue
        try:
            tables.append(pq.read_table(f"{folder}/{name}", filesystem=files, partitioning=None))
        except pa.ArrowInvalid:
            continue
    if not tables:
        raise PlanError(f"there are no results in {folder}")
    return pa.concat_tables(tables)
