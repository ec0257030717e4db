"""What a checkpoint's state depends on, as facts that can be compared.

A checkpoint holds snapshots of operators and the messages since; other code that goes on from it
has to read the arrays the same way, and to come to the same state and the same output by the same
messages. `facts` computes all of that with the code as it is; the facts of each format of
checkpoints are kept in tests/data/stored_state. `python -m tests.engine.stored_state` writes those
of a new format.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import driftline as dl
from driftline.engine.additive import layout
from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.automata import kernel as automata_kernel
from driftline.engine.by_rows import exact_numbers
from driftline.engine.by_rows.aggregates import columns
from driftline.engine.by_rows.piece_values import Pieces
from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Component, OperatorKey
from driftline.engine.ingest import admission, chains, held_back
from driftline.engine.join import as_of_kernel
from driftline.engine.lifetimes import coalesce_kernel, session_kernel
from driftline.engine.loop.loop import Loop
from driftline.engine.match import emitted as emitted_matches
from driftline.engine.match import sequence as match_sequence
from driftline.engine.options import Options
from driftline.engine.readers.inputs import RawEvents, events_from
from driftline.engine.shards import messages, source_messages, state_log
from driftline.engine.shards.stages import Reading
from driftline.engine.state import emitted_rows, exact_floats, held_rows, slots
from driftline.engine.state.fields import Arrays
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.order_keys import order_keys
from driftline.engine.state.stored_rows import rows_from_bytes
from driftline.kernels import compiled
from driftline.model.arrays import Floats
from driftline.model.columns import StreamColumns
from driftline.model.event import Event
from driftline.model.level import Level
from driftline.plan.choices import Expiry
from driftline.plan.expressions import Column
from driftline.plan.finals import final
from driftline.plan.nodes import Node
from driftline.spark.checkpoint import FORMAT
from driftline.time import generator_kernel, lateness, live_sources
from tests.build import cti, insert, retract
from tests.engine.shards.test_shard import Cluster
from tests.matches import match_node

FILES = Path(__file__).parents[1] / "data" / "stored_state"
COMMAND = "python -m tests.engine.stored_state"

VALUES: dict[str, pa.Array] = {
    "BOOLEAN": pa.array([True, False, None]),
    "TINYINT": pa.array([-128, 0, 7, None], pa.int8()),
    "SMALLINT": pa.array([-300, 0, 7, None], pa.int16()),
    "INT": pa.array([-70_000, 0, 7, None], pa.int32()),
    "BIGINT": pa.array([-(2**62), 0, 7, None], pa.int64()),
    "unsigned": pa.array([0, 7, 2**64 - 1, None], pa.uint64()),
    "FLOAT": pa.array([-2.5, -0.0, 0.0, float("nan"), float("inf"), None], pa.float32()),
    "DOUBLE": pa.array([-2.5, -0.0, 0.1, float("nan"), float("-inf"), None], pa.float64()),
    "DECIMAL": pa.array([Decimal("-1.25"), Decimal("0.00"), None], pa.decimal128(10, 2)),
    "long DECIMAL": pa.array([Decimal(-(10**30)), Decimal(10**37), None], pa.decimal128(38, 0)),
    "STRING": pa.array(["", "a", "eight by", "more than eight bytes, ä∞", None], pa.string()),
    "large STRING": pa.array(["", "a", "eight by", None], pa.large_string()),
    "BINARY": pa.array([b"", b"\x00", b"\xff" * 9, None], pa.binary()),
    "DATE": pa.array([date(1969, 12, 31), date(2024, 2, 29), None], pa.date32()),
    "TIMESTAMP": pa.array(
        [datetime(1969, 12, 31, 23), datetime(2024, 2, 29, 1, 2, 3, 4), None],
        pa.timestamp("us", "UTC"),
    ),
    "TIMESTAMP_NTZ": pa.array([datetime(2024, 2, 29, 1, 2, 3, 4), None], pa.timestamp("us")),
    "INTERVAL": pa.array([timedelta(-1), timedelta(0, 1, 1), None], pa.duration("us")),
    "ARRAY": pa.array([[], [1], [1, None, 2], None], pa.list_(pa.int64())),
    "STRUCT": pa.array(
        [{"a": 1, "b": "x"}, {"a": None, "b": "x"}, None],
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
    ),
    "MAP": pa.array([[], [("a", 1.5)], None], pa.map_(pa.string(), pa.float64())),
    "VOID": pa.nulls(1),
}  # fmt: skip
"""A column of every type."""


def _fingerprints() -> dict[str, list[str]]:
    def shown(columns: list[pa.Array]) -> list[str]:
        prints = fingerprints(columns, len(columns[0]))
        return [f"{high:016x}{low:016x}" for high, low in zip(prints.high, prints.low, strict=True)]

    found = {name: shown([column]) for name, column in VALUES.items()}
    found["two columns"] = shown([VALUES["BIGINT"], VALUES["STRING"].slice(0, 4)])
    numbers = fingerprints([VALUES["BIGINT"]], 4).with_numbers(np.arange(4), np.arange(4) - 9)
    found["with numbers"] = [f"{one:016x}" for one in (*numbers.low, *numbers.high)]
    return found


def _order_keys() -> dict[str, list[int]]:
    return {name: order_keys(column.drop_null()).tolist() for name, column in VALUES.items()}


def _slots() -> dict[str, Any]:
    """Slots after many keys, some of them removed and some brought again; the table's places."""
    table = slots.Slots()
    given = table.find_or_add(fingerprints([pa.array(range(1500))], 1500))[0]
    table.remove(given[100:900:7])
    again, new = table.find_or_add(fingerprints([pa.array(range(0, 3000, 3))], 1000))
    other = slots.Slots()
    other.restore(table.snapshot())
    more = other.find_or_add(fingerprints([pa.array(range(5000, 5010))], 10))[0]
    return {
        "slots": digest(again.tolist()),
        "rows of new ones": digest(new.tolist()),
        "places": digest(table.place_of[:2000].tolist()),
        "after restore": more.tolist(),
    }


def _shards() -> dict[str, list[int]]:
    rows = pa.RecordBatch.from_arrays([pa.array(range(20)), pa.array(list("abcd" * 5))], ["n", "s"])
    keys = {"n": (Column("n", pa.int64()),), "s": (Column("s", pa.string()),)}
    return {name: messages.shard_of(rows, key, 7).tolist() for name, key in keys.items()}


@compiled
def _summed(values: Floats, gone: int) -> Floats:
    sums = np.zeros((1, 3))
    for value in values:
        exact_floats.add(sums, 0, 0, value)
    for value in values[:gone]:
        exact_floats.add(sums, 0, 0, -value)
    return np.append(sums[0], exact_floats.total(sums, 0, 0))


def _exact_sums() -> dict[str, Any]:
    floats = np.array([1e16, 0.1, -3.5, 1e-7, 2.0**-30, 1e12, -0.1, 7.0] * 3)
    pieces = np.array([0, 3, 6])
    found: dict[str, Any] = {"parts": [part.hex() for part in _summed(floats, 5).tolist()]}
    for name, column in {
        "BIGINT": pa.array([2**62, -(2**62), 5, 7, -9, 1]),
        "DECIMAL": pa.array(
            [Decimal(n) / 8 for n in (1, 9, -5, 10**20, 3, 2)], pa.decimal128(38, 6)
        ),
        "DOUBLE": pa.array([1e16, 0.1, -1e16, 0.1, 0.2, 0.3]),
    }.items():
        numbers = exact_numbers.Numbers(column, np.ones(6, np.bool_))
        kind = column.type
        average = pa.decimal128(38, 10) if pa.types.is_decimal(kind) else pa.float64()
        rows = pa.RecordBatch.from_arrays([column], names=["x"])
        functions = {"sum": kind, "avg": average, "variance": pa.float64()}
        wanted = [Aggregate(each, each, "x", kind) for each, kind in functions.items()]
        of_pieces = Pieces(pieces, np.arange(6), rows, np.zeros(6, np.int64))
        made = dict(zip(functions, columns(of_pieces, wanted), strict=True))
        found[name] = {
            "limbs": None if numbers.limbs is None else numbers.limbs.tolist(),
            "sums": [str(each) for each in made["sum"]],
            "averages": [str(each) for each in made["avg"]],
            "variances": [each.hex() for each in made["variance"].to_pylist()],
        }
    return found


def _layout() -> dict[str, Any]:
    """The numbers that columns of stored arrays, and parts of stored messages, are known by, in
    their order: their names are not stored."""
    modules = {
        module.__name__.removeprefix("driftline."): module
        for module in (
            layout, held_rows, emitted_rows, emitted_matches, coalesce_kernel, chains, held_back,
            admission, lateness, generator_kernel, live_sources, automata_kernel, match_sequence,
            session_kernel, as_of_kernel,
        )
    }  # fmt: skip
    found: dict[str, Any] = {
        name: [
            value
            for each, value in vars(module).items()
            if each.isupper() and each not in TUNING and isinstance(value, int | float)
        ]
        for name, module in modules.items()
    }
    found["messages"] = {
        "columns": [f"{field.name} {field.type}" for field in messages.MESSAGES],
        "raw events": [*source_messages.RAW, source_messages.BAD],
        "kinds": {kind.name: kind.value for kind in messages.MessageKind},
        "ports": [messages.OUTPUT],
    }
    head = state_log.Head("", tokens=[])
    found["head"] = json.loads(head.to_bytes())
    return found


TUNING = {"LOOK_AHEAD", "_BLOCK", "_LEAST_CLEARED", "COUNTS_KEPT", "PIECE", "SMALLEST"}
TUNING |= {"PERFECT", "ORDERED", "EAGER", "BEGINNING", "INFINITY"}
"""Constants that make things quicker or slower, or that no column is known by."""

KXY = {"k": "STRING", "x": "BIGINT", "y": "DOUBLE"}
S, T = (dl.stream(name, KXY) for name in "st")
LOG = Reading(plain=False, ordered=True)
RECORDS = Reading(plain=True, ordered=True)


def _events(step: int) -> list[Event]:
    """Some keys, with corrections, late events and events that never end."""
    events: list[Event] = []
    for n in range(40):
        at = n - 3 * (n % 4)
        row = {"k": None if n % 11 == 0 else "abc"[n % 3], "x": n * step % 7, "y": n % 5 / 8}
        end = None if n % 6 == 0 else at + 2 + n % 9
        events.append(insert(at, end, row))
        if n % 5 == 0:
            events.append(retract(at, end, at + n % 2, row))
        if n % 8 == 7:
            events.append(cti(at - 9))
    return events


def _records() -> pa.Table:
    return pa.table(
        {
            "k": ["abc"[n % 3] for n in range(40)],
            "x": [n - 5 * (n % 4 == 3) for n in range(40)],
            "y": [n % 5 / 8 for n in range(40)],
        }
    )


def _by_time(**bounds: Any) -> dl.Query:
    return dl.stream("s", KXY, time="x", **bounds).window(range=9).distinct()


NEAR = S.window(range=4).alias("l"), T.window(range=4).alias("r")
ON = "l.k = r.k AND l.x <= r.x"
QUERIES: dict[str, tuple[Node, Level, Reading]] = {
    name: (query.plan, Level.ORDERED, LOG)
    for name, query in {
        "sums": S.group_by("k").agg(
            "count(*) AS n", "sum(x) AS sx", "sum(y) AS sy", "avg(x) AS ax", "variance(y) AS vy",
            "stddev(x) AS dx", "min(x) AS least", "max(y) AS most",
        ),
        "rows": S.group_by("k").agg("median(x) AS m", "array_agg(y) AS l", "mode(x) AS mo"),
        "distinct": S.distinct(),
        "intersect": S.intersect(T),
        "minus": S.minus(T, all=True),
        "union": S.union(T),
        "rank": S.rank("x", per="k"),
        "top": S.top(1, by="x", per="k"),
        "over": S.over("lag(x) AS before", "sum(y) AS total", per="k", by="x"),
        "hopping": S.window(range=6, slide=3),
        "sessions": S.session(2, per="k", at_most=9),
        "sessions as columns": S.session(2, per="k", columns=True),
        "sums by session": S.session(2, per="k", columns=True).group_by(
            "k", "window_start", "window_end"
        ).agg("sum(x) AS x"),
        "counts by part of a session": S.session(2, per="k", columns=True).group_by(
            "k", "window_start", "window_end", "x"
        ).agg("count(*) AS n"),
        "tumbling": S.tumble(5).group_by("window_end", "k").agg("sum(x) AS x"),
        "window of stretches": S.select("k").distinct().window(range=3),
        "stretches": S.select("k").distinct().window(start="vs", duration="ve - vs + 1"),
        **{f"{how} join": NEAR[0].join(NEAR[1], ON, how) for how in ("inner", "left", "full")},
        **{f"{how} join": NEAR[0].join(NEAR[1], ON, how) for how in ("semi", "anti")},
        "as-of join": S.as_of(T, "s.k = t.k AND s.x >= t.x", "left"),
        "automaton": S.where("k IS NOT NULL").window(range=9).automaton(
            dl.Automaton("S", ["F"], [dl.Transition("S", "S", "a"), dl.Transition("S", "F", "b")]),
            sequence="x", symbol="k", partial=True,
        ),
        "recursion": dl.recursive(
            "found", {"k": "STRING", "x": "BIGINT"}, NEAR[0].select("l.k", "l.x"),
            lambda found: found.join(NEAR[1], "found.x = r.x - 1").select("r.k", "r.x"),
        ),
        "recursion, all derivations": dl.recursive(
            "found", {"k": "STRING", "x": "BIGINT"}, NEAR[0].select("l.k", "l.x"),
            lambda found: found.join(NEAR[1], "found.x = r.x - 1").select("r.k", "r.x"),
            all=True,
        ),
        "recursion with min": dl.recursive(
            "found", {"x": "BIGINT", "k": "STRING", "y": "DOUBLE"}, NEAR[0].select("x", "k", "y"),
            lambda found: found.join(NEAR[1], "found.x = r.x - 1").group_by("r.x").agg(
                "min(found.k) AS k", "max(found.y) AS y"
            ),
        ),
    }.items()
}  # fmt: skip
QUERIES |= {
    "sums, eager": (QUERIES["sums"][0], Level.EAGER, LOG),
    "sums, perfect": (QUERIES["sums"][0], Level.PERFECT, LOG),
    "rows, eager": (QUERIES["rows"][0], Level.EAGER, LOG),
    "rows, perfect": (QUERIES["rows"][0], Level.PERFECT, LOG),
    "left join, perfect": (QUERIES["left join"][0], Level.PERFECT, LOG),
    "finals": (final(QUERIES["sums"][0]), Level.ORDERED, LOG),
    "window finals": (final(QUERIES["tumbling"][0]), Level.ORDERED, LOG),
}
BOUNDS = [("a", "b", 4, 3), ("b", "a", "2 tuples", 1)]
QUERIES |= {
    name: (query.plan, Level.ORDERED, RECORDS)
    for name, query in {
        "records": _by_time(disorder=6),
        "sources": _by_time(disorder=6, source="k", skew=3),
        "clocks": _by_time(disorder=6, source="k", skew=3, latency=5, timeout=20, arrival="x"),
        "bounds": _by_time(
            source="k", bounds=BOUNDS, disorder=6, latency=2, timeout=20, arrival="x", rate="1/2"
        ),
        "groups": _by_time(source="y", groups="k", disorder=2, skew=4),
        "guesses": _by_time(heartbeats="estimate", late=0.1),
        "sums of records by session": dl.stream("s", KXY, time="x", disorder=6)
        .session(2, per="k", columns=True)
        .group_by("k", "window_start", "window_end")
        .agg("sum(y) AS y", "max(y) AS most"),
        "parts of sessions of records": dl.stream("s", KXY, time="x", disorder=6)
        .session(2, per="k", columns=True)
        .group_by("k", "window_start", "y")
        .agg("max(window_end) AS until", "last(x) AS x"),
        "guesses by source": _by_time(heartbeats="estimate", late=0.1, source="k"),
    }.items()
}


FALLS = ("B+ C", {"B": "y < PREV(y)", "C": "y > PREV(y)"}, {"low": "B.y", "n": "MATCH_NUMBER()"})
QUERIES |= {
    "match": (match_node(S.plan, *FALLS, per=["k"], by=["x"]), Level.ORDERED, LOG),
    "match of records": (
        match_node(
            dl.stream("s", KXY, time="x", disorder=6).plan, *FALLS, per=["k"], by=["x"],
            output="with unmatched",
        ),
        Level.ORDERED,
        RECORDS,
    ),
}  # fmt: skip
JOINED = NEAR[0].join(NEAR[1], ON).agg("max(r.x) AS most")
NOW: dict[str, tuple[Node, Level, Reading, Expiry]] = {
    "sums now": (QUERIES["sums"][0], Level.ORDERED, LOG, "piggyback"),
    "sums now, by negative tuples": (QUERIES["sums"][0], Level.ORDERED, LOG, "nta"),
    "join now": (JOINED.plan, Level.ORDERED, LOG, "time-message"),
}
"""Queries of which the answer now is asked for."""


class Stored:
    """A query over fixed events on two shards: the arrays that one of them holds in the middle,
    digests of all that is held and of all that is emitted, and the operators that hold it."""

    def __init__(
        self, plan: Node, level: Level, reading: Reading, expiry: Expiry | None = None
    ) -> None:
        sources = plan.sources()
        options = Options(level, block=2)
        if expiry is not None:
            options = replace(options, clock="latest", expiry=expiry)
        self.cluster = Cluster(plan, dict.fromkeys(sources, reading), options, 2)
        data = {
            name: self._data(source, reading, 1 + 2 * number)
            for number, (name, source) in enumerate(sorted(sources.items()))
        }
        emitted: list[Any] = []
        for start in range(0, 60, 10):
            parts = {name: each.slice(start, start + 10) for name, each in data.items()}
            emitted += [_plain(batch) for batch in self.cluster.step(parts, tasks=1)]
            emitted.append(self.cluster.final)
        self.states = [shard.snapshot() for level_ in self.cluster.shards for shard in level_]
        self.emitted = digest(emitted)

    @staticmethod
    def _data(source: Any, reading: Reading, step: int) -> RawEvents:
        if reading.plain:
            return events_from(source, _records())
        return events_from(source, StreamColumns.from_events(source.name, _events(step)))

    def arrays(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Every operator's name, with the types of its arrays."""
        for state in self.states[::2]:
            for key, arrays in state.items():
                yield (
                    "/".join(key[:3]),
                    {each: _shape(array) for each, array in sorted(arrays.items())},
                )

    def contents(self) -> str:
        return digest([_values(state) for state in self.states])

    def operators(self) -> Iterator[Component]:
        for shard in (each for level in self.cluster.shards for each in level):
            for source in shard.sources.values():
                yield from (source.finalize, source.align)
            for graph in shard.graphs.values():
                for step in graph.steps:
                    yield step.operator
                    if isinstance(step.operator, Loop):
                        yield from step.operator.inside()


def _shape(array: NDArray[Any]) -> str:
    return " ".join([array.dtype.str, *map(str, array.shape[1:])])


def _values(state: dict[OperatorKey, Arrays]) -> dict[str, dict[str, Any]]:
    """Rows are told by their values: their bytes are Arrow's."""
    return {
        "/".join(key[:3]): {
            each: rows_from_bytes(array).to_pylist()
            if array.dtype == np.uint8 and len(array)
            else array.tolist()
            for each, array in sorted(arrays.items())
        }
        for key, arrays in sorted(state.items())
    }


def _plain(batch: Batch) -> list[Any]:
    changes = zip(batch.vs, batch.ve, batch.weight, batch.payload.to_pylist(), strict=True)
    return sorted(map(repr, changes))


def _arrays(stored: dict[str, Stored]) -> dict[str, dict[str, str]]:
    """The arrays of every kind of operator; again where those of another query are others."""
    found: dict[str, dict[str, str]] = {}
    for query, each in stored.items():
        for name, arrays in each.arrays():
            kind = name.partition("/")[0].lstrip("0123456789 ")
            if found.setdefault(kind, arrays) != arrays:
                found[f"{kind} of {query}"] = arrays
    return found


def digest(value: Any) -> str:
    return sha256(repr(value).encode()).hexdigest()[:16]


@cache
def run_queries() -> dict[str, Stored]:
    return {name: Stored(*query) for name, query in (QUERIES | NOW).items()}


def facts() -> dict[str, Any]:
    """All that is stored in a checkpoint depends on these."""
    stored = run_queries()
    return {
        "fingerprints": _fingerprints(),
        "order keys": _order_keys(),
        "slots": _slots(),
        "shards": _shards(),
        "exact sums": _exact_sums(),
        "layout": _layout(),
        "names": {name: [each for each, _ in found.arrays()] for name, found in stored.items()},
        "arrays": _arrays(stored),
        "contents": {name: each.contents() for name, each in stored.items()},
        "emitted": {name: each.emitted for name, each in stored.items()},
    }


def main() -> None:
    file = FILES / f"{FORMAT}.json"
    if file.exists():
        sys.exit(f"{file} is there: raise FORMAT in src/driftline/spark/checkpoint.py first")
    FILES.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(facts(), indent=1, ensure_ascii=False) + "\n")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
