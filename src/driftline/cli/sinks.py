"""The sinks of `driftline run`: those that a script declares, and databases as the output.

    CREATE SINK totals WITH (type = 'duckdb', path = 'totals.duckdb', keys = 'symbol') AS SELECT …
    driftline run query.sql --output postgresql://me@host/db --view current --keys symbol

They are those of `driftline.spark.sinks`, on both runners. On Spark they recognise a micro-batch
that comes again; the local runner has no checkpoint, so that every run of it is another query to
them.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from driftline.running.environment import conceal, filled_in, in_connection
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.engine.outputs.now_view import NowChanges, NowView
    from driftline.engine.step_outputs import Outputs
    from driftline.plan.choices import Clock
    from driftline.running.options import NamedQuery
    from driftline.spark.query import Sink
    from driftline.spark.sinks import OneResult
    from driftline.spark.views import ViewName
    from driftline.sql import Output

POSTGRES = ("postgresql", "postgres")
DATABASES = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
"""What a file is, by its suffix, that is given as the output."""

TABLES = ("postgres", "duckdb", "sqlite")


@dataclass(frozen=True)
class DeclaredSink:
    """Where an answer goes: a sink, and which view of the answer it has."""

    options: Mapping[str, str]

    def table(self, name: str) -> tuple[str, ...]:
        """What tells its table from others, where there are tables; `name`: of the query. In
        PostgreSQL names are as they are written, in the others without regard to case."""
        kind, table = self.options["type"], self.options.get("table", name)
        if kind == "postgres":
            return *_server(self.options["url"]), table.removeprefix("public.")
        if self.is_table:
            return os.path.realpath(self.options["path"]), table.lower()
        return (name,)

    @property
    def is_table(self) -> bool:
        """Whether it is a table of a database."""
        return self.options["type"] in TABLES

    @property
    def keys(self) -> list[str]:
        from driftline.sql.connectors import key_names

        return key_names(self.options.get("keys", ""))

    @property
    def view(self) -> str:
        return self.options.get("view", "current" if self.keys else "changes")


def _server(url: str) -> tuple[str, ...]:
    """Which database a URL or connection string is of, whoever connects to it."""
    try:
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(url)
    except Exception:  # not there, or no such string: the sink says so
        return (url,)
    return tuple(str(parts.get(key, "")) for key in ("host", "hostaddr", "port", "dbname"))


def sinks_of(
    outputs: Sequence[Output], target: str, view: str | None, keys: str | None
) -> dict[str, DeclaredSink]:
    """By query, the sink that its answer goes to: as the script has it, or the database that is
    the output of the run."""
    found = {
        each.name: DeclaredSink(
            {
                key: filled_in(
                    value,
                    f"CREATE SINK {each.name}: {key}",
                    in_connection if key == "url" else None,
                )
                for key, value in each.sink.options.items()
            }
        )
        for each in outputs
        if each.sink is not None
    }
    base = _database(target)
    if keys is not None and not all(each.strip() for each in keys.split(",")):
        raise Problem(f"--keys: {keys!r} lacks the name of a column: give it as --keys a,b")
    if base is None:
        if keys is not None:
            raise Problem("--keys is for a database: --output postgresql://…, FILE.duckdb, .sqlite")
        return _apart(found)
    more = {"view": view, "keys": keys}
    own = {**base, **{key: value for key, value in more.items() if value is not None}}
    rest = [each.name for each in outputs if each.name not in found]
    if len(rest) > 1 and "table" in own:
        raise Problem(f"--output: {len(rest)} queries cannot be one table: leave table= out")
    if len(rest) > 1 and keys is not None:
        _need_keys([each for each in outputs if each.name in rest], keys)
    return _apart(found | {name: DeclaredSink(own) for name in rest})


def _need_keys(outputs: Sequence[Output], keys: str) -> None:
    """The keys that are given once are those of every query."""
    for each in outputs:
        for key in (name.strip() for name in keys.split(",") if name.strip()):
            if not each.plan.schema.find(key):
                raise Problem(
                    f"--keys is for each of the {len(outputs)} queries, and {each.name} has no "
                    f"column {key}: give each a sink of its own, CREATE SINK … WITH (keys = '…')"
                )


def _apart(found: dict[str, DeclaredSink]) -> dict[str, DeclaredSink]:
    """The sinks, if no two of them have one table."""
    tables: dict[tuple[str, ...], str] = {}
    for name, each in found.items():
        other = tables.setdefault(each.table(name), name)
        if other != name:
            raise Problem(f"the sinks {other} and {name} have the same table: name another")
    return found


def _database(target: str) -> dict[str, str] | None:
    """The options of the sink that an output names, if it is a database."""
    scheme, sign, _ = target.partition("://")
    if sign and scheme in POSTGRES:
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise Problem(f"--output: {target}: {error}") from None
        for secret in {parts.password or "", unquote(parts.password or "")}:
            conceal(secret)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        table = query.pop("table", None)
        rest = urlencode(query, quote_via=quote)
        url = target.partition("?")[0] + (f"?{rest}" if rest else "")
        return {"type": "postgres", "url": url} | ({} if table is None else {"table": table})
    kind = None if sign else DATABASES.get(Path(target).suffix.lower())
    return None if kind is None else {"type": kind, "path": target}


def is_database(target: str) -> bool:
    """Whether an output is a database."""
    return _database(target) is not None


def made(name: str, given: DeclaredSink, *, overwrite: bool) -> Sink:
    """The sink for the answer of a query. `overwrite`: in the place of what another run made."""
    from driftline.spark import sinks

    options, keys, view = given.options, given.keys, cast("ViewName", given.view)
    path = options.get("path", "")
    own: dict[str, Any] = {"keys": keys, "view": view, "output": name, "overwrite": overwrite}
    match options["type"]:
        case "postgres":
            return sinks.Postgres(options["url"], options.get("table", name), **own)
        case "duckdb":
            return sinks.DuckDB(path, options.get("table", name), **own)
        case "sqlite":
            return sinks.SQLite(path, options.get("table", name), **own)
        case "delta":
            return sinks.Delta(path, view, keys=keys)
        case "parquet":
            return sinks.Parquet(path, view)
        case "eventlog":
            kind = sinks.EventLog if Path(path).suffix else sinks.EventLogFiles
            return kind(path, _log_view(view))
        case "kafka":
            from driftline.running.kafka import OWN, Topic

            settings = {
                key[len(OWN) :]: value for key, value in options.items() if key.startswith(OWN)
            }
            topic = Topic(options["servers"], options["topic"], settings)
            return sinks.Kafka(topic, _log_view(view))
        case "console":
            return sinks.Console(view, rows=_number(name, options.get("rows", "20")))
    raise Problem(f"the sink {name} has a type that is not known")


def _log_view(view: str) -> Literal["changes", "now"]:
    """What an event log, which final rows are as well, has of an answer."""
    return "now" if view == "now" else "changes"


def _number(name: str, text: str) -> int:
    if not text.isdigit():
        raise Problem(f"the sink {name}: rows is a number, not {text}")
    return int(text)


class LocalSinks:
    """The sinks of a run of the local runner: each step is a micro-batch. `views`: the answers now
    of those that ask for them."""

    def __init__(self, queries: Sequence[NamedQuery]) -> None:
        own = [query for query in queries if query.sink is not None]
        self.sinks: dict[str, OneResult] = {}
        if own:  # a run without sinks does not load them
            self._open(own)

    def _open(self, own: Sequence[NamedQuery]) -> None:
        from driftline.engine.outputs.now_view import NowView
        from driftline.spark.sinks import OneResult
        from driftline.spark.update import before_the_first
        from driftline.spark.views import shown_now

        self.sinks = {query.name: OneResult(query.name, cast("Any", query.sink)) for query in own}
        self.timestamps = frozenset(query.name for query in own if query.plan.timestamps)
        self.schemas = {query.name: query.plan.schema.arrow for query in own}
        self.views: dict[str, NowView] = {
            query.name: NowView(query.plan.schema.arrow, cast("Clock", query.consistency.clock))
            for query in own
            if shown_now(query.sink, [query.name])
        }
        self.run, self.number = uuid.uuid4().hex, -1
        plans = {query.name: query.plan for query in own}
        about = before_the_first(plans, self.run)
        for sink in self.sinks.values():
            sink.prepare(about)

    def __call__(self, outputs: Outputs) -> None:
        """Write what one step emits."""
        if not self.sinks:
            return
        from driftline.engine.core.batch import empty
        from driftline.spark.update import SparkUpdate

        self.number += 1
        batches = {
            name: outputs.batches[name] if name in outputs.batches else empty(schema)
            for name, schema in self.schemas.items()
        }
        now = {name: view.update(batches[name], outputs.now) for name, view in self.views.items()}
        update = SparkUpdate(
            self.number,
            batches,
            {},
            time=time.time_ns() // 1_000_000,
            run=self.run,
            timestamps=self.timestamps,
            now=_Now(now),
        )
        for name, sink in self.sinks.items():
            prefix = outputs.prefixes.get(name)
            sink(update if prefix is None else replace(update, prefix=prefix))


@dataclass(frozen=True)
class _Now:
    changes: Mapping[str, NowChanges]
