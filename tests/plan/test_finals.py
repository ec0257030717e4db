from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.model.reference.latency import Level
from driftline.plan.errors import PlanError
from driftline.plan.finals import final
from driftline.plan.fragments import cut


def test_windows_that_ctis_say_nothing_about_are_refused() -> None:
    s = dl.stream("s", {"at": "BIGINT", "seen": "BIGINT"}, time="at")
    assert final(s.tumble(5).plan).window_end == "window_end"
    assert final(s.tumble(5, "at").plan).window_end == "window_end"
    with pytest.raises(PlanError, match=r"windows by seen have no final answers"):
        final(s.tumble(5, "seen").plan)


def test_a_column_that_is_only_called_so_is_no_window() -> None:
    s = dl.stream("s", {"at": "BIGINT"}, time="at")
    assert final(s.select("at AS window_end").plan).window_end is None
    with pytest.raises(PlanError, match=r"window_end is no time of the stream"):
        final(s.tumble(5).select("'x' AS window_end").plan)


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
