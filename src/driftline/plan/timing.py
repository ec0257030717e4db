"""What is declared of when the records of a stream come, and the heartbeats that follow.

Heartbeats that follow from declared bounds are promises; without bounds they are estimated from
arrivals (`estimate`), or there are none. See docs/time.md for what the bounds mean exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

from driftline.model.time import INFINITY, TICKS_PER_SECOND
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.milliseconds import LONGEST, milliseconds
from driftline.plan.source_bounds import Given, SourceBounds, source_bounds
from driftline.plan.types import Schema, is_integer, is_timestamp, type_name

Heartbeats = Literal["declared", "estimate", "none"]
TimeUnit = Literal["s", "ms", "us"]

MICROSECONDS: dict[str, int] = {"s": TICKS_PER_SECOND, "ms": TICKS_PER_SECOND // 1000, "us": 1}
"""In a unit of time."""

LATE = 0.001
PERCENT = 100

FINEST_RATE = 1_000_000
"""A rate is a multiple of one part in so many."""


@dataclass(frozen=True)
class Timing:
    """`source`: the column that tells the sources of a stream apart; `sources`: how many there are;
    `groups`: the column whose values put sources together that are treated as one.

    A source's records are at most `disorder` behind the latest it has emitted, and the clocks of
    two sources at most `skew` apart (in ticks; None: nothing is known). A record is at most
    `latency` on its way, and a source that is silent for `timeout` holds nothing back (both in
    milliseconds of the arrival clock). `arrival`: the column that has this clock. `late`: estimated
    heartbeats may be too early for such a share of the records. `time_unit`: what numbers that are
    times count since 1970 (None: not given).

    `bounds`: those that differ by source and between sources, or by group if there are groups;
    `disorder` and `latency` are then those of the sources (or groups) that it gives none for.
    `rate`: the clock of a source advances at least so many ticks in so many milliseconds.
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
    groups: str | None = None
    bounds: SourceBounds | None = None
    rate: tuple[int, int] | None = None

    @property
    def is_promised(self) -> bool:
        """Whether heartbeats follow from declared bounds."""
        return self.disorder is not None or self.bounds is not None

    @property
    def apart_by(self) -> str | None:
        """The column by which times are kept apart: that of the groups, if there are some."""
        return self.source if self.groups is None else self.groups

    @property
    def by_source(self) -> bool:
        """Whether heartbeats take more than the greatest time so far."""
        return self.is_promised and (self.source is not None or self.needs_clock)

    @property
    def needs_clock(self) -> bool:
        """Whether it matters when records come, and not only in which order."""
        return (
            self.latency > 0
            or self.timeout is not None
            or self.rate is not None
            or (self.bounds is not None and self.bounds.needs_clock)
        )


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
    groups: str | None = None,
    bounds: Given | None = None,
    rate: float | str | Fraction | None = None,
) -> Timing:
    """The time options of a stream as a user gave them, checked.

    >>> found = timing(Schema.of({"ts": "TIMESTAMP"}), True, disorder="5s", latency="2s")
    >>> found.disorder, found.latency, found.heartbeats
    (5000000, 2000, 'declared')
    """
    _check_texts(source=source, arrival=arrival, heartbeats=heartbeats, groups=groups)
    given = {"skew": skew, "sources": sources, "groups": groups, "bounds": bounds}
    _check_together(disorder is not None, {**given, "latency": latency, "rate": rate})
    if source is None:
        for name, value in given.items():
            if value is not None:
                raise PlanError(f"{name} is about several sources: say which column tells them")
    is_promised = disorder is not None or bounds is not None
    declared: Heartbeats = "declared" if is_promised else "estimate"
    wanted = declared if heartbeats is None else heartbeats.lower()
    if wanted not in get_args(Heartbeats) or (wanted == "declared" and not is_promised):
        raise PlanError(f"heartbeats is estimate or none, not {heartbeats!r}")
    if wanted != declared and is_promised:
        what = "disorder is" if bounds is None else "bounds are"
        raise PlanError(f"{what} declared, so heartbeats cannot be {wanted}: leave one out")
    if wanted != "estimate" and late is not None:
        raise PlanError("late is about heartbeats that are estimated: leave it out")
    if wanted == "none" and timeout is not None:
        raise PlanError("a timeout makes heartbeats, and there are to be none: leave one out")
    found = {name: _column(schema, name, given) for name, given in
             (("source", source), ("arrival", arrival), ("group", groups))
             if given is not None}  # fmt: skip
    if arrival is not None:
        kind = schema.find(found["arrival"])[0].type
        if not is_timestamp(kind) and not is_integer(kind):
            raise PlanError(
                f"the arrival clock {arrival} is a {type_name(kind)}: it must be a "
                "TIMESTAMP, or milliseconds"
            )
    behind = None if disorder is None else ticks(disorder, timestamps)
    apart = None if skew is None else ticks(skew, timestamps)
    between = None
    if bounds is not None:
        kind = schema.find(found.get("group", found["source"]))[0].type
        between = source_bounds(bounds, kind, timestamps=timestamps)
        if behind is not None and (groups is None or apart is not None):
            between = between.with_disorder(min(behind + (apart or 0), INFINITY - 1))
        for name in between.unbounded():
            raise PlanError(
                f"no bound is about {name}, so that nothing would ever be final: add a row "
                f"{name},{name},0,… with its own disorder, or one from another"
            )
    return Timing(
        behind,
        found.get("source"),
        None if sources is None else _count(sources),
        apart,
        0 if latency is None else milliseconds(latency),
        None if timeout is None or milliseconds(timeout) == LONGEST else milliseconds(timeout),
        found.get("arrival"),
        wanted,  # type: ignore[arg-type]
        LATE if late is None else _share(late),
        _unit(time_unit),
        found.get("group"),
        between,
        None if rate is None else _rate(rate, timestamps),
    )


def _check_together(is_disorder: bool, given: dict[str, object]) -> None:
    """Refuse bounds that say nothing without another, or that another has said already."""
    there = {name for name, value in given.items() if value is not None}
    if not is_disorder:
        alone = there & ({"skew", "sources", "latency", "rate", "groups"} if "bounds" not in there
                         else {"skew"})  # fmt: skip
        for name in (each for each in given if each in alone):
            raise PlanError(
                f"{name} says nothing without disorder: add how far out of order a source is, "
                "disorder = 0 if it is not"
            )
    if "bounds" in there and "sources" in there:
        raise PlanError("bounds names the sources: leave sources out")
    if {"bounds", "skew"} <= there and "groups" not in there:
        raise PlanError("bounds tells how far sources are apart: leave skew out")
    if "groups" in there and not there & {"skew", "bounds"}:
        raise PlanError(
            "groups treats the sources of a group as one: add skew, how far their clocks are apart "
            "at most, or bounds of the groups"
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


def _rate(given: object, timestamps: bool) -> tuple[int, int]:
    """So many ticks in so many milliseconds, rounded down."""
    text = str(given).strip()
    try:
        rate = Fraction(text.removesuffix("%")) / (PERCENT if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(-1)
    rate *= MICROSECONDS["ms"] if timestamps else 1
    rate = Fraction(int(rate * FINEST_RATE), FINEST_RATE)
    if not 0 < rate <= FINEST_RATE:
        what = "seconds in a second" if timestamps else "ticks in a millisecond"
        raise PlanError(
            f"rate is how many {what} the clock of a source advances at least, such as 1 or 0.9, "
            f"not {given!r}"
        )
    return rate.numerator, rate.denominator


def _share(late: float | str) -> float:
    text = str(late).strip()
    try:
        share = float(text.removesuffix("%")) / (PERCENT if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise PlanError(f"late is a share of the records, such as 0.001 or '0.1%', not {late!r}")
    return share


def _column(schema: Schema, what: str, name: str) -> str:
    found = schema.find(name)
    if not found:
        known = ", ".join(schema.names)
        raise PlanError(f"{what} column {name} does not exist: the columns are {known}")
    return found[0].name


def remembered(timing: Timing, remember: int) -> int:
    """For how long the past of a source can be corrected: a disorder that is declared for the whole
    source shortens that of the options."""
    if timing.disorder is None or timing.by_source:
        return remember
    return min(remember, timing.disorder)
