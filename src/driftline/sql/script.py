"""Scripts: several statements, and the queries that they ask for.

>>> script = read_script('''
...     CREATE STREAM trades (symbol STRING, qty INT);
...     CREATE VIEW big AS SELECT * FROM trades WHERE qty > 100;
...     SELECT symbol FROM big [RANGE 10];
... ''')
>>> [output.name for output in script.outputs], list(script.streams)
(['result'], ['trades'])
>>> print(script.outputs[0].plan.tree())
project symbol
└─ window [RANGE 10]
   └─ as big
      └─ select (qty > 100)
         └─ source trades (symbol STRING, qty INT)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.choices import CHOICES, need_choice, tokens_of
from driftline.plan.coercion import can_cast
from driftline.plan.depth import room
from driftline.plan.dialect import CALLS
from driftline.plan.durations import ticks
from driftline.plan.expressions import Cast, Column
from driftline.plan.names import shown
from driftline.plan.naming import check_names
from driftline.plan.sizes import size_of, steps_of
from driftline.plan.timing import timing
from driftline.plan.types import Schema, is_integer, is_timestamp, type_name, type_of
from driftline.plan.used import mark, place_of, refuse_unused, uses, uses_all
from driftline.sql.connectors import OF_INPUTS, Connector, input_of, need_keys, options_in, sink_of
from driftline.sql.errors import at, in_text, refuse
from driftline.sql.grammar import parse_script
from driftline.sql.query import bind_query
from driftline.sql.scope import Relations
from driftline.sql.syntax import (
    EXPLAINED,
    FINAL,
    CreateSink,
    CreateStream,
    CreateView,
    InsertInto,
    Setting,
)
from driftline.sql.tables import renamed, same_time
from driftline.sql.windows import is_bare

RESULT = "result"
SETTINGS = (
    "emit",
    "block",
    "remember",
    "max_expansion",
    "max_steps",
    "outputs",
    "tokens",
    "heeding",
    "clock",
    "expiry",
    "loop",
    "heartbeat",
    "final",
)
EMPTY_AGGREGATES = "empty_aggregates"
"""What SET says of the meaning of queries, and not of how they are run."""
BOUNDS = (
    "disorder", "source", "sources", "skew", "latency", "timeout", "arrival", "heartbeats", "late",
    "time_unit", "groups", "bounds", "rate",
)  # fmt: skip
OPTIONS = ("time", "timestamps", *OF_INPUTS, *BOUNDS)


@dataclass(frozen=True)
class Output:
    """A query of a script: its name, its plan, the settings of SET before it, its place, and the
    sink that its answer goes to, if it is not the output of the run."""

    name: str
    plan: nodes.Node
    settings: Mapping[str, str] = field(default_factory=dict)
    line: int = 1
    column: int = 1
    sink: Connector | None = None


@dataclass(frozen=True)
class Script:
    """What a script means: the streams it declares, its queries in order, remarks, where streams
    are read from, by name, if it says that, the files of their bounds, and the queries that are
    only to be explained."""

    text: str
    streams: Mapping[str, nodes.Source]
    outputs: tuple[Output, ...]
    notes: tuple[str, ...] = ()
    inputs: Mapping[str, Connector] = field(default_factory=dict)
    bounds: tuple[str, ...] = ()
    explained: tuple[Output, ...] = ()


def read_script(text: str, relations: Mapping[str, nodes.Node] | None = None) -> Script:
    """The meaning of a script; a mistake raises `SqlError`. `relations` are known before it."""
    with in_text(text), room(CALLS):
        reader = _Reader(relations or {})
        for statement in parse_script(text):
            with at(statement):
                mark(statement)
                reader.read(statement)
                refuse_unused(statement)
        return Script(
            text,
            reader.streams,
            tuple(reader.outputs()),
            tuple(reader.notes),
            reader.inputs,
            tuple(reader.bounds),
            tuple(reader.explained),
        )


class _Reader:
    def __init__(self, relations: Mapping[str, nodes.Node]) -> None:
        self.names = Relations()
        for name, plan in relations.items():
            self.names.define(name, plan)
        self.streams: dict[str, nodes.Source] = {}
        self.inputs: dict[str, Connector] = {}
        self.keyed: set[str] = set()  # the streams with a primary key
        self.bounds: list[str] = []
        self.sinks: dict[str, CreateSink] = {}
        self.settings: dict[str, str] = {}
        self.notes: list[str] = []
        self.explained: list[Output] = []
        self._outputs: dict[str, Output] = {}
        self._unnamed = 0

    def outputs(self) -> list[Output]:
        for node in self.sinks.values():
            if node.this.name not in self._outputs:
                name = node.this.name
                raise refuse(f"nothing goes to the sink {name}: AS SELECT …, or INSERT INTO", node)
        return list(self._outputs.values())

    def read(self, node: exp.Expr) -> None:
        if node.args.get("unless") and self.names.known(node.this.name):
            uses_all(node)
        elif isinstance(node, CreateStream):
            self._create_stream(node)
        elif isinstance(node, CreateView):
            uses(node, "this", "columns", "query", "replace", "unless")
            if node.args["query"].meta.get(FINAL):
                raise refuse("EMIT is for what is put out, and not for a view: leave it out", node)
            plan = bind_query(node.args["query"], self.names)
            if node.args.get("columns"):
                plan = renamed(plan, node.args["columns"], node.args["columns"][0])
            self._define(node, plan)
        elif isinstance(node, CreateSink):
            self._create_sink(node)
        elif isinstance(node, InsertInto):
            self._insert(node)
        elif isinstance(node, Setting):
            self._set(node)
        elif node.meta.get(EXPLAINED):
            plan = _with_shown_names(bind_query(node, self.names))
            self.explained.append(self._output("explained", plan, node))
        elif isinstance(node, (exp.Query, exp.Values)):
            self._unnamed += 1
            name = RESULT if self._unnamed == 1 else f"{RESULT}_{self._unnamed}"
            self._put_out(name, bind_query(node, self.names), node)
            self._remark_on_order(node)
        else:
            raise refuse("a statement is expected: CREATE, INSERT INTO, SET or SELECT", node)

    def _define(self, node: exp.Expr, plan: nodes.Node) -> None:
        name = node.this.name
        if self.names.known(name) and not node.args.get("replace"):
            raise refuse(f"there is a stream or view {name} already", node.this)
        self.names.define(name, plan)

    def _put_out(self, name: str, plan: nodes.Node, node: exp.Expr) -> None:
        if name in self._outputs:
            raise refuse(f"two queries have the name {name}", node)
        self._outputs[name] = self._output(name, _with_shown_names(plan), node)

    def _output(self, name: str, plan: nodes.Node, node: exp.Expr) -> Output:
        line, column = place_of(node)
        sink = self.sinks.get(name.lower())
        query = node.args.get("query") or node
        settings = dict(self.settings)
        if query.meta.get(FINAL):
            settings["final"] = "true"
        if sink is not None:
            need_keys(sink.args["options"], plan.schema.names)
        return Output(
            name,
            plan,
            settings,
            line or 1,
            column or 1,
            None if sink is None else sink_of(sink.args["options"], sink),
        )

    # Streams

    def _create_stream(self, node: CreateStream) -> None:
        uses(node, "this", "columns", "options", "keys", "query", "replace", "unless")
        query = node.args.get("query")
        if query is not None:
            if node.args.get("options"):
                raise refuse("CREATE STREAM … AS takes no WITH: the query says it all", node)
            plan = bind_query(query, self.names)
            self._define(node, plan)
            self._put_out(node.this.name, plan, node)
            return
        schema = self._columns(node)
        options = options_in(node.args.get("options") or (), OPTIONS)
        source_of_rows = input_of(options, node)
        time, stamps = None, "time_unit" in options
        if "time" in options:
            time = self._time(schema, options["time"])
            stamps = stamps or is_timestamp(schema.find(time)[0].type)
        if "timestamps" in options:
            given = options["timestamps"]
            if given.name.lower() not in ("true", "false"):
                raise refuse("timestamps is true or false", given)
            stamps = given.name.lower() == "true"
        name = node.this.name
        said_of_time = {key: options[key].name for key in BOUNDS if key in options}
        for key in ("disorder", "skew"):
            if stamps and key in options and is_bare(options[key]):
                raise refuse(
                    f"{options[key].name} has no unit: write '5s' or '2 min'", options[key]
                )
        with at(next((options[key] for key in said_of_time), node)):
            known = timing(schema, stamps, **said_of_time)
        if "bounds" in options:
            self.bounds.append(options["bounds"].name)
        source = nodes.Source(name, schema, time, stamps, known)
        rows: nodes.Node = source
        self.keyed.discard(name)
        if keys := node.args.get("keys"):
            with at(keys[0]):
                rows = nodes.latest(source, [each.name for each in keys])
            self.keyed.add(name)
        self._define(node, rows)
        self.streams[name] = source
        self.inputs.pop(name, None)
        if source_of_rows is not None:
            self.inputs[name] = source_of_rows

    def _columns(self, node: CreateStream) -> Schema:
        columns: dict[str, object] = {}
        known: set[str] = set()
        for each in node.args["columns"]:
            uses(each, "this", "kind")
            if each.name.lower() in known:
                raise refuse(f"there are two columns {each.name}", each)
            known.add(each.name.lower())
            with at(each):
                check_names([each.name])
                columns[each.name] = type_of(each.args["kind"])
        if not columns:
            raise refuse("a stream needs at least one column", node)
        return Schema.of(columns)

    @staticmethod
    def _time(schema: Schema, given: exp.Expr) -> str:
        found = schema.find(given.name)
        if not found:
            known = ", ".join(schema.names)
            raise refuse(f"time column {given.name} does not exist: the columns are {known}", given)
        if not is_timestamp(found[0].type) and not is_integer(found[0].type):
            raise refuse(
                f"the time {found[0].name} is a {type_name(found[0].type)}; it must be a TIMESTAMP "
                "or an integer",
                given,
            )
        return found[0].name

    # Sinks

    def _create_sink(self, node: CreateSink) -> None:
        uses(node, "this", "options", "query")
        name, query = node.this.name, node.args.get("query")
        if self.names.known(name) or name.lower() in self.sinks or name in self._outputs:
            raise refuse(f"there is a stream, view or sink {name} already", node.this)
        sink_of(node.args["options"], node)
        self.sinks[name.lower()] = node
        if query is not None:
            self._put_out(name, bind_query(query, self.names), query)
            self._remark_on_order(query)

    def _insert(self, node: InsertInto) -> None:
        uses(node, "this", "columns", "query", "with_")
        name, query = node.this.name, node.args["query"]
        if name.lower() in self.sinks:
            name = self.sinks[name.lower()].this.name
        if name.lower() in self.names.read and name not in self._outputs:
            raise refuse(f"{name} is read before INSERT INTO fills it: move the INSERT up", node)
        if node.args.get("with_") is not None:
            if query.args.get("with_") is not None:
                raise refuse("WITH stands before INSERT and after it: one is enough", query)
            query.set("with_", node.args["with_"])
        plan = bind_query(query, self.names)
        if name.lower() in self.names.read and name not in self._outputs:
            raise refuse(f"the query reads {name}, which is what it fills: name another", node.this)
        columns = node.args.get("columns")
        if columns:
            plan = renamed(plan, columns, columns[0])
        declared = next(
            (each for each in self.streams.values() if each.name.lower() == name.lower()), None
        )
        if declared is not None:
            name = declared.name
            if name in self.keyed:
                raise refuse(
                    f"what INSERT INTO fills has no PRIMARY KEY: leave that of {name} out, and "
                    "give a sink keys = '…'",
                    node.this,
                )
            plan = _as_declared(plan, declared.columns, bool(columns), node)
        before = self._outputs.get(name)
        if before is not None:
            if query.meta.get(FINAL) and before.settings.get("final") != "true":
                raise refuse(f"the first INSERT INTO {name} says how it is emitted", node)
            same_time(before.plan, plan, query)
            if len(before.plan.schema) != len(plan.schema):
                raise refuse(f"{name} has {len(before.plan.schema)} columns already", node)
            kinds = [each.type for each in before.plan.schema]
            if kinds != [each.type for each in plan.schema]:
                raise refuse(f"{name} has columns of other types already: use CAST", node)
            plan = nodes.Union(before.plan, plan)
            self._outputs[name] = replace(before, plan=plan)
        else:
            if declared is None and self.names.known(name):
                raise refuse(f"{name} is a view, and INSERT INTO takes a stream", node.this)
            self._put_out(name, plan, node)
        self.names.define(name, plan)

    # Settings

    def _set(self, node: Setting) -> None:
        uses(node, "this", "expression")
        uses(node.expression, "this", "is_string")
        key, value = node.name.lower(), node.expression
        given = value.name
        if key == EMPTY_AGGREGATES:
            if given.lower() not in ("true", "false"):
                raise refuse(f"{key} is true or false", value)
            self.names.empty_aggregates = given.lower() == "true"
            return
        if key not in SETTINGS:
            known = ", ".join((*SETTINGS, EMPTY_AGGREGATES))
            raise refuse(f"there is no setting {node.name}; there are {known}", node.this)
        if key in CHOICES:
            given = given.lower()
            with at(value):
                need_choice(key, given)
        elif key == "tokens":
            given = given.lower()
            with at(value):
                tokens_of(given)
        elif key == "max_expansion":
            with at(value):
                size_of(given)
        elif key == "max_steps":
            with at(value):
                steps_of(given)
        else:
            with at(value):  # which time it is about is known when a query uses it
                ticks(given, timestamps=not given.strip().isdigit())
        self.settings[key] = given

    def _remark_on_order(self, node: exp.Expr) -> None:
        cuts = node.args.get("limit") or node.args.get("offset")
        if cuts is not None and node.args.get("order") is None:
            line, column = place_of(cuts)
            self.notes.append(
                f"line {line}, column {column}: LIMIT without ORDER BY takes the first rows by all "
                "their columns"
            )
        if node.args.get("order") is not None and cuts is None:
            line, column = place_of(node.args["order"])
            self.notes.append(
                f"line {line}, column {column}: ORDER BY without LIMIT has no effect: the changes "
                "of an answer come in order of arrival"
            )


def _with_shown_names(plan: nodes.Node) -> nodes.Node:
    """An answer whose columns have different names."""
    schema = plan.schema
    names = shown(schema.names)
    if names == list(schema.names):
        return plan
    columns = zip(names, schema.names, schema, strict=True)
    return nodes.Project(
        plan,
        tuple(
            nodes.Named(new, Column(old, each.type, each.qualifier)) for new, old, each in columns
        ),
    )


def _as_declared(plan: nodes.Node, declared: Schema, named: bool, node: exp.Expr) -> nodes.Node:
    """The rows of a query as the rows of a declared stream: by position, or by given names."""
    have = plan.schema
    if len(have) != len(declared):
        raise refuse(f"{node.this.name} has {len(declared)} columns, the query {len(have)}", node)
    columns = []
    for place, wanted in enumerate(declared):
        each, key = have.fields[place], have.names[place]
        if named:
            found = have.find(wanted.name)
            if len(found) != 1:
                raise refuse(f"the column {wanted.name} of {node.this.name} is not given", node)
            each, key = found[0], have.key(found[0])
        value = Column(key, each.type, each.qualifier)
        if each.type != wanted.type and not can_cast(each.type, wanted.type):
            raise refuse(
                f"{wanted.name} is a {type_name(wanted.type)}, and the query gives a "
                f"{type_name(each.type)}",
                node,
            )
        columns.append(
            nodes.Named(
                wanted.name, value if each.type == wanted.type else Cast(value, wanted.type)
            )
        )
    if [column.name for column in columns] == list(have.names) and all(
        isinstance(column.value, Column) for column in columns
    ):
        return plan
    return nodes.Project(plan, tuple(columns))
