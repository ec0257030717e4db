"""Other lifetimes: windows, as lifetimes and as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from driftline.api.planned import Planned
from driftline.arguments import flag, lasting, several, text_of, time_of
from driftline.plan import nodes
from driftline.plan.durations import Duration, ticks
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column
from driftline.plan.types import is_integer, is_timestamp, type_name
from driftline.spark_columns import Text


@dataclass(frozen=True, repr=False)
class Windowed(Planned):
    """Windows over the rows of a plan."""

    def window(
        self,
        *,
        range: Duration | None = None,
        slide: Duration | None = None,
        start: str | int | None = None,
        duration: Duration | None = None,
    ) -> Self:
        """Other lifetimes: `range` alone slides; with `slide` it hops; `start` and `duration` are
        expressions over vs and ve. `range="inf"` keeps every row for ever, `range=1` for a tick."""
        stamps = self.plan.timestamps
        if start is not None:
            if duration is None or range is not None or slide is not None:
                raise PlanError("window(start=…) goes with duration=… alone")
            begins, lasts = time_of(start), lasting(duration, stamps)
            return self._of(nodes.Window(self.plan, "general", start=begins, duration=lasts))
        if range is None:
            raise PlanError("a window needs range=…, or start=… and duration=…")
        size = ticks(range, stamps)
        if size == 0:
            raise PlanError("a window lasts at least one tick: in one of range=0 no row would live")
        if slide is None:
            return self._of(nodes.Window(self.plan, "sliding", size))
        step = ticks(slide, stamps)
        if step == 0:
            raise PlanError("a hopping window needs a slide of at least one tick")
        return self._of(nodes.Window(self.plan, "hopping", size, step))

    def hop(self, slide: Duration, size: Duration, time: str | None = None) -> Self:
        """The windows of each row as columns window_start and window_end; lifetimes stay."""
        stamps, by = self.plan.timestamps, None
        if time is not None:
            found = self.schema.find(text_of(time, "the time of windows"))
            if len(found) != 1:
                raise PlanError(f"there is no column {time} to take windows by")
            stamps = is_timestamp(found[0].type)
            if not stamps and not is_integer(found[0].type):
                raise PlanError(
                    f"windows go by a TIMESTAMP or an integer column, and {time} is a "
                    f"{type_name(found[0].type)}"
                )
            by = Column(self.schema.key(found[0]), found[0].type, found[0].qualifier)
        for name in ("window_start", "window_end"):
            self._new_name(name)
        every, whole = ticks(slide, stamps), ticks(size, stamps)
        if every == 0 or whole == 0:
            raise PlanError("a window needs a slide and a size of at least one tick")
        return self._of(nodes.WindowColumns(self.plan, every, whole, by))

    def tumble(self, size: Duration, time: str | None = None) -> Self:
        """The window of each row as columns window_start and window_end; lifetimes stay."""
        return self.hop(size, size, time)

    def session(
        self,
        gap: Duration,
        *,
        per: Text | Sequence[Text] = (),
        at_most: Duration | None = None,
        columns: bool = False,
    ) -> Self:
        """Rows that follow each other within a gap, of all rows or per key, belong to a session:
        every row lives until its session ends, a gap after its last row. `at_most`: how long after
        its first row a session ends at the latest. With `columns` the lifetimes of rows stay, and
        their sessions are the columns window_start and window_end.

        >>> import driftline as dl
        >>> clicks = dl.stream("clicks", {"user": "STRING", "url": "STRING"})
        >>> print(clicks.session(30, per="user").group_by("user").agg("count(*) AS n").explain())
        project user, `$0` AS n
        └─ aggregate count(*) AS $0 by user
           └─ window [SESSION 30 PER user]
              └─ source clicks (user STRING, url STRING)
        """
        flag(columns, "columns")
        stamps = self.plan.timestamps
        every, most = ticks(gap, stamps), None if at_most is None else ticks(at_most, stamps)
        if every == 0 or most == 0:
            raise PlanError("a session needs a gap, and a length, of at least one tick")
        keys = tuple(self._expression(each) for each in several(per, "per"))
        if columns:
            for name in ("window_start", "window_end"):
                self._new_name(name)
            return self._of(nodes.SessionColumns(self.plan, keys, every, most))
        return self._of(nodes.Session(self.plan, keys, every, most))
