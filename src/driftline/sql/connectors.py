"""Where the rows of a stream come from, and where those of a sink go: their options in WITH.

    CREATE STREAM trades (…) WITH (time = 'ts', path = 'trades/', format = 'csv');
    CREATE SINK totals WITH (type = 'postgres', url = 'postgresql://…', keys = 'symbol') AS …

A value may name environment variables, `${PGPASSWORD}`. It stays as it is written here: only a run
fills it in, so that nothing that prints a script or a plan can show what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, get_args

from sqlglot import exp

from driftline.plan.choices import View
from driftline.plan.used import place_of, uses
from driftline.sql.errors import refuse

SinkType = Literal[
    "postgres", "delta", "parquet", "eventlog", "duckdb", "sqlite", "kafka", "console"
]
VIEWS: tuple[View, ...] = get_args(View)
SINK_TYPES: tuple[SinkType, ...] = get_args(SinkType)

OF_INPUTS = ("path", "format", "stream", "delimiter", "sep", "timestampformat", "dateformat")
OF_EVERY_SINK = ("type", "view")
OF_SINKS: dict[SinkType, tuple[str, ...]] = {
    "postgres": ("url", "table", "keys"),
    "delta": ("path", "keys"),
    "parquet": ("path",),
    "eventlog": ("path",),
    "duckdb": ("path", "table", "keys"),
    "sqlite": ("path", "table", "keys"),
    "kafka": ("servers", "topic"),
    "console": ("rows",),
}
"""What a sink of each type takes, besides its type and its view."""
NEEDED: dict[SinkType, tuple[str, ...]] = {
    "postgres": ("url",),
    "kafka": ("servers", "topic"),
    "console": (),
}
"""What it cannot do without; of all others that is the path."""
VARIABLE = "${"
"""With it begins what a run fills in."""
LOGS: tuple[SinkType, ...] = ("eventlog", "kafka")
OF_LOGS: tuple[View, ...] = ("changes", "now", "finals")
"""The views that are events."""
OF_KEYED: tuple[View, ...] = ("current", "now")
"""The views that a table with keys can have."""


_ELSEWHERE = {
    **dict.fromkeys(
        ("connector", "connectors", "kafka_topic"),
        "a stream is read from a path (a file, a directory, 'kafka://HOST:PORT/TOPIC') with a "
        "format, and a sink has a type",
    ),
    "timestamp": "the column that has the time is time = '…'",
    "value_format": "it is format = '…', with a path",
    "emit_final": "SET final = true, or EMIT FINAL after the query, emits each row once",
}
"""Options of other engines, and what is written here."""


@dataclass(frozen=True)
class Connector:
    """The options of an input or a sink as they are written, and the place of the statement."""

    options: Mapping[str, str] = field(default_factory=dict)
    line: int = 1
    column: int = 1


def options_in(items: Sequence[exp.Expr], known: Sequence[str]) -> dict[str, exp.Expr]:
    """The options of a WITH by their names: of those that are known, and with a dot in the name
    (`kafka.sasl.password`) of whatever is behind."""
    options: dict[str, exp.Expr] = {}
    for each in items:
        uses(each, "this", "expression")
        uses(each.expression, "this", "is_string")
        key = each.name if "." in each.name else each.name.lower()
        if key in _ELSEWHERE:
            raise refuse(f"there is no option {each.name}: {_ELSEWHERE[key]}", each)
        if key not in known and "." not in key:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise refuse(f"there is no option {each.name}; {hint}", each)
        if key in options:
            raise refuse(f"the option {key} is given twice", each)
        options[key] = each.expression
    return options


def input_of(options: Mapping[str, exp.Expr], node: exp.Expr) -> Connector | None:
    """Where a stream is read from, if its declaration has a path."""
    own = {key: each.name for key, each in options.items() if key in OF_INPUTS or "." in key}
    if own and not own.get("path"):
        key = next(iter(own))
        raise refuse(f"{key} is about an input: give its path, too", options[key])
    line, column = place_of(node)
    return Connector(own, line or 1, column or 1) if own else None


def sink_of(items: Sequence[exp.Expr], node: exp.Expr) -> Connector:
    """What a CREATE SINK says, if it says all that its type needs."""
    every = dict.fromkeys(key for keys in OF_SINKS.values() for key in keys)
    options = options_in(items, [*OF_EVERY_SINK, *every])
    kind = options["type"].name.lower() if "type" in options else None
    if kind not in SINK_TYPES:
        known = ", ".join(SINK_TYPES)
        said = "is missing" if kind is None else f"is not {kind}"
        raise refuse(f"the type of a sink {said}: it is one of {known}", options.get("type", node))
    if "view" in options and options["view"].name.lower() not in VIEWS:
        raise refuse(
            f"there is no view {options['view'].name}; there are {', '.join(VIEWS)}",
            options["view"],
        )
    taken = OF_SINKS[kind]
    for key, each in options.items():
        if key not in (*OF_EVERY_SINK, *taken) and "." not in key:
            raise refuse(f"a sink of type {kind} takes {', '.join(taken)}, but no {key}", each)
    for key in NEEDED.get(kind, ("path",)):
        if key not in options:
            raise refuse(f"a sink of type {kind} needs {key} = '…'", node)
    for key, each in options.items():
        if not each.name.strip():
            raise refuse(f"{key} is empty: give it a value, or leave it out", each)
    rows = options.get("rows")
    if rows is not None and not rows.name.isdigit() and VARIABLE not in rows.name:
        raise refuse(f"rows is a number, not {rows.name}", rows)
    _need_fitting_view(kind, options)
    line, column = place_of(node)
    lower = {key: options[key].name.lower() for key in OF_EVERY_SINK if key in options}
    own = {key: each.name for key, each in options.items()}
    return Connector({**own, **lower}, line or 1, column or 1)


def need_keys(items: Sequence[exp.Expr], names: Sequence[str]) -> None:
    """Refuse keys of a sink that are no columns of the result, whose `names` these are."""
    keys = next((each.expression for each in items if each.name.lower() == "keys"), None)
    if keys is None or VARIABLE in keys.name:  # then only a run knows them
        return
    given, lower = key_names(keys.name), [name.lower() for name in names]
    for number, key in enumerate(given):
        if key.lower() not in lower:
            known = ", ".join(names)
            raise refuse(f"the key column {key} is not in the result, which has {known}", keys)
        if key.lower() in [each.lower() for each in given[:number]]:
            raise refuse(f"the key column {key} is named twice", keys)


def key_names(text: str) -> list[str]:
    """The names in `keys = 'a, b'`."""
    return [key.strip() for key in text.split(",") if key.strip()]


def _need_fitting_view(kind: SinkType, options: Mapping[str, exp.Expr]) -> None:
    """Refuse a view that the sink cannot have."""
    view = options["view"].name.lower() if "view" in options else None
    if view is None:
        return
    if kind in LOGS and view not in OF_LOGS:
        raise refuse(
            f"a sink of type {kind} is an event log: its view is one of {', '.join(OF_LOGS)}, not "
            f"{view}",
            options["view"],
        )
    if "keys" in options and view not in OF_KEYED:
        raise refuse(
            f"a table with keys has the view {' or '.join(OF_KEYED)}, not {view}: leave keys out, "
            "or take another view",
            options["view"],
        )
