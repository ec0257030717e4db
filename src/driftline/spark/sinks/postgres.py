"""Results in a table of PostgreSQL (pip install "driftline[postgres]"): current values by upserts
and deletes, or, without a key, a view of the result to which every micro-batch is appended.

One micro-batch is one transaction, which also writes the number of the micro-batch into the table
driftline_progress, by which a micro-batch that comes again after a crash is recognised; beside it,
where outputs are marked, the prefix of the inputs that the table is the answer for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.state.fingerprints import string_buffers
from driftline.event_log.text import TEXT, has_far, joined, moments_text, values_text
from driftline.model.arrays import text_scalar, to_arrow, without_empty_parts
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.running.locks import InUse
from driftline.spark.sinks.tables import BATCH, PROGRESS, TableSink, of_another, refuse_own
from driftline.spark.views import Upserts, ViewName, same_key

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed, Identifier

    from driftline.model.prefix import Prefix
    from driftline.spark.update import SparkUpdate

_OP = "driftline op"
_NEW, _CHANGED, _GONE = "new", "changed", "gone"

_DIGITS = np.frombuffer(bytes(range(256)).hex().encode(), np.uint8).reshape(-1, 2)
"""The two hexadecimal digits of every byte."""

_NULLS_NOT_DISTINCT = 150_000
"""From this version of the server on, nulls can be equal in a key."""


class Postgres(TableSink):
    """Keeps a table of the current values of one result, or with the view "now" of the answer now,
    from which a row is deleted when its lifetime ends; without `keys` a view is appended to it.
    `conninfo`: as psycopg takes it; `table`: its name, or schema and name; `keys`: the columns of
    its key. A table that is not there is made.

    The key needs a unique index: a table that is made has one, in which (from PostgreSQL 15 on)
    nulls are equal."""

    def __init__(
        self,
        conninfo: str,
        table: str | Sequence[str],
        keys: Sequence[str] = (),
        *,
        output: str = RESULT,
        view: ViewName | None = None,
        overwrite: bool = False,
    ) -> None:
        super().__init__(keys, view, output, overwrite)
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise PlanError(
                'the PostgreSQL sink needs psycopg: pip install "driftline[postgres]"'
            ) from None
        self.conninfo = conninfo
        self.names = table.split(".") if isinstance(table, str) else list(table)
        self.made = False
        refuse_own(self.names[-1])

    @property
    def table(self) -> Identifier:
        from psycopg.sql import Identifier

        return Identifier(*self.names)

    def _connected(self) -> Connection:
        import psycopg

        try:
            return psycopg.connect(self.conninfo)
        except psycopg.Error as error:
            raise PlanError(f"PostgreSQL: {error}") from error

    @contextmanager
    def hold(self) -> Iterator[None]:
        """The table as that of one run: the server holds the lock as long as the connection."""
        with self._connected() as connection:
            connection.autocommit = True
            name = ".".join(self.names)
            key = connection.execute(
                "SELECT hashtextextended('driftline ' || %s, 0)", [name]
            ).fetchone()
            connection.execute(f"SET application_name = 'driftline {os.getpid()}'")
            if connection.execute("SELECT pg_try_advisory_lock(%s)", key).fetchone() != (True,):
                holder = connection.execute(
                    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE "
                    "locktype = 'advisory' AND granted AND ((classid::bigint << 32) | "
                    "objid::bigint) = %s",
                    key,
                ).fetchone()
                process = "another" if holder is None else holder[0].rpartition(" ")[2]
                raise InUse(
                    f"PostgreSQL: the table {name} is being written by another run (process "
                    f"{process}): wait for it, stop it, or name another"
                )
            yield

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse what could not be written, by a transaction that comes to nothing."""
        import psycopg
        from psycopg.sql import SQL

        _, schema, keys = self.rows_of(about)
        try:
            with self._connected() as connection:
                self._make(connection, about.run, schema, keys)
                connection.execute(
                    SQL("SELECT {} FROM {} t LIMIT 0").format(_list(schema.names, "t"), self.table)
                )
                connection.rollback()
        except psycopg.Error as error:
            raise self._problem(error, keys) from error

    def __call__(self, update: SparkUpdate) -> None:
        import psycopg

        found, schema, keys = self.rows_of(update)
        try:
            self._take(update, found, schema, keys)
        except psycopg.Error as error:
            raise self._problem(error, keys) from error

    def _problem(self, error: Exception, keys: Sequence[str]) -> PlanError:
        """What the server says, and what to do where that is not plain."""
        from psycopg.errors import InvalidColumnReference

        what = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
        if isinstance(error, InvalidColumnReference):
            what = f"its key ({', '.join(keys)}) has no unique index: make one"
        return PlanError(f"PostgreSQL: the table {'.'.join(self.names)}: {what}")

    def _take(
        self, update: SparkUpdate, found: Upserts | pa.Table, schema: pa.Schema, keys: list[str]
    ) -> None:
        with self._connected() as connection:  # commits at its end
            if not self.made:
                self._make(connection, update.run, schema, keys)
            if self._is_next(connection, update) and len(found):
                if isinstance(found, Upserts):
                    self._write(connection, found, keys)
                else:
                    self._append(connection, found)
        self.made = True

    def _append(self, connection: Connection, rows: pa.Table) -> None:
        from psycopg.sql import SQL

        into = SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(
            self.table, _list(rows.column_names)
        )
        with connection.cursor().copy(into) as copy:
            copy.write(_csv([], rows))

    def _make(self, connection: Connection, run: str, schema: pa.Schema, keys: list[str]) -> None:
        from psycopg.sql import SQL, Identifier

        connection.execute(
            SQL(
                "CREATE TABLE IF NOT EXISTS {} (run text, target text, batch bigint NOT NULL, "
                "prefix jsonb, PRIMARY KEY (run, target))"
            ).format(Identifier(PROGRESS))
        )
        connection.execute(
            SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS prefix jsonb").format(Identifier(PROGRESS))
        )
        self._replace_others(connection, run)
        columns = [
            SQL("{} {}").format(Identifier(field.name), SQL(_type(field))) for field in schema
        ]
        if keys:
            nulls = connection.info.server_version >= _NULLS_NOT_DISTINCT
            kind = SQL("UNIQUE NULLS NOT DISTINCT" if nulls else "PRIMARY KEY")
            columns.append(SQL("{} ({})").format(kind, _list(keys)))
        connection.execute(
            SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(self.table, SQL(", ").join(columns))
        )

    def _replace_others(self, connection: Connection, run: str) -> None:
        """Refuse a table that another query has written to, with or without the name of its
        schema, or drop it if that is wanted; one that was dropped is forgotten."""
        from psycopg.sql import SQL, Identifier

        target = ".".join(self.names)
        schema = connection.execute("SELECT current_schema()").fetchone()
        default = f"{schema[0]}." if schema else ""
        names = {target, target.removeprefix(default)} | (
            {default + target} if len(self.names) == 1 else set()
        )
        known = connection.execute(
            SQL("SELECT run, target FROM {} WHERE target = ANY(%s)").format(Identifier(PROGRESS)),
            [list(names)],
        ).fetchall()
        if not known or known == [(run, target)]:
            return
        place = self.table.as_string(connection)
        there = connection.execute("SELECT to_regclass(%s)", [place]).fetchone()
        if there is not None and there[0] is not None:
            if not self.overwrite:
                raise of_another(f"PostgreSQL: the table {target}")
            connection.execute(SQL("DROP TABLE {}").format(self.table))
        connection.execute(
            SQL("DELETE FROM {} WHERE target = ANY(%s)").format(Identifier(PROGRESS)), [list(names)]
        )

    def _is_next(self, connection: Connection, update: SparkUpdate) -> bool:
        """Record the micro-batch in the table, and return whether it is new there."""
        from psycopg.sql import SQL, Identifier

        done = connection.execute(
            SQL(
                "INSERT INTO {table} AS known (run, target, batch, prefix) "
                "VALUES (%s, %s, %s, %s::jsonb) ON CONFLICT (run, target) "
                "DO UPDATE SET batch = EXCLUDED.batch, prefix = EXCLUDED.prefix "
                "WHERE known.batch < EXCLUDED.batch"
            ).format(table=Identifier(PROGRESS)),
            [update.run, ".".join(self.names), update.batch_id, _json(update.prefix)],
        )
        return done.rowcount == 1

    def _write(self, connection: Connection, found: Upserts, keys: list[str]) -> None:
        from psycopg.sql import SQL, Identifier

        names = found.rows.schema.names
        batch = Identifier(BATCH)
        connection.execute(
            SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT ''::text AS {}, {} FROM {} "
                "WITH NO DATA").format(batch, Identifier(_OP), _list(names), self.table)
        )  # fmt: skip
        rows = pa.Table.from_batches([found.rows, found.gone])
        with connection.cursor().copy(SQL("COPY {} FROM STDIN (FORMAT csv)").format(batch)) as copy:
            copy.write(_csv([_ops(found)], rows))
        same = SQL(" AND ").join(_equal(key, rows.column(key)) for key in keys)
        op = SQL("b.{}").format(Identifier(_OP))
        twice = connection.execute(
            SQL("SELECT {} FROM {} t JOIN {} b ON {} WHERE {} = {} LIMIT 1").format(
                SQL(", ").join(_shown(key, rows.column(key)) for key in keys),
                self.table,
                batch,
                same,
                op,
                _NEW,
            )
        ).fetchone()
        if twice is not None:
            raise same_key(keys, dict(zip(keys, twice, strict=True)))
        connection.execute(
            SQL("DELETE FROM {} t USING {} b WHERE {} = {} AND {}").format(
                self.table, batch, op, _GONE, same
            )
        )
        others = [name for name in names if name not in keys]
        sets = [SQL("{0} = EXCLUDED.{0}").format(Identifier(name)) for name in others]
        connection.execute(
            SQL(
                "INSERT INTO {} ({}) SELECT {} FROM {} b WHERE {} <> {} ON CONFLICT ({}) {}"
            ).format(
                self.table,
                _list(names),
                _list(names),
                batch,
                op,
                _GONE,
                _list(keys),
                SQL("DO UPDATE SET {}").format(SQL(", ").join(sets)) if sets else SQL("DO NOTHING"),
            )
        )


def _json(prefix: Prefix | None) -> str | None:
    return None if prefix is None else json.dumps(dict(prefix.events))


def _list(names: Sequence[str], of: str | None = None) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL(", ").join(
        Identifier(name) if of is None else Identifier(of, name) for name in names
    )


def _equal(key: str, values: pa.ChunkedArray) -> Composed:
    """The same key; nulls are looked at only where there are some, as an index is no help then."""
    from psycopg.sql import SQL, Identifier

    ours, theirs = Identifier("t", key), Identifier("b", key)
    equal = SQL("{} = {}").format(ours, theirs)
    if values.null_count == 0:
        return equal
    return SQL("({} OR ({} IS NULL AND {} IS NULL))").format(equal, ours, theirs)


def _shown(key: str, values: pa.ChunkedArray) -> Composed:
    """A key of the table as Python can have it: times that are too far away for it as texts."""
    from psycopg.sql import SQL, Identifier

    return SQL("{}::text" if has_far(values) else "{}").format(Identifier("t", key))


def _ops(found: Upserts) -> pa.Array:
    """What is to be done with each row."""
    codes = np.concatenate([np.where(found.new, 0, 1), np.full(found.gone.num_rows, 2)])
    return pa.array([_NEW, _CHANGED, _GONE]).take(to_arrow(codes))


def _csv(before: Sequence[pa.Array], rows: pa.Table) -> bytes:
    """Columns and rows as PostgreSQL reads them: a null is nothing at all, a text always in
    quotes."""
    from pyarrow import csv

    columns = [
        *before,
        *(_as_csv(column, field) for column, field in zip(rows.columns, rows.schema, strict=True)),
    ]
    table = pa.table(columns, names=[str(place) for place in range(len(columns))])
    buffer = BytesIO()
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(without_empty_parts(table), buffer, options)
    return buffer.getvalue()


def _as_csv(column: pa.ChunkedArray, field: pa.Field) -> Any:
    """A column in a form that CSV can hold: nested values as JSON, bytes in hexadecimal."""
    kind = field.type
    if pa.types.is_nested(kind):
        array = column.combine_chunks()
        text = values_text(array, field.name)
        return pc.if_else(array.is_valid(), text, pa.scalar(None, text.type))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _hexadecimal(column.combine_chunks())
    return _moments(column.combine_chunks()) if has_far(column) else column


def _moments(array: pa.Array) -> pa.Array:
    """Dates or timestamps as PostgreSQL writes them, years before 1 as years BC. It says itself
    which ones are too far away for it.

    >>> _moments(pa.array([-719_163, 10**8, None], pa.int32()).cast(pa.date32())).to_pylist()
    ['0001-12-31 BC', '275760-09-13', None]
    """
    texts = moments_text(array).to_pylist()
    return pa.array([None if text is None else _years_of(text) for text in texts], TEXT)


def _years_of(iso: str) -> str:
    year, *rest = iso.lstrip("+-").split("-")
    number = -int(year) if iso.startswith("-") else int(year)
    before = number <= 0
    return "-".join([f"{1 - number if before else number:04d}", *rest]) + before * " BC"


def _hexadecimal(array: pa.Array) -> pa.Array:
    r"""Bytes as PostgreSQL writes them.

    >>> _hexadecimal(pa.array([b"\x00\xff", None])).to_pylist()
    ['\\x00ff', None]
    """
    offsets, data = string_buffers(array)
    digits = _DIGITS[data[offsets[0] : offsets[-1]]]
    starts = pa.py_buffer(2 * (offsets - offsets[0]))
    text = pa.Array.from_buffers(TEXT, len(array), [None, starts, pa.py_buffer(digits.tobytes())])
    return pc.if_else(array.is_valid(), joined(["\\x", text]), text_scalar(None))


def _type(field: pa.Field) -> str:
    """The type of a column that is made."""
    kind, types = field.type, pa.types
    if types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    tests = {
        "boolean": types.is_boolean,
        "smallint": lambda kind: types.is_int8(kind) or types.is_int16(kind),
        "integer": types.is_int32,
        "bigint": types.is_int64,
        "real": types.is_float32,
        "double precision": types.is_float64,
        "text": lambda kind: types.is_string(kind) or types.is_large_string(kind),
        "bytea": lambda kind: types.is_binary(kind) or types.is_large_binary(kind),
        "date": types.is_date,
        "jsonb": types.is_nested,
    }
    for name, test in tests.items():
        if test(kind):
            return name
    raise PlanError(f"the column {field.name} is a {kind}, which PostgreSQL does not have: cast it")
