"""What is declared of when the records of a stream come, and the heartbeats that follow.

Heartbeats that follow from declared bounds are promises; without bounds they are estimated from
arrivals (`estimate`), or there are none. See docs/time.md for what the bounds mean exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from driftline.model.time import INFINITY, TICKS_PER_SECOND
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.types import Schema, is_integer, is_timestamp, type_name

Heartbeats = Literal["declared", "estimate", "none"]
TimeUnit = Literal["s", "ms", "us"]

MICROSECONDS: dict[str, int] = {"s": TICKS_PER_SECOND, "ms": TICKS_PER_SECOND // 1000, "us": 1}
"""In a unit of time."""

LATE = 0.001
PERCENT = 100

_PER_MILLISECOND = TICKS_PER_SECOND // 1000

LONGEST = 2**61
"""The longest time on the way, in milliseconds: it can be added to any clock."""


@dataclass(frozen=True)
class Timing:
    """`source`: the column that tells the sources of a stream apart; `sources`: how many there are.

    A source's records are at most `disorder` behind the latest it has emitted, and the clocks of
    two sources at most `skew` apart (in ticks; None: nothing is known). A record is at most
    `latency` on its way, and a source that is silent for `timeout` holds nothing back (both in
    milliseconds of the arrival clock). `arrival`: the column that has this clock. `late`: estimated
    heartbeats may be too early for such a share of the records. `time_unit`: what numbers that are
    times count since 1970 (None: not given).
    """

    disorder: int | None = None
    source: str | None = None
    sources: int | None = None
    skew: int | None = None
    latency: int = 0
    timeout: int | None = None
    arrival: str | None = None
    heartbeats: Heartbeats = "estimate"
    late: float = LATE
    time_unit: TimeUnit | None = None

    @property
    def by_source(self) -> bool:
        """Whether heartbeats take more than the greatest time so far."""
        return self.disorder is not None and (
            self.source is not None or self.latency > 0 or self.timeout is not None
        )

    @property
    def needs_clock(self) -> bool:
        """Whether it matters when records come, and not only in which order."""
        return self.latency > 0 or self.timeout is not None

    @property
    def needs_timeout(self) -> bool:
        """Whether the last records wait for ever when all sources pause. A timeout is not needed
        only if every source is bound to catch up with every other (Srivastava and Widom, theorem
        3.3), which a disorder or a skew rules out, and so does a time that may come twice."""
        return self.disorder is not None and self.timeout is None


NOTHING_KNOWN = Timing()


def timing(
    schema: Schema,
    timestamps: bool,
    *,
    disorder: Duration | None = None,
    source: str | None = None,
    sources: int | str | None = None,
    skew: Duration | None = None,
    latency: Duration | None = None,
    timeout: Duration | None = None,
    arrival: str | None = None,
    heartbeats: str | None = None,
    late: float | str | None = None,
    time_unit: str | None = None,
) -> Timing:
    """The time options of a stream as a user gave them, checked.

    >>> timing(Schema.of({"ts": "TIMESTAMP"}), True, disorder="5s", latency="2s")
    Timing(disorder=5000000, source=None, sources=None, skew=None, latency=2000, timeout=None, \
arrival=None, heartbeats='declared', late=0.001, time_unit=None)
    """
    _check_texts(source=source, arrival=arrival, heartbeats=heartbeats)
    given = {"skew": skew, "latency": latency, "sources": sources}
    if disorder is None:
        for name, value in given.items():
            if value is not None:
                raise PlanError(
                    f"{name} says nothing without disorder: add how far out of order a source is, "
                    "disorder = 0 if it is not"
                )
    if source is None:
        for name in ("skew", "sources"):
            if given[name] is not None:
                raise PlanError(f"{name} is about several sources: say which column tells them")
    declared: Heartbeats = "estimate" if disorder is None else "declared"
    wanted = declared if heartbeats is None else heartbeats.lower()
    if wanted not in get_args(Heartbeats) or (wanted == "declared" and disorder is None):
        raise PlanError(f"heartbeats is estimate or none, not {heartbeats!r}")
    if wanted != declared and disorder is not None:
        raise PlanError(f"disorder is declared, so heartbeats cannot be {wanted}: leave one out")
    if wanted != "estimate" and late is not None:
        raise PlanError("late is about heartbeats that are estimated: leave it out")
    if wanted == "none" and timeout is not None:
        raise PlanError("a timeout makes heartbeats, and there are to be none: leave one out")
    found = {name: _column(schema, name, given) for name, given in
             (("source", source), ("arrival", arrival)) if given is not None}  # fmt: skip
    if arrival is not None:
        kind = schema.find(found["arrival"])[0].type
        if not is_timestamp(kind) and not is_integer(kind):
            raise PlanError(
                f"the arrival clock is to be {arrival}, a {type_name(kind)}: it must be a "
                "TIMESTAMP, or milliseconds"
            )
    return Timing(
        None if disorder is None else ticks(disorder, timestamps),
        found.get("source"),
        None if sources is None else _count(sources),
        None if skew is None else ticks(skew, timestamps),
        0 if latency is None else milliseconds(latency),
        None if timeout is None or milliseconds(timeout) == LONGEST else milliseconds(timeout),
        found.get("arrival"),
        wanted,  # type: ignore[arg-type]
        LATE if late is None else _share(late),
        _unit(time_unit),
    )


def _unit(given: object) -> TimeUnit | None:
    if given is None:
        return None
    if not isinstance(given, str) or given.lower() not in get_args(TimeUnit):
        raise PlanError(f"time_unit is s, ms or us, not {given!r}")
    return cast("TimeUnit", given.lower())


def _check_texts(**given: object) -> None:
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise PlanError(f"{name} is a text, not {value!r}")


def _count(sources: int | str) -> int:
    text = str(sources).strip()
    if not text.isdecimal() or int(text) == 0:
        raise PlanError(f"sources is how many there are: a whole number from 1 on, not {sources!r}")
    return int(text)


def _share(late: float | str) -> float:
    text = str(late).strip()
    try:
        share = float(text.removesuffix("%")) / (PERCENT if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise PlanError(f"late is a share of the records, such as 0.001 or '0.1%', not {late!r}")
    return share


def milliseconds(duration: Duration) -> int:
    """A duration of the arrival clock; a bare number is milliseconds. None is above LONGEST.

    >>> milliseconds("2s"), milliseconds("250ms"), milliseconds(7), milliseconds("inf") == LONGEST
    (2000, 250, 7, True)
    """
    if isinstance(duration, int) or (isinstance(duration, str) and duration.strip().isdigit()):
        return min(ticks(duration, False), LONGEST)
    found = ticks(duration, True)
    return LONGEST if found == INFINITY else -(-found // _PER_MILLISECOND)


def _column(schema: Schema, what: str, name: str) -> str:
    found = schema.find(name)
    if not found:
        known = ", ".join(schema.names)
        raise PlanError(f"the {what} is to be {name}, but the columns are {known}")
    return found[0].name


def remembered(timing: Timing, remember: int) -> int:
    """For how long the past of a source can be corrected: a disorder that is declared for the whole
    source shortens that of the options."""
    if timing.disorder is None or timing.by_source:
        return remember
    return min(remember, timing.disorder)
