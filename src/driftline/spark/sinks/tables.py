"""What the sinks into tables of databases share: which rows of a result a table is given.

A view of the result is appended; or, with `keys`, the table has the current values (with the view
"now" the answer now), by upserts and deletes. One micro-batch is one transaction, which also writes
its number into the table driftline_progress: a micro-batch that comes again is recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from driftline.plan.errors import PlanError
from driftline.spark.views import (
    Upserts,
    ViewName,
    difference_of,
    key_names,
    key_places,
    upserts,
    view_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.spark.update import SparkUpdate

PROGRESS = "driftline_progress"
BATCH = "driftline_batch"


class _Rows(NamedTuple):
    """What of a micro-batch goes into a table: rows to append, or upserts by a key."""

    found: Upserts | pa.Table
    schema: pa.Schema
    keys: list[str]


def of_another(table: str) -> PlanError:
    """The error for a table that has rows which are not of this query."""
    return PlanError(
        f"{table} holds the results of another query (or of another run of this one): replace it "
        "(--overwrite, or overwrite=True), or name another"
    )


def refuse_own(table: str) -> None:
    """Refuse the table in which the micro-batches of all others are noted."""
    if table.lower() == PROGRESS:
        raise PlanError(f"the table {PROGRESS} is one of our own: name another")


class TableSink:
    """`output`: the result that the table is of; `keys`: the columns of its key; `view`: what of
    the result it has; `overwrite`: a table of another query, or of another run of this one, is
    replaced, in the transaction of the first micro-batch."""

    def __init__(
        self, keys: Sequence[str], view: ViewName | None, output: str, overwrite: bool
    ) -> None:
        self.output, self.keys, self.overwrite = output, key_names(keys), overwrite
        self.view: ViewName = view or ("current" if self.keys else "changes")
        view_of(self.view)
        if self.keys and self.view not in ("current", "now"):
            raise PlanError(f"a table with a key has the view current or now, not {view!r}")

    def rows_of(self, update: SparkUpdate) -> _Rows:
        """The rows that an update has for the table."""
        if self.output not in update.batches:
            known = ", ".join(update.batches)
            raise PlanError(f"there is no result {self.output}; there are {known}")
        micro_batch = update.micro_batch(self.output)
        if not self.keys:
            appended = view_of(self.view)(micro_batch)
            return _Rows(appended, appended.schema, [])
        found = upserts(difference_of(self.view, micro_batch), self.keys)
        schema = found.rows.schema
        return _Rows(found, schema, [schema.names[each] for each in key_places(schema, self.keys)])
