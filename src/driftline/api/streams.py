"""Where queries begin: streams, and rows that are defined by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, overload

from driftline.api.query import Query
from driftline.api.relation import Relation
from driftline.arguments import declared, flag, is_whole, text_of
from driftline.plan import nodes
from driftline.plan.durations import Duration
from driftline.plan.errors import PlanError
from driftline.plan.recursion import LIMIT, fixed_point
from driftline.plan.source_bounds import Given as SourceBounds
from driftline.plan.timing import timing
from driftline.plan.types import is_timestamp, type_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from driftline.spark.frames import FrameQuery

R = TypeVar("R", bound=Relation)

NAMELESS = "stream"
"""What a stream is called that was given no name."""


class Bounds(TypedDict, total=False):
    """What can be said of a stream."""

    time: str | None
    timestamps: bool | None
    disorder: Duration | None
    source: str | None
    sources: int | None
    skew: Duration | None
    latency: Duration | None
    timeout: Duration | None
    arrival: str | None
    heartbeats: Literal["estimate", "none"] | None
    late: float | str | None
    time_unit: Literal["s", "ms", "us"] | None
    groups: str | None
    bounds: SourceBounds | None
    rate: float | str | Fraction | None
    key: str | Sequence[str] | None


@overload
def stream(
    name: str, columns: Mapping[str, Any] | str | StructType, **bounds: Unpack[Bounds]
) -> Query: ...
@overload
def stream(
    name: str | DataFrame, columns: DataFrame | None = None, **bounds: Unpack[Bounds]
) -> FrameQuery: ...


def stream(
    name: Any,
    columns: Any = None,
    *,
    time: str | None = None,
    timestamps: bool | None = None,
    disorder: Duration | None = None,
    source: str | None = None,
    sources: int | None = None,
    skew: Duration | None = None,
    latency: Duration | None = None,
    timeout: Duration | None = None,
    arrival: str | None = None,
    heartbeats: Literal["estimate", "none"] | None = None,
    late: float | str | None = None,
    time_unit: Literal["s", "ms", "us"] | None = None,
    groups: str | None = None,
    bounds: SourceBounds | None = None,
    rate: float | str | Fraction | None = None,
    key: str | Sequence[str] | None = None,
) -> Query | FrameQuery:
    """A stream by its name and its columns: names to SQL or Arrow types, a text as CREATE TABLE has
    it (`"symbol STRING, price DOUBLE"`), or a schema of Spark or Arrow.

    In the place of the columns, or alone, a DataFrame of Spark: `stream(df, time="ts")`. Its schema
    is the stream's, and the queries over it are DataFrames (see `driftline.spark.frames`). One with
    a watermark says by that what its time is, and how late its rows are.

    `time` names the column from which plain records get their time; event logs carry their own.
    `timestamps`: whether time is in microseconds since 1970; by default it is when `time` is a
    TIMESTAMP. `disorder` promises that plain records are at most so late, which lets answers become
    final while the stream goes on; what breaks the promise becomes a dead letter. `time_unit`: what
    numbers that are to be times count, which is seconds, milliseconds or microseconds since 1970;
    an integer column `time` is then such a number. `key`: a row replaces those before it that are
    equal in these columns, from its time on.

    The other bounds are for a stream of several sources, distinguished by the column `source`
    (there are `sources` of them, if that is known): `disorder` is then that of each, `skew` how far
    their clocks are apart. `latency`: how long a record is on its way at most; `timeout`: a source
    that is silent for so long holds nothing back; both by the arrival clock, which the column
    `arrival` has, or the time when Spark reads. Without any bound heartbeats are guessed from what
    has come (`heartbeats="estimate"`), such that a share of at most `late` comes after its guess,
    which ends the waiting of a query with a `block`.

    `bounds`: a CSV file, or rows, of bounds that differ by source and between sources: from, to,
    after (a duration, or '3 tuples'), delta (how far behind at most, or 'later') and, if it is
    known, latency. `groups`: a column whose values put sources together that are treated as one;
    `skew` is then that inside a group, and `bounds` names groups. `rate`: how many seconds the
    clock of a source advances at least in a second of the arrival clock (of a time that is a
    number: ticks in a millisecond), so that silence itself makes progress. See docs/time.md.
    """
    if columns is None and not isinstance(name, str):
        name, columns = NAMELESS, name
    frame = None
    if hasattr(columns, "sparkSession"):
        from driftline.spark.frames import FrameQuery, described

        frame, found_in = columns, described(columns, time)
        columns, time = found_in.columns, time or found_in.time
        if disorder is None and time == found_in.time:
            disorder = found_in.disorder
        if timestamps is None and found_in.timestamps:
            timestamps = True
    schema = declared(name, columns)
    if timestamps is not None:
        flag(timestamps, "timestamps")
    if time is not None:
        found = schema.find(text_of(time, "the time column"))
        if not found:
            raise PlanError(f"time column {time} of {name} does not exist")
        time = found[0].name
        if timestamps is None:
            timestamps = is_timestamp(found[0].type) or time_unit is not None
    elif timestamps is None:
        timestamps = time_unit is not None
    known = timing(
        schema,
        bool(timestamps),
        disorder=disorder,
        source=source,
        sources=sources,
        skew=skew,
        latency=latency,
        timeout=timeout,
        arrival=arrival,
        heartbeats=heartbeats,
        late=late,
        time_unit=time_unit,
        groups=groups,
        bounds=bounds,
        rate=rate,
    )
    rows = nodes.Source(name, schema, time, bool(timestamps), known)
    made: nodes.Node = rows
    if key is not None:
        names = [key] if isinstance(key, str) else list(key)
        made = nodes.latest(rows, [text_of(each, "a column of the key") for each in names])
    return Query(made) if frame is None else FrameQuery(made, {name: frame})


def recursive(
    name: str,
    columns: Any,
    base: R,
    step: Callable[[R], R],
    *,
    all: bool = False,
    limit: int = LIMIT,
) -> R:
    """The rows of `base`, and all that follows from them: `step` takes the rows so far, a query
    with the given columns, and returns what follows in one step. At every moment it is the least
    set with that property; with `all` a bag, with every derivation of a row.

    >>> import driftline as dl
    >>> links = dl.stream("links", {"a": "INT", "b": "INT"})
    >>> reach = dl.recursive(
    ...     "reach", {"n": "INT"}, links.where("a = 1").select("a AS n"),
    ...     lambda reach: reach.join(links, "reach.n = links.a").select("b AS n"))
    >>> events = [dl.Insert(1, 9, dl.Row(a=1, b=2)), dl.Insert(3, 7, dl.Row(a=2, b=1))]
    >>> for row in reach.run(links=events).history().to_pylist():
    ...     print(row)
    {'vs': 1, 've': 9, 'n': 1}
    {'vs': 1, 've': 9, 'n': 2}

    `limit`: the deepest level at which a row may be derived; a deeper one stops the query."""
    if not isinstance(base, Relation):
        raise PlanError(f"the base of {name} is a query, not a {type(base).__name__}")

    def rows(names: Mapping[str, R]) -> R:
        return base.union(_a_query(name, step(names[name])))

    body: Body[R] = (columns, rows)
    return recursive_together({name: body}, all=all, limit=limit)[name]


def _a_query(name: str, given: R) -> R:
    if not isinstance(given, Relation):
        raise PlanError(f"the function of {name} returns a query, not a {type(given).__name__}")
    return given


Body = tuple[Any, Callable[[Mapping[str, R]], R]]
"""Columns, and from the rows so far, by name, to the rows."""


def recursive_together(
    bodies: Mapping[str, Body[R]], *, all: bool = False, limit: int = LIMIT
) -> dict[str, R]:
    """Several recursive queries that use each other: by name, the columns and a function from the
    rows so far of all of them, by name, to the rows of this one."""
    if not is_whole(limit) or limit < 1:
        raise PlanError(f"the limit of a recursion is a number of levels, not {limit!r}")
    bag, stamps = flag(all, "all"), False
    schemas = {name: declared(name, columns) for name, (columns, _) in bodies.items()}
    for _ in range(2):  # whether time is in microseconds is known when the bodies are
        names = {n: Query(nodes.Back(n, each, stamps)) for n, each in schemas.items()}
        so_far = cast("dict[str, R]", names)  # they become what they are combined with
        made = {name: _a_query(name, body(so_far)) for name, (_, body) in bodies.items()}
        stamps = any(
            node.timestamps for each in made.values() for node in each.plan.sources().values()
        )
    rules = []
    for name, query in made.items():
        have, wanted = query.schema, schemas[name]
        if [each.type for each in have] != [each.type for each in wanted]:
            listed = ", ".join(type_name(each.type) for each in have)
            raise PlanError(f"the rows of {name} are of the types {listed}: CAST them as declared")
        rules.append(nodes.Rule(name, wanted, query.plan, not bag))
    first, *others = made.values()
    return {name: first._of(plan, *others) for name, plan in fixed_point(rules, limit).items()}
