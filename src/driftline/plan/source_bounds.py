"""Bounds that differ by source and between sources, as they are declared: a file, or rows.

    from,to,after,delta,latency
    a,b,2s,5s,              what b emits more than 2 s after a record of a is at most 5 s behind it
    a,a,0,1s,250ms          a is at most 1 s out of order, and its records 250 ms on their way
    b,a,3 tuples,later,     after its next 3 records, what a emits is later than the record of b

These are entries of the matrix B of Srivastava and Widom (see `driftline.time.bounds`), where
"later" is their δ = 0, and any other delta, which is inclusive as all bounds that people declare,
their δ less one tick. The file is read when the stream is declared, and never again.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from driftline.model.time import INFINITY
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.milliseconds import LONGEST, milliseconds
from driftline.plan.types import type_name

COLUMNS = ("from", "to", "after", "delta", "latency")
NEEDED = 4
LATER = "later"
MOST_TUPLES = 1_000_000

Given = str | PathLike[str] | Iterable[Any]
"""A file, or rows of from, to, after, delta and, if it is known, latency."""

_TUPLES = re.compile(r"(\d+)\s*(?:tuple|record|row)s?", re.IGNORECASE)


@dataclass(frozen=True)
class SourceBounds:
    """`names`: the sources, by number; `pairs`: from, to, wait (in milliseconds), tuples and lag
    (in ticks, strict) of each bound; `latencies`: those of the sources, None where the file gives
    none."""

    names: tuple[str, ...]
    pairs: tuple[tuple[int, int, int, int, int], ...]
    latencies: tuple[int | None, ...]

    @property
    def needs_clock(self) -> bool:
        """Whether it matters when records come, and not only in which order."""
        return any(wait for _, _, wait, *_ in self.pairs) or any(self.latencies)

    def with_disorder(self, disorder: int) -> SourceBounds:
        """These, and a disorder for the sources of which they give none."""
        have = {origin for origin, target, *_ in self.pairs if origin == target}
        every = range(len(self.names))
        more = tuple((each, each, 0, 0, disorder + 1) for each in every if each not in have)
        return replace(self, pairs=self.pairs + more)

    def unbounded(self) -> list[str]:
        """The sources that no bound is about."""
        bound = {target for _, target, *_ in self.pairs}
        return [name for number, name in enumerate(self.names) if number not in bound]


def source_bounds(given: Given, kind: pa.DataType, *, timestamps: bool) -> SourceBounds:
    """Bounds as a user gave them, checked; `kind`: the type of the column that names sources.

    >>> rows = [("a", "b", "2s", 5), ("b", "b", "3 tuples", "later", 250)]
    >>> found = source_bounds(rows, pa.string(), timestamps=False)
    >>> found.names, found.pairs, found.latencies
    (('a', 'b'), ((0, 1, 2000, 0, 6), (1, 1, 0, 3, 0)), (None, 250))
    """
    names: dict[str, int] = {}
    pairs: dict[tuple[int, int, int, int], tuple[int, str]] = {}
    latencies: dict[int, tuple[int, str]] = {}
    for place, row in _rows(given):
        try:
            origin, target = (names.setdefault(_name(row, each, kind), len(names))
                              for each in ("from", "to"))  # fmt: skip
            wait, tuples = _after(row["after"])
            lag = _lag(row["delta"], timestamps)
            latency = None if _is_empty(row["latency"]) else _latency(row["latency"])
        except PlanError as error:
            raise PlanError(f"{place}: {error}") from None
        key = (origin, target, wait, tuples)
        if key in pairs:
            known, there = pairs[key]
            how = "the same delta" if known == lag else "another delta"
            raise PlanError(f"{place}: this bound has {how} in {there}: leave one out")
        pairs[key] = lag, place
        if latency is not None:
            known, there = latencies.setdefault(origin, (latency, place))
            if known != latency:
                raise PlanError(
                    f"{place}: {row['from']} has another latency in {there}: leave one out"
                )
    if not pairs:
        raise PlanError(f"{_shown(given)}: there are no bounds: rows of from, to, after, delta")
    return SourceBounds(
        tuple(names),
        tuple((*key, lag) for key, (lag, _) in pairs.items()),
        tuple(latencies[each][0] if each in latencies else None for each in range(len(names))),
    )


def _shown(given: Given) -> str:
    return fspath(given) if isinstance(given, (str, PathLike)) else "bounds"


def _rows(given: Given) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows, and the place of each in words."""
    if isinstance(given, (str, PathLike)):
        yield from _lines(Path(given))
        return
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise PlanError("bounds are a file, or rows of from, to, after and delta")
    for number, row in enumerate(given, 1):
        place = f"bounds, row {number}"
        if isinstance(row, Mapping):
            yield place, _named(row, place)
        elif isinstance(row, Sequence) and not isinstance(row, str):
            yield place, _numbered(list(row), COLUMNS, place)
        else:
            raise PlanError(f"{place}: {row!r} is not a row of from, to, after and delta")


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PlanError(f"bounds: {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise PlanError(f"bounds: {path} is not UTF-8 text") from None
    reader = csv.reader(text.splitlines())
    header: list[str] | None = None
    try:
        for line in reader:
            place = f"{path}, line {reader.line_num}"
            if not any(cell.strip() for cell in line):
                continue
            if header is None:
                header = [cell.strip().lower() for cell in line]
                _need_columns(header, place)
            else:
                yield place, _numbered([cell.strip() for cell in line], header, place)
    except csv.Error as error:
        raise PlanError(f"{path}, line {reader.line_num}: {error}") from None


def _need_columns(header: Sequence[str], place: str) -> None:
    missing = [name for name in COLUMNS[:NEEDED] if name not in header]
    strange = [name for name in header if name not in COLUMNS]
    if missing or strange or len(set(header)) < len(header):
        raise PlanError(
            f"{place}: the first line names the columns: from, to, after, delta and, if it is "
            f"known, latency; not {', '.join(header)}"
        )


def _numbered(cells: Sequence[Any], header: Sequence[str], place: str) -> dict[str, Any]:
    if not NEEDED <= len(cells) <= len(header):
        raise PlanError(f"{place}: there are {len(cells)} values for {', '.join(header)}")
    return dict.fromkeys(COLUMNS) | dict(zip(header, cells, strict=False))


def _named(row: Mapping[Any, Any], place: str) -> dict[str, Any]:
    for name in row:
        if name not in COLUMNS:
            raise PlanError(f"{place}: {name!r} is none of {', '.join(COLUMNS)}")
    for name in COLUMNS[:NEEDED]:
        if name not in row:
            raise PlanError(f"{place}: {name} is missing")
    return {name: row.get(name) for name in COLUMNS}


def _is_empty(value: object) -> bool:
    return value is None or value == ""


def _name(row: Mapping[str, Any], column: str, kind: pa.DataType) -> str:
    """The name of a source, as the column that it stands in would show it."""
    given = row[column]
    if _is_empty(given):
        raise PlanError(f"{column} is empty: name a source")
    try:
        typed = pa.array([str(given)], pa.string()).cast(kind)
        return str(typed.cast(pa.string())[0].as_py())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise PlanError(f"{column} is {given}, but sources are {type_name(kind)}s") from None


def _after(given: Any) -> tuple[int, int]:
    """A wait in milliseconds, and how many tuples are counted after it."""
    if not isinstance(given, str):
        return (0 if given is None else _wait(given)), 0
    wait = tuples = 0
    for part in given.split("+") if given else ():
        counted = _TUPLES.fullmatch(part.strip())
        if counted is None:
            wait += _wait(part.strip())
        else:
            tuples += int(counted[1])
    if tuples > MOST_TUPLES:
        raise PlanError(f"after counts {tuples:,} tuples: at most {MOST_TUPLES:,} can be")
    return wait, tuples


def _wait(given: Duration) -> int:
    try:
        wait = milliseconds(given)
    except PlanError as error:
        raise PlanError(f"after: {error}; tuples are counted as '3 tuples'") from None
    if wait >= LONGEST:
        raise PlanError("after never comes: leave the row out")
    return wait


def _latency(given: Duration) -> int:
    latency = milliseconds(given)
    if latency >= LONGEST:
        raise PlanError("the latency has no end: then no heartbeat can come")
    return latency


def _lag(given: Any, timestamps: bool) -> int:
    if isinstance(given, str) and given.lower() == LATER:
        return 0
    if _is_empty(given):
        raise PlanError(f"delta is empty: how far behind may it be at most, or '{LATER}'")
    try:
        delta = ticks(given, timestamps)
    except PlanError as error:
        raise PlanError(f"delta: {error}") from None
    if delta >= INFINITY // 2:
        raise PlanError("a delta without end bounds nothing: leave the row out")
    return delta + 1
