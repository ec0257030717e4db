"""Results as Delta tables, through the package `deltalake` (pip install "driftline[delta]").

Each commit carries the query's name and the number of the micro-batch as an application
transaction of the Delta protocol: a micro-batch that comes again finds its number in the table.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.event_log.text import has_far
from driftline.plan.errors import PlanError
from driftline.spark.sinks.files import numbered
from driftline.spark.views import (
    Upserts,
    ViewName,
    difference_of,
    key_names,
    key_places,
    same_key,
    upserts,
    view_of,
)
from driftline.spark.written import FileTarget, Targets, WrittenFile, is_by_shard

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

    from driftline.model.prefix import Prefix
    from driftline.spark.update import SparkUpdate

_GONE = "driftline gone"
PREFIX = "driftline.prefix"
"""What a commit calls the prefix of the inputs that it stands for, as JSON."""

PLAIN_WRITER = 2
"""Up to this version of the protocol a writer has only to append."""


class Delta:
    """Appends a view of the result to a table; or, with `keys`, keeps a table of the current
    values, with the view "now" one of the answer now, by upserts and deletes. Of several results
    each has a table, URI/<result>.

    `storage_options`: as `deltalake` takes them, for S3, Azure and others."""

    def __init__(
        self,
        uri: str,
        view: ViewName | None = None,
        *,
        keys: Sequence[str] = (),
        storage_options: dict[str, str] | None = None,
    ) -> None:
        try:
            import deltalake  # noqa: F401
        except ImportError:
            raise PlanError(
                'the Delta sink needs the package deltalake: pip install "driftline[delta]"'
            ) from None
        self.uri, self.keys = str(uri), key_names(keys)
        self.name: ViewName = view or ("current" if self.keys else "changes")
        self.view = view_of(self.name)
        if self.keys and self.name not in ("current", "now"):
            raise PlanError(f"a table with a key has the view current or now, not {view!r}")
        self.storage_options = storage_options
        self.tables: dict[str, DeltaTable] = {}

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return [self.uri]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse columns that the view has itself, and a table without some that it has."""
        if Path(self.uri).is_file():
            raise PlanError(f"{self.uri} is a file: give a directory")
        for name in about.batches:
            micro_batch = about.micro_batch(name)
            columns = self.view(micro_batch).schema.names
            if self.keys:
                found = upserts(difference_of(self.name, micro_batch), self.keys)
                columns = found.rows.schema.names
            uri, _ = self._place(about, name)
            table = self._table(uri)
            there = columns if table is None else [each.name for each in table.schema().fields]
            for column in columns:
                if column not in there:
                    raise PlanError(f"the Delta table {uri} has no column {column}: name another")

    def targets(self, about: SparkUpdate) -> Targets | None:
        """Where executors write: files that no commit mentions are no part of a table. Not with
        options of the storage, which Arrow does not know, nor for a table that asks more of a
        writer than to append files of its columns."""
        if self.keys or not is_by_shard(self.name, about) or self.storage_options is not None:
            return None
        found: dict[str, list[FileTarget]] = {}
        for name in about.batches:
            uri, application = self._place(about, name)
            table = self._table(uri)
            schema = self.view(about.micro_batch(name)).schema
            if table is not None and not _takes_files(table, schema):
                return None
            if self._last(uri, application) < about.batch_id:
                found[name] = [self._target(uri, about)]
        return found

    def _target(self, uri: str, update: SparkUpdate) -> FileTarget:
        return FileTarget(uri, "", f"part-{numbered(update.batch_id, '-')}", self.name)

    def _place(self, update: SparkUpdate, name: str) -> tuple[str, str]:
        """The table of a result, and what its transactions are called."""
        uri = self.uri if len(update.batches) == 1 else f"{self.uri.rstrip('/')}/{name}"
        return uri, f"driftline {update.run} {name}"

    def __call__(self, update: SparkUpdate) -> None:
        from deltalake.exceptions import DeltaError

        for name in update.batches:
            uri, application = self._place(update, name)
            try:
                self._write(update, name, uri, application)
            except DeltaError as error:
                raise PlanError(f"the Delta table {uri}: {error}") from error

    def _write(self, update: SparkUpdate, name: str, uri: str, application: str) -> None:
        if self._last(uri, application) >= update.batch_id:
            return
        properties = _properties(application, update.batch_id, update.prefix)
        if update.files is not None:
            schema = self.view(update.micro_batch(name)).schema
            self._add(uri, update.files.get(self._target(uri, update), ()), schema, properties)
        elif self.keys:
            found = difference_of(self.name, update.micro_batch(name))
            self._upsert(uri, upserts(found, self.keys), properties, application)
        else:
            self._append(uri, self.view(update.micro_batch(name)), properties)

    def _table(self, uri: str) -> DeltaTable | None:
        """The table as it is now, of which only what is new is read; None: there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if uri in self.tables:
            try:
                self.tables[uri].update_incremental()
                return self.tables[uri]
            except (DeltaError, OSError):  # another has taken its place
                del self.tables[uri]
        options = self.storage_options
        if not DeltaTable.is_deltatable(uri, options):
            return None
        self.tables[uri] = DeltaTable(uri, storage_options=options)
        return self.tables[uri]

    def _last(self, uri: str, application: str) -> int:
        """The last micro-batch that is in a table."""
        table = self._table(uri)
        last = None if table is None else table.transaction_version(application)
        return -1 if last is None else last

    def _append(self, uri: str, rows: pa.Table, properties: CommitProperties) -> None:
        from deltalake import write_deltalake

        table = self._table(uri)
        if rows.num_rows == 0 and table is not None:
            return
        _refuse_far(rows)
        write_deltalake(
            uri if table is None else table,
            rows,
            mode="append",
            storage_options=self.storage_options,
            commit_properties=properties,
        )

    def _made(self, uri: str, schema: pa.Schema) -> DeltaTable:
        """The table, which is made if it is not there."""
        table = self._table(uri)
        if table is None:
            self._append(uri, schema.empty_table(), _properties("driftline created", 0))
            table = self._table(uri)
            assert table is not None
        return table

    def _add(
        self,
        uri: str,
        files: Sequence[WrittenFile],
        schema: pa.Schema,
        properties: CommitProperties,
    ) -> None:
        """Make files part of a table, in one transaction."""
        from deltalake.transaction import AddAction, RemoveAction

        table = self._made(uri, schema)
        if not files:
            return
        now = time.time_ns() // 1_000_000
        actions: list[AddAction | RemoveAction] = [
            AddAction(each.name, each.size, {}, now, True, json.dumps(each.stats)) for each in files
        ]
        table.create_write_transaction(actions, "append", schema, commit_properties=properties)

    def _upsert(
        self, uri: str, found: Upserts, properties: CommitProperties, application: str
    ) -> None:
        schema = found.rows.schema
        table = self._made(uri, schema)
        if len(found) == 0:
            return
        keys = [schema.names[place] for place in key_places(schema, self.keys)]
        twice = self._same_key(table, found, keys)
        if twice is not None:
            is_new = self._last(uri, application) < 0
            raise _of_another(uri) if is_new else same_key(keys, twice)
        rows = pa.Table.from_batches([found.rows, found.gone])
        _refuse_far(rows)
        gone = np.arange(len(rows)) >= found.rows.num_rows
        source = rows.append_column(_GONE, pa.array(gone))
        same = " AND ".join(
            f"(old.{_quoted(key)} IS NOT DISTINCT FROM new.{_quoted(key)})" for key in keys
        )
        columns = {_quoted(name): f"new.{_quoted(name)}" for name in schema.names}
        merger = table.merge(
            source,
            same,
            source_alias="new",
            target_alias="old",
            commit_properties=properties,
        )
        merger.when_matched_delete(f"new.{_quoted(_GONE)}").when_matched_update(
            columns
        ).when_not_matched_insert(columns, f"NOT new.{_quoted(_GONE)}").execute()

    def _same_key(
        self, table: DeltaTable, found: Upserts, keys: list[str]
    ) -> dict[str, Any] | None:
        """A key that no row had before this micro-batch, and that is in the table nevertheless."""
        new = found.rows.filter(pa.array(found.new)).select(keys)
        if new.num_rows == 0:
            return None
        reader: Any = table.scan(keys, _near(keys[0], new.column(0)))
        known = pa.table(reader).cast(new.schema)
        slots = Slots()
        slots.find_or_add(fingerprints(new.columns, new.num_rows))
        there = slots.find(fingerprints(known.columns, known.num_rows)) != NO_SLOT
        if not there.any():
            return None
        row: dict[str, Any] = known.slice(int(np.flatnonzero(there)[0]), 1).to_pylist()[0]
        return row


def _of_another(uri: str) -> PlanError:
    return PlanError(
        f"{uri} holds the results of another query (or of another run of this one): drop it, or "
        "name another"
    )


def _refuse_far(rows: pa.Table) -> None:
    """Refuse times that have no text in the statistics of a commit: nobody could read the table."""
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if has_far(column):
            raise PlanError(
                f"the column {name} has a time outside the years 0001 to 9999, which a Delta table "
                "cannot hold: leave it out, or cast it to STRING"
            )


def _takes_files(table: DeltaTable, schema: pa.Schema) -> bool:
    """Whether files with these columns can be added to a table as they are."""
    from deltalake import Schema

    plain = table.protocol().min_writer_version <= PLAIN_WRITER
    whole = not table.metadata().partition_columns
    return plain and whole and table.schema() == Schema.from_arrow(schema)


def _properties(application: str, version: int, prefix: Prefix | None = None) -> CommitProperties:
    """What a commit carries; where outputs are marked, also the prefix that it stands for."""
    from deltalake import CommitProperties, Transaction

    mark = None if prefix is None else {PREFIX: json.dumps(dict(prefix.events))}
    return CommitProperties(
        custom_metadata=mark, app_transactions=[Transaction(application, version)]
    )


def _near(name: str, values: pa.Array) -> str | None:
    """A predicate for the rows that may have one of these values: most files need not be read.

    >>> _near("k", pa.array(["it's", "a", None]))
    "`k` BETWEEN 'a' AND 'it''s' OR `k` IS NULL"
    """
    kind, column = values.type, _quoted(name)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (is_text or pa.types.is_integer(kind)):
        return None
    conditions = [] if values.null_count == 0 else [f"{column} IS NULL"]
    ends = pc.min_max(values).as_py()
    if ends["min"] is not None:
        low, high = (_literal(end) if is_text else str(end) for end in (ends["min"], ends["max"]))
        conditions.insert(0, f"{column} BETWEEN {low} AND {high}")
    return " OR ".join(conditions)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    """A column in a predicate."""
    return "`" + name.replace("`", "``") + "`"
