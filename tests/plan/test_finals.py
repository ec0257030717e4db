from __future__ import annotations

from collections.abc import Collection

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.model.level import Level
from driftline.plan.errors import PlanError
from driftline.plan.finals import final, only_final, refuse_perfect
from driftline.plan.fragments import cut

S = dl.stream("s", {"at": "BIGINT", "seen": "BIGINT"}, time="at")
HOUR = 3_600_000_000


def windows(query: dl.Query, plain: Collection[str] = ("s",)) -> dict[str, int]:
    """The columns that final answers go by, and how long after these windows are over."""
    return dict(final(query.plan, plain).windows)


def test_windows_that_ctis_say_nothing_about_are_refused() -> None:
    assert windows(S.tumble(5)) == windows(S.tumble(5, "at")) == {"window_end": 0}
    with pytest.raises(PlanError, match=r"windows by seen have no final answers"):
        windows(S.tumble(5, "seen"))
    with pytest.raises(PlanError, match=r"windows by at .* \(of an event log it is vs"):
        windows(S.tumble(5, "at"), plain=())
    assert windows(S.tumble(5, "seen").select("seen", "window_end % 2 AS odd")) == {}


def test_a_column_that_is_only_called_so_is_no_window() -> None:
    assert windows(S.select("at AS window_end")) == {}
    assert windows(S.tumble(5).select("'x' AS window_end")) == {}
    assert windows(S.tumble(5).group_by("seen").agg("max(window_end) AS window_end")) == {}


def test_a_window_is_known_by_where_it_comes_from() -> None:
    ends = S.tumble(5).select("window_end AS e", "seen")
    assert windows(ends) == windows(ends.distinct()) == {"e": 0}
    assert windows(ends.top(1, by="seen", per="e")) == windows(ends.union(ends)) == {"e": 0}
    assert windows(S.tumble(5).group_by("window_start").agg("count(*) AS n")) == {"window_start": 5}
    assert windows(ends.select("e + 3 AS late")) == {"late": -3}
    assert windows(ends.window(range=10, slide=2)) == {"e": 2}
    assert windows(ends.window(start="vs + 7", duration=1)) == {"e": 7}
    assert windows(ends.window(start="ve", duration=1)) == {}


def test_a_pair_is_final_when_both_of_its_rows_are() -> None:
    ends, others = S.tumble(5).select("window_end AS e", "seen").alias("l"), S.tumble(10).alias("r")
    joined = ends.join(others, "l.e = r.window_end", "full")
    assert windows(joined) == {"e": 0, "window_end": 0}
    assert windows(joined.select("coalesce(e, window_end) AS w")) == {"w": 0}
    next_ones = ends.join(others, "l.e = r.window_start")
    assert windows(next_ones.select("e")) == {"e": 10}
    assert windows(ends.join(others, "l.seen = r.seen", "left")) == {}
    names = dl.stream("names", {"seen": "BIGINT"})
    named = ends.join(names.where("seen > 0"), on="seen", how="anti")
    assert windows(named) == {}
    assert dict(final(named.plan, ["s", "names"], ["names"]).windows) == {"e": 0}
    assert windows(ends.minus(ends)) == {"e": 0}
    assert windows(ends.top(3, by="seen")) == {}


def test_windows_by_times_that_are_moved_are_over_later() -> None:
    assert windows(S.select("at - 5 AS at").tumble(5, "at")) == {"window_end": 5}
    assert windows(S.select("3 + at AS x").hop(2, 4, "x")) == {"window_end": -3}
    s = dl.stream("s", {"ts": "TIMESTAMP"}, time="ts")
    moved = s.select("ts - INTERVAL 5 HOURS AS ts").tumble("1 hour", "ts")
    assert windows(moved) == {"window_end": 5 * HOUR}
    assert final(moved.plan, ["s"]).label() == "final by window_end + 5 h"


def test_windows_by_windows_are_over_at_their_own_end() -> None:
    inner = S.tumble(5).group_by("window_start", "window_end").agg("count(*) AS n")
    outer = inner.select("window_start AS b", "window_end AS e", "n")
    assert windows(outer.tumble(10, "e").select("window_end", "n")) == {"window_end": 0}
    assert windows(outer.tumble(10, "b").select("window_end", "n")) == {"window_end": 4}
    assert windows(outer.tumble(10).select("window_end", "n")) == {"window_end": 0}


def test_perfect_answers_about_windows_never_come() -> None:
    s = dl.stream("s", {"at": "BIGINT"}, time="at")
    with pytest.raises(PlanError, match=r"need emit=ordered or emit=eager"):
        compile_plan(final(s.tumble(5).plan), lambda _: None, Level.PERFECT)


def test_final_answers_need_no_exchange() -> None:
    s = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
    counted = s.window(range=3).group_by("k").agg("count(*) AS n")
    assert len(cut(final(counted.where("n > 1").select("k AS key", "n").plan))) == 1
    assert len(cut(final(counted.select("n").plan))) == 2  # equal rows are in several shards
    windows = s.tumble(5).group_by("window_end", "k").agg("max(x) AS x")
    assert len(cut(final(windows.plan))) == len(cut(windows.plan))


def test_matches_in_the_order_of_time_are_final_when_they_are_settled() -> None:
    matches = S.match("A B+", None, "count(*) AS n", by="at").where("n > 1").alias("m")
    assert windows(matches) == windows(matches.select("n + 1 AS n")) == {"$settled": 1}
    plan = only_final(matches.select("n").plan, ["s"])
    assert plan.schema.names == ("n",)
    assert plan.tree().splitlines()[:2] == ["project n", "└─ final by $settled + 1"]
    assert windows(S.match("A", None, "A.at AS n", by="seen")) == {}
    assert windows(S.match("A", None, "A.at AS n", by="at DESC")) == {}
    assert windows(S.match("A", None, "A.at AS n", by="at"), plain=()) == {}
    assert windows(S.window(range=5).match("A", None, "A.at AS n", by="at")) == {}
    assert windows(matches.distinct()) == {}
    by_window = S.tumble(5).match("A+", None, "count(*) AS n", per="window_end", by="at")
    assert windows(by_window) == {"window_end": 0}


def test_windows_at_perfect_are_refused_before_anything_runs() -> None:
    plan = only_final(S.tumble(5).plan, ["s"])
    with pytest.raises(PlanError, match="need emit=ordered or emit=eager"):
        refuse_perfect(plan, Level.PERFECT)
