"""Results in tables of DuckDB and SQLite, in a file of this machine.

What they are given is told in `tables`. Between two micro-batches the file is closed, so that
others can read it.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from driftline.event_log.text import moments_text, plain_values, values_text
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.spark.places import file_name
from driftline.spark.sinks.tables import BATCH, PROGRESS, TableSink, of_another, refuse_own
from driftline.spark.views import Upserts, ViewName, key_places, same_key

if TYPE_CHECKING:
    from driftline.spark.update import SparkUpdate


class _Undone(Exception):
    """Ends a transaction that was only a trial."""


class Database(TableSink, ABC):
    """A table in a file. `table`: its name, if not that of the result."""

    def __init__(
        self,
        path: str | Path,
        table: str | None = None,
        *,
        keys: Sequence[str] = (),
        view: ViewName | None = None,
        output: str = RESULT,
        overwrite: bool = False,
    ) -> None:
        super().__init__(keys, view, output, overwrite)
        self.path = Path(path)
        self.table = output if table is None else table
        refuse_own(self.table)

    @property
    def shared_places(self) -> list[str]:
        """What it writes, as may other sinks."""
        return [str(self.path)]

    @property
    def own_tables(self) -> list[str]:
        """What it alone writes of that."""
        return [f"{self.path}.{file_name(self.table.lower())}"]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse what could not be written, by a transaction that comes to nothing."""
        _, schema, _ = self.rows_of(about)
        if self.path.exists():
            with suppress(_Undone), self._transaction() as session:
                self._made(session, about.run, schema)
                names = _names(schema.empty_table(), "t")
                session.run(f"SELECT {names} FROM {quoted(self.table)} t LIMIT 0")
                raise _Undone

    def _made(self, session: _Session, run: str, schema: pa.Schema) -> int | None:
        """The last micro-batch that is in the table, which is made if it is not there."""
        session.run(
            f"CREATE TABLE IF NOT EXISTS {quoted(PROGRESS)} "
            "(run TEXT, target TEXT, batch BIGINT, PRIMARY KEY (run, target))"
        )
        last = self._last(session, run)
        if last is None:
            session.make(self.table, schema, self.keys)
        return last

    def __call__(self, update: SparkUpdate) -> None:
        found, schema, keys = self.rows_of(update)
        with self._transaction() as session:
            last = self._made(session, update.run, schema)
            if last is not None and last >= update.batch_id:
                return
            session.run(
                f"INSERT INTO {quoted(PROGRESS)} VALUES (?, ?, ?) "
                "ON CONFLICT (run, target) DO UPDATE SET batch = excluded.batch",
                [update.run, self.table, update.batch_id],
            )
            if isinstance(found, pa.Table):
                session.append(self.table, found)
            else:
                self._upsert(session, found, keys)

    def _last(self, session: _Session, run: str) -> int | None:
        """The last micro-batch that is in the table; None: nothing of this query is."""
        same = f"FROM {quoted(PROGRESS)} WHERE lower(target) = lower(?)"  # the same table to both
        known = session.run(f"SELECT run, target, batch {same}", [self.table])
        for *whose, batch in known:
            if whose == [run, self.table]:
                return int(batch)
        if known and session.has(self.table):
            if not self.overwrite:
                raise of_another(f"{self.path}: the table {self.table}")
            session.run(f"DROP TABLE {quoted(self.table)}")
        session.run(f"DELETE {same}", [self.table])
        return None

    def _upsert(self, session: _Session, found: Upserts, keys: list[str]) -> None:
        if not len(found):
            return
        new = pa.Table.from_batches([found.rows.filter(pa.array(found.new))])
        changed = found.rows.filter(pa.array(~np.asarray(found.new, np.bool_)))
        old = pa.Table.from_batches([changed, found.gone])
        if new.num_rows and (twice := session.matching(self.table, new.select(keys))):
            raise same_key(keys, dict(zip(keys, twice, strict=True)))
        if old.num_rows:
            session.delete(self.table, old.select(keys))
        session.append(self.table, pa.Table.from_batches([found.rows]))

    @contextmanager
    def _transaction(self) -> Iterator[_Session]:
        """A transaction, which is there in full when all went well, and not at all otherwise."""
        with self._connected() as session:
            try:
                session.run("BEGIN")
                try:
                    yield session
                except BaseException:
                    with suppress(session.error):  # it may be over by itself
                        session.run("ROLLBACK")
                    raise
                session.run("COMMIT")
            except session.error as error:
                raise PlanError(f"{self.path}: the table {self.table}: {error}") from error

    @abstractmethod
    def _connected(self) -> _Session: ...


class _Session(ABC):
    """A connection, and what differs between the databases. `error`: what theirs are."""

    error: type[Exception]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement gives."""

    @abstractmethod
    def has(self, table: str) -> bool:
        """Whether there is a table."""

    @abstractmethod
    def make(self, table: str, schema: pa.Schema, keys: Sequence[str]) -> None:
        """Make a table unless it is there."""

    @abstractmethod
    def append(self, table: str, rows: pa.Table) -> None:
        """Insert rows."""

    @abstractmethod
    def matching(self, table: str, keys: pa.Table) -> tuple[Any, ...] | None:
        """One of these keys that a row of the table has."""

    @abstractmethod
    def delete(self, table: str, keys: pa.Table) -> None:
        """Delete the rows with these keys."""


class DuckDB(Database):
    """A table in a file of DuckDB (pip install "driftline[duckdb]")."""

    def _connected(self) -> _Session:
        return _DuckSession(self.path)


class SQLite(Database):
    """A table in a file of SQLite, which has no types of its own for times, decimals and nested
    values: they are texts, as in JSON."""

    def _connected(self) -> _Session:
        return _SQLiteSession(self.path)


class _DuckSession(_Session):
    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise PlanError(
                'the DuckDB sink needs duckdb: pip install "driftline[duckdb]"'
            ) from None
        self.error = duckdb.Error
        try:
            self.connection = duckdb.connect(str(path))
        except duckdb.Error as error:
            raise PlanError(f"{path}: {error}") from None

    def close(self) -> None:
        self.connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        done = self.connection.execute(statement, list(values))
        return done.fetchall() if done.description else []

    def has(self, table: str) -> bool:
        tables = "information_schema.tables WHERE lower(table_name) = lower(?)"
        return bool(self.run(f"SELECT 1 FROM {tables}", [table]))

    def make(self, table: str, schema: pa.Schema, keys: Sequence[str]) -> None:
        with self._registered(schema.empty_table()):
            self.run(f"CREATE TABLE IF NOT EXISTS {quoted(table)} AS SELECT * FROM {BATCH}")

    def append(self, table: str, rows: pa.Table) -> None:
        with self._registered(rows):
            self.run(f"INSERT INTO {quoted(table)} ({_names(rows)}) SELECT * FROM {BATCH}")

    def matching(self, table: str, keys: pa.Table) -> tuple[Any, ...] | None:
        with self._registered(keys):
            found = self.connection.sql(
                f"SELECT {_names(keys, 't')} FROM {quoted(table)} t JOIN {BATCH} b "
                f"ON {_same(keys, 'IS NOT DISTINCT FROM')} LIMIT 1"
            ).to_arrow_table()
        return tuple(plain_values(each)[0] for each in found.columns) if len(found) else None

    def delete(self, table: str, keys: pa.Table) -> None:
        with self._registered(keys):
            same = _same(keys, "IS NOT DISTINCT FROM")
            self.run(f"DELETE FROM {quoted(table)} t USING {BATCH} b WHERE {same}")

    @contextmanager
    def _registered(self, rows: pa.Table) -> Iterator[None]:
        self.connection.register(BATCH, rows)
        yield
        self.connection.unregister(BATCH)


class _SQLiteSession(_Session):
    error = sqlite3.Error

    def __init__(self, path: Path) -> None:
        try:
            self.connection = sqlite3.connect(path, isolation_level=None)
            self.run(f"PRAGMA busy_timeout = {PATIENCE}")
        except sqlite3.Error as error:
            raise PlanError(f"{path}: {error}") from None

    def close(self) -> None:
        self.connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, values).fetchall()

    def has(self, table: str) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE lower(name) = lower(?)", [table]))

    def make(self, table: str, schema: pa.Schema, keys: Sequence[str]) -> None:
        columns = _sqlite_columns(schema)
        self.run(f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({columns})")
        if keys:
            own = [schema.names[place] for place in key_places(schema, keys)]
            index, names = quoted(f"{table} by key"), ", ".join(map(quoted, own))
            self.run(f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(table)} ({names})")

    def append(self, table: str, rows: pa.Table) -> None:
        self._insert(quoted(table), rows)

    def _insert(self, table: str, rows: pa.Table) -> None:
        places = ", ".join("?" * rows.num_columns)
        columns = [_sqlite_values(column, each) for column, each in _columns(rows)]
        self.connection.executemany(
            f"INSERT INTO {table} ({_names(rows)}) VALUES ({places})", zip(*columns, strict=True)
        )

    def matching(self, table: str, keys: pa.Table) -> tuple[Any, ...] | None:
        with self._beside(keys):
            found = self.run(
                f"SELECT {_names(keys, 't')} FROM temp.{BATCH} b CROSS JOIN {quoted(table)} t "
                f"WHERE {_same(keys, 'IS')} LIMIT 1"
            )
        return found[0] if found else None

    def delete(self, table: str, keys: pa.Table) -> None:
        with self._beside(keys):  # the batch first: an index finds the rows
            self.run(
                f"DELETE FROM {quoted(table)} WHERE rowid IN (SELECT t.rowid FROM temp.{BATCH} b "
                f"CROSS JOIN {quoted(table)} t WHERE {_same(keys, 'IS')})"
            )

    @contextmanager
    def _beside(self, keys: pa.Table) -> Iterator[None]:
        """Keys as a table of this connection."""
        columns = ", ".join(
            f"{quoted(each.name)} {_sqlite_type(each.type)}" for each in keys.schema
        )
        self.run(f"CREATE TEMP TABLE {BATCH} ({columns})")
        self._insert(f"temp.{BATCH}", keys)
        yield
        self.run(f"DROP TABLE temp.{BATCH}")


PATIENCE = 10_000
"""Milliseconds that a micro-batch waits for other connections that read."""


def quoted(name: str) -> str:
    """A name in a statement.

    >>> quoted('a "name"')
    '"a ""name\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def _names(rows: pa.Table, of: str | None = None) -> str:
    before = "" if of is None else f"{of}."
    return ", ".join(f"{before}{quoted(name)}" for name in rows.column_names)


def _same(keys: pa.Table, equal: str) -> str:
    return " AND ".join(f"t.{quoted(name)} {equal} b.{quoted(name)}" for name in keys.column_names)


def _columns(rows: pa.Table) -> Iterator[tuple[pa.ChunkedArray, pa.Field]]:
    return zip(rows.columns, rows.schema, strict=True)


def _sqlite_columns(schema: pa.Schema) -> str:
    return ", ".join(f"{quoted(each.name)} {_sqlite_type(each.type)}" for each in schema)


def _sqlite_type(kind: pa.DataType) -> str:
    tests: dict[str, Callable[[pa.DataType], bool]] = {
        "INTEGER": lambda kind: pa.types.is_integer(kind) or pa.types.is_boolean(kind),
        "REAL": pa.types.is_floating,
        "BLOB": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    }
    return next((name for name, test in tests.items() if test(kind)), "TEXT")


def _sqlite_values(column: pa.ChunkedArray, field: pa.Field) -> list[Any]:
    kind = field.type
    if pa.types.is_nested(kind):
        array = column.combine_chunks()
        text = values_text(array, field.name)
        return list(pa.compute.if_else(array.is_valid(), text, None).to_pylist())
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return list(moments_text(column.combine_chunks()).to_pylist())
    values: list[Any] = column.to_pylist()
    if _sqlite_type(kind) == "TEXT" and not pa.types.is_string(kind):
        return [None if each is None else str(each) for each in values]
    return values
