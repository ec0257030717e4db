"""Windows as columns: TUMBLE, HOP and CUMULATE as Spark and Flink users know them.

    hop_{slide, size}(H) = { (vs, ve, r + {window_start: w, window_end: w + size}) :
                             (vs, ve, r) ∈ H, w a multiple of slide, w <= time(r) < w + size }

    tumble_{size} = hop_{size, size}

    cumulate_{step, size}(H) = { (vs, ve, r + {window_start: w, window_end: e}) : (vs, ve, r) ∈ H,
                                 w = the multiple of size with w <= time(r) < w + size,
                                 e - w a multiple of step, time(r) < e <= w + size }

Lifetimes stay as they are. `time` is vs, or any column of the row; where it is null there is no
window and so no row, as in Spark. A window that would reach beyond the times that 64 bits hold
starts, or ends, at the last of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from driftline.model.history import History, Lifetime
from driftline.model.reference.project import flat_project
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY


def hop(
    history: History,
    slide: int,
    size: int,
    time: Callable[[Lifetime], int | None] = lambda lifetime: lifetime.vs,
) -> History:
    if slide <= 0 or size <= 0:
        raise ValueError(f"a window needs a slide and a size of at least 1, not {slide} and {size}")

    def windows(lifetime: Lifetime) -> Iterator[Row]:
        moment = time(lifetime)
        if moment is None:
            return
        first = (moment - size) // slide * slide + slide  # the first multiple after moment - size
        for start in range(first, moment + 1, slide):
            yield _in_window(lifetime.row, start, start + size)

    return flat_project(history, windows)


def tumble(
    history: History,
    size: int,
    time: Callable[[Lifetime], int | None] = lambda lifetime: lifetime.vs,
) -> History:
    return hop(history, size, size, time)


def cumulate(
    history: History,
    step: int,
    size: int,
    time: Callable[[Lifetime], int | None] = lambda lifetime: lifetime.vs,
) -> History:
    if step <= 0 or size <= 0 or size % step:
        raise ValueError(f"the size {size} of a window must be a multiple of its step {step}")

    def windows(lifetime: Lifetime) -> Iterator[Row]:
        moment = time(lifetime)
        if moment is None:
            return
        start = moment // size * size
        for end in range(start + step, start + size + 1, step):
            if moment < end:
                yield _in_window(lifetime.row, start, end)

    return flat_project(history, windows)


def _in_window(row: Row, start: int, end: int) -> Row:
    return Row(row, window_start=max(BEGINNING, start), window_end=min(INFINITY, end))
