"""Checkpoints: what Spark keeps of a query, and which query that is.

    DIR/driftline.json   the manifest: the plans, options and inputs that the state belongs to, and
                         how far it is: the last micro-batch, the versions of the shards, the logs
                         of Spark and the notes that belong to it
    DIR/tables           the tables that the query reads and that do not change
    DIR/prefix.json      how much of each input was read, if that is counted (see `marks`)
    DIR/state.json       what the shards held after the last micro-batch, for people
    DIR/closed.json      is there if the streams were closed: nothing new can come
    DIR/spark            Spark's own checkpoint: offsets, commits and the state

A query goes on from its own checkpoint only. State is written by the operators of a plan, so that
another plan, another consistency or other shards cannot take it over. What is compared is a
fingerprint of all that the plans mean; the error names what has changed. The views of a result are
started by Spark, without a directory of ours: there the fingerprint is in the state alone.

The manifest is written durably after every micro-batch, when sinks have it and before Spark commits
it. So after a kill, or a power cut,

    the last micro-batch of the manifest  =  Spark's last commit, or the one after it

and the micro-batch that comes next starts from the versions of the shards that the manifest names.
Parts that do not fit (gone, changed, older, of another checkpoint) are refused before anything is
written.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from driftline.engine.limits import DEFAULT_LIMITS
from driftline.engine.options import DEFAULT_BATCH, Options
from driftline.engine.plan_sources import sources_of
from driftline.event_log.atomic import sync
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.fingerprint import fingerprint
from driftline.plan.nodes import Node
from driftline.plan.timing import NOTHING_KNOWN
from driftline.running.notes import WHAT_TO_DO, digest
from driftline.spark.pipeline import OWN_STEPS
from driftline.spark.places import Place

FORMAT = 7
"""Of what is stored: a change of state that an older version could not read raises it."""
FILE = "driftline.json"
REPORT = "state.json"
CLOSED = "closed.json"
SHOWN = ("version", "snapshot", "size", "logged", "counters")


NOTES = ("tables/complete", "prefix.json", "now/states.json", "input/complete.json")
"""What else may be there, and has to stay."""

NOTHING = -1
"""In place of the number of the last micro-batch."""

Heads = Mapping[tuple[int, int], Mapping[str, Any]]
"""By level and shard, what is stored of its state first (`engine.shards.state_log.Head`)."""


@dataclass
class CheckpointProgress:
    """How far a checkpoint is. `run`: Spark's name of the query; `batch`: the last micro-batch that
    sinks have; `logs`: digests of Spark's logs; `shards`: by level and shard, the version that it
    has since a micro-batch, and the one before; `notes`: those of `NOTES` that there are."""

    run: str = ""
    batch: int = NOTHING
    logs: dict[str, str] = field(default_factory=dict)
    shards: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def latest_logs(self) -> set[str]:
        """The last log of every folder."""
        in_order = sorted(self.logs, key=_by_number)
        return {*{name.rpartition("/")[0]: name for name in in_order}.values()}


class Checkpoint:
    """A checkpoint's directory."""

    def __init__(self, place: str) -> None:
        self.place = Place(place)
        self.query: dict[str, Any] = {}
        self.progress = CheckpointProgress()
        self.is_noted = False

    @property
    def spark(self) -> str:
        """Where Spark keeps its own."""
        return f"{self.place}/spark"

    @property
    def run(self) -> str:
        """Spark's name of the query; empty if it has not begun."""
        known = self._json("spark/metadata") or {}
        return str(known.get("id", ""))

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
        inputs: Mapping[str, str] | None = None,
    ) -> None:
        """Make sure that the state is that of these plans, and note it if it is new. `read`: how
        the sources are read; `inputs`: where, if that is known."""
        mine = {
            **describe(plans, options, shards),
            "read": dict(read or {}),
            "inputs": dict(inputs or {}),
        }
        known = self.read()
        if known is None:
            known = {**mine, "progress": asdict(CheckpointProgress())}
            self.place.write_note(FILE, known)
        self.progress = CheckpointProgress(**known.pop("progress"))
        self.query = known
        if known != mine:
            raise PlanError(
                f"{self.place} is the checkpoint of another query: {difference(known, mine)}; give "
                "--checkpoint another directory, or run the query it was made by"
            )

    def verify(self) -> None:
        """Refuse a checkpoint whose parts do not belong together."""
        known = self.read()
        if known is None:
            if self.place.read("spark/metadata") is not None or self._numbers("offsets"):
                raise self._unfit(f"{FILE} is gone")
            return
        progress = CheckpointProgress(**known["progress"])
        begun, committed = self._numbers("offsets"), self._numbers("commits")
        last = progress.batch
        if last == NOTHING:
            fits = not committed and not begun[1:]
        else:
            if self.run != progress.run:
                raise self._unfit("spark is gone, or that of another checkpoint")
            fits = begun[-1:] in ([last], [last + 1]) and last in begun
            fits = fits and committed[-1:] in ([last], [last - 1] if last else [])
        if not fits:
            raise self._unfit(f"spark and {FILE} are not of the same micro-batch")
        for name, known_as in progress.logs.items():
            data = self.place.read(name)
            if data is None and name not in progress.latest_logs:
                continue  # Spark has let it go
            if data is None or digest(data) != known_as:
                raise self._unfit(f"{name} is {'gone' if data is None else 'damaged'}")
        for name in progress.notes:
            if self.place.read(name) is None:
                raise self._unfit(f"{name} is gone")

    def check(self, batch: int, heads: Heads) -> None:
        """Refuse a micro-batch, before sinks have it, that did not start from the versions of the
        shards that the one before has left."""
        for (level, shard), head in heads.items():
            known = self.progress.shards.get(f"{level}/{shard}")
            expected = ""
            if known is not None:  # a micro-batch that comes again starts from where it did
                expected = known["before" if known["batch"] == batch else "token"]
            if head["before"] != expected:
                raise self._unfit(f"the state of shard {level}/{shard} is not the last one")

    def commit(self, batch: int, heads: Heads) -> None:
        """Note that sinks have a micro-batch, before Spark commits it."""
        progress = self.progress
        if not self.is_noted:
            progress.notes = [name for name in NOTES if self.place.read(name) is not None]
            self.is_noted = True
        progress.batch, progress.run = batch, self.run
        self._settle(batch)
        progress.logs = self._logs(batch)
        for (level, shard), head in heads.items():
            mark = {"batch": batch, "before": head["before"], "token": head["tokens"][-1]}
            progress.shards[f"{level}/{shard}"] = mark
        self.place.write_note(FILE, {**self.query, "progress": asdict(progress)})

    def _logs(self, batch: int) -> dict[str, str]:
        """Digests of the logs by which Spark knows what has been read: the offsets of the
        micro-batch, and on this disk, where nothing else checks them, those of the sources."""
        names = [f"spark/offsets/{batch}"]
        if self.place.is_on_disk:
            sources = Path(self.place.root, "spark", "sources")
            found = (path for path in sources.glob("*/*") if not path.name.startswith("."))
            names += [str(path.relative_to(self.place.root)) for path in sorted(found)]
        known = self.progress.logs
        return {name: known.get(name) or digest(self.place.read(name) or b"") for name in names}

    def _settle(self, batch: int) -> None:
        """Have what Spark has written for a micro-batch, and its commit of the one before, on the
        disk before the manifest says so: Spark itself leaves that to the system."""
        if not self.place.is_on_disk:
            return
        spark = Path(self.place.root, "spark")
        written = [spark / "metadata", spark / "offsets" / f"{batch}"]
        written += [spark / "commits" / f"{batch - 1}"] if batch else []
        written += [*spark.glob(f"sources/*/{batch}"), *spark.glob(f"sources/*/{batch}.compact")]
        written += spark.glob(f"state/*/*/{batch + 1}.*")
        for path in written:
            with suppress(FileNotFoundError):  # a state that did not change has none
                sync(path)
        for folder in {path.parent for path in written}:
            with suppress(FileNotFoundError):
                sync(folder)

    def drop_leftovers(self) -> None:
        """Delete states of micro-batches that were never committed, and their checksums. Such a
        micro-batch comes again, and its state with it; but where files get their names by a plain
        rename (`session.BY_NAME`) the one that is there stays, as it was in the first try."""
        if not self.place.is_on_disk:
            return
        committed = (self._numbers("commits") or [NOTHING])[-1]
        for path in Path(self.place.root, "spark", "state").glob("*/[0-9]*/*"):
            number = path.name.removeprefix(".").partition(".")[0].partition("_")[0]
            if number.isdigit() and int(number) > committed + 1:
                path.unlink()

    def _numbers(self, log: str) -> list[int]:
        """The micro-batches in one of Spark's logs, in order."""
        return sorted(int(name) for name in self.place.names(f"spark/{log}") if name.isdigit())

    def _unfit(self, what: str) -> PlanError:
        return PlanError(f"{self.place}: {what}: {WHAT_TO_DO}")

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
        return self.place.read_note(FILE)

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


def _by_number(name: str) -> tuple[str, int]:
    folder, _, last = name.rpartition("/")
    return folder, int(last.partition(".")[0])


def completed_in(folder: Path) -> dict[int, int]:
    """By group of queries, the last micro-batch that its checkpoint in a folder has come to."""
    own = Checkpoint(str(folder))
    groups = {0: own} if own.read() else {}
    for each in folder.glob("[0-9]*"):
        groups[int(each.name)] = Checkpoint(str(each))
    found = {group: each.read() for group, each in groups.items()}
    return {group: known["progress"]["batch"] for group, known in found.items() if known}


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
        "plans": {name: plan.tree().split("\n") for name, plan in plans.items()},
        "meaning": {name: fingerprint(plan) for name, plan in plans.items()},
        "options": fingerprint(_of_state(options)),
    }


def fingerprint_of(plans: Mapping[str, Node], options: Options, *view: object) -> str:
    """What a query is known by in the state of its shards. `view`: which view of it is asked for,
    and how, where Spark starts it."""
    return fingerprint([FORMAT, sorted(plans.items()), _of_state(options), view])


def _of_state(options: Options) -> Options:
    """The options without those that change nothing of what is stored."""
    return replace(
        options,
        batch=DEFAULT_BATCH,
        keep_open=False,
        strict=False,
        limits=DEFAULT_LIMITS,
        outputs="free",  # which `describe` has, as far as it matters
        reads_ahead=False,
    )


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
        if known["meaning"][name] != mine["meaning"][name]:
            return f"a detail of the plan of {name} that explain does not show has changed"
    if known["options"] != mine["options"]:
        return "one of its options has changed"
    before, now = known.get("inputs", {}), mine.get("inputs", {})
    for name in now:
        if before.get(name) != now[name]:
            return f"{name} was read from {before.get(name)} and is read from {now[name]} now"
    before, now = known.get("read", {}), mine.get("read", {})
    for name in now:
        if before.get(name, now[name]) != now[name]:
            return _read_in_another_way(name, before[name], now[name])
    return "it was written by another version of Driftline"
