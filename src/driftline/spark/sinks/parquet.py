"""Results as Parquet files: a directory to which every micro-batch adds one file.

    DIR/part-000000012.parquet            of a query with one result
    DIR/<result>/part-000000012.parquet   of one with several

A file appears whole; half files have names that Spark, Arrow, DuckDB and Polars pass over.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from driftline.plan.errors import PlanError
from driftline.spark.places import place_of
from driftline.spark.sinks.files import OwnFolder, numbered
from driftline.spark.views import ViewName, view_of

if TYPE_CHECKING:
    from driftline.spark.update import SparkUpdate

PART = "part-"


class Parquet:
    """Writes a view of every result. A micro-batch that changes nothing has no file, but for
    the first, so that the columns are known."""

    def __init__(self, path: str | Path, view: ViewName = "changes") -> None:
        self.folder, self.view = OwnFolder(path), view_of(view)

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [self.folder.path]

    def __call__(self, update: SparkUpdate) -> None:
        self.folder.claim(update.run)
        for name in update.batches:
            table = self.view(update.micro_batch(name))
            if table.num_rows or update.batch_id == 0:
                below = "" if len(update.batches) == 1 else f"{name}/"
                file = below + PART + numbered(update.batch_id, ".parquet")
                self.folder.put(file, partial(pq.write_table, table))


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
