"""Checkpoints: what Spark keeps of a query, and which query that is.

    DIR/driftline.json   the plans and options that the state belongs to
    DIR/tables           the tables that the query reads and that do not change
    DIR/prefix.json      how much of each input was read, if that is counted (see `marks`)
    DIR/state.json       what the shards held after the last micro-batch, for people
    DIR/closed.json      is there if the streams were closed: nothing new can come
    DIR/spark            Spark's own checkpoint: offsets, commits and the state

A query goes on from its own checkpoint only. State is written by the operators of a plan, so that
another plan, another consistency or other shards cannot take it over; the error names what has
changed.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from driftline.engine.options import Options
from driftline.engine.plan_sources import sources_of
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Aggregate, AsOf, Node
from driftline.plan.timing import NOTHING_KNOWN
from driftline.spark.pipeline import OWN_STEPS
from driftline.spark.places import Place

FORMAT = 5
"""Of what is stored: a change of state that an older version could not read raises it."""
FILE = "driftline.json"
REPORT = "state.json"
CLOSED = "closed.json"
SHOWN = ("version", "snapshot", "size", "logged", "counters")


class Checkpoint:
    """A checkpoint's directory."""

    def __init__(self, place: str) -> None:
        self.place = Place(place)

    @property
    def spark(self) -> str:
        """Where Spark keeps its own."""
        return f"{self.place}/spark"

    def shards(self, chosen: int | None, otherwise: int) -> int:
        """How many shards the state has: of a new one as many as were chosen, or else as many as
        are given. A choice that is not the checkpoint's number is refused."""
        known = self.read()
        if known is None:
            return chosen or otherwise
        have = int(known["shards"])
        if chosen not in (None, have):
            raise PlanError(
                f"{self.place} has the state of {have} shards, and shards={chosen} was given: "
                "leave it out, or give another checkpoint"
            )
        return have

    def has_own_steps(self) -> bool:
        """Whether Spark itself may run the beginning of a query: it does so always or never, as
        rows are kept as they are after it."""
        known = self.read()
        return known is None or any(OWN_STEPS in how for how in known.get("read", {}).values())

    def claim(
        self,
        plans: Mapping[str, Node],
        options: Options,
        shards: int,
        read: Mapping[str, str] | None = None,
    ) -> None:
        """Make sure that the state is that of these plans, and note it if it is new. `read`: how
        the sources are read."""
        mine = {**describe(plans, options, shards), "read": dict(read or {})}
        known = self.read()
        if known is None:
            self.place.write(FILE, json.dumps(mine, indent=1, ensure_ascii=False).encode())
        elif known != mine:
            raise PlanError(
                f"{self.place} is the checkpoint of another query: {difference(known, mine)}; give "
                "--checkpoint another directory, or run the query it was made by"
            )

    def report(self, heads: Mapping[tuple[int, int], Mapping[str, Any]]) -> None:
        """Write down what the shards hold, for people; the state itself is Spark's."""
        if not heads:
            return
        whole = {**self.reported(), **heads}
        known = {
            f"{level}/{shard}": {key: head[key] for key in SHOWN}
            for (level, shard), head in whole.items()
        }
        self.place.write(REPORT, json.dumps(known).encode())

    def reported(self) -> dict[tuple[int, int], dict[str, Any]]:
        """What `report` wrote last, by level and shard; what is damaged of it is not there."""
        try:
            known = self._json(REPORT) or {}
        except PlanError:
            known = {}
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for name, head in known.items():
            level, _, shard = name.partition("/")
            is_place = level.isdecimal() and shard.isdecimal()
            if is_place and isinstance(head, dict) and head.keys() >= set(SHOWN):
                found[int(level), int(shard)] = head
        return found

    @property
    def is_closed(self) -> bool:
        """Whether a run has closed the streams, so that nothing new can come."""
        return self._json(CLOSED) is not None

    def close(self) -> None:
        """Note that the streams have been closed, and that all answers have been emitted."""
        self.place.write(CLOSED, b"{}")

    def read(self) -> dict[str, Any] | None:
        """What the state belongs to; None if there is none. That of another format is refused."""
        known = self._json(FILE)
        if known is not None and known.get("format") != FORMAT:
            raise PlanError(
                f"{self.place} is the checkpoint of another version of Driftline (format "
                f"{known.get('format')}, now {FORMAT}): give --checkpoint another directory, and "
                "the query reads its inputs anew"
            )
        return known

    def _json(self, name: str) -> dict[str, Any] | None:
        data = self.place.read(name)
        if data is None:
            return None
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise PlanError(f"{self.place}/{name} is damaged: it is not a JSON object")
        return found


def describe(plans: Mapping[str, Node], options: Options, shards: int) -> dict[str, Any]:
    """A query as far as its state depends on it."""
    return {
        "format": FORMAT,
        "shards": shards,
        "timestamps": all(plan.timestamps for plan in plans.values()),
        "emit": options.level.value,
        "block": _shown(options.block),
        "remember": _shown(options.remember),
        **({} if options.outputs == "free" else {"outputs": "marked"}),
        **({} if options.heartbeat == "source" else {"heartbeat": options.heartbeat}),
        **({"bounds": bounds} if (bounds := _bounds(plans)) else {}),
        **({"revised": revised} if (revised := _revised(plans)) else {}),
        "plans": {name: plan.tree().split("\n") for name, plan in plans.items()},
    }


def _revised(plans: Mapping[str, Node]) -> list[str]:
    """What is computed from the same messages by other operators, or in another order, than it was
    when the format was new: a checkpoint from before that is one of another query."""
    nodes = [node for plan in plans.values() for node in plan.walk()]
    sessions = [node.session for node in nodes if isinstance(node, Aggregate)]
    found = {
        "as-of joins by whole rows": any(isinstance(node, AsOf) for node in nodes),
        "aggregates by session": any(each is not None and not each.is_whole for each in sessions),
    }
    return [name for name, there in found.items() if there]


def _bounds(plans: Mapping[str, Node]) -> dict[str, dict[str, Any]]:
    """The declared bounds of the streams that have some."""
    nothing = asdict(NOTHING_KNOWN)
    found = {
        name: {key: each for key, each in asdict(source.timing).items() if each != nothing[key]}
        for name, source in sources_of(plans.values()).items()
    }
    given: dict[str, dict[str, Any]] = json.loads(json.dumps(found))  # as it is read again
    return {name: each for name, each in given.items() if each}


def _shown(duration: int) -> int | str:
    return "inf" if duration == INFINITY else duration


def _listed(bounds: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{key} {value}" for key, value in (bounds or {}).items()) or "not known"


def _changed(before: Sequence[str], now: Sequence[str]) -> str:
    """How one tree has become another: their lines, wherever these stand."""
    had, has = ([line.strip(_BRANCHES) for line in tree] for tree in (before, now))
    lines = list(difflib.unified_diff(had, has, lineterm="", n=0))[2:]
    gone, new = ("; ".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    if gone and new:
        return f"had “{gone}” and has “{new}”"
    if new:
        return f"has “{new}”"
    return f"had “{gone}” and has not" if gone else "has another order"


_BRANCHES = " │├└─"


def _read_in_another_way(name: str, before: str, now: str) -> str:
    if before == f"{now} {OWN_STEPS}":
        return (
            f"Spark ran the first steps of {name} in UTC and in ANSI mode; set "
            "spark.sql.session.timeZone to UTC and spark.sql.ansi.enabled to true again"
        )
    return f"{name} was read as {before} and is read as {now} now"


def difference(known: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    """The first thing in which two descriptions differ."""
    for key in ("emit", "block", "remember", "shards"):
        if known.get(key) != mine[key]:
            return f"its {key} was {known.get(key)} and is {mine[key]} now"
    for key, usual in (("heartbeat", "source"), ("outputs", "free")):
        before, now = known.get(key, usual), mine.get(key, usual)
        if before != now:
            return f"its {key} was {before} and is {now} now"
    bounds, given = known.get("bounds", {}), mine.get("bounds", {})
    for name in bounds | given:
        if bounds.get(name) != given.get(name):
            return (
                f"the bounds of {name} were {_listed(bounds.get(name))} and are "
                f"{_listed(given.get(name))} now"
            )
    before, now = known["plans"], mine["plans"]
    if before.keys() != now.keys():
        return f"its results were {', '.join(before)} and are {', '.join(now)} now"
    for name in now:
        if before[name] != now[name]:
            return f"the plan of {name} {_changed(before[name], now[name])} now"
    before, now = known.get("read", {}), mine.get("read", {})
    for name in now:
        if before.get(name, now[name]) != now[name]:
            return _read_in_another_way(name, before[name], now[name])
    return "it was written by another version of Driftline"
