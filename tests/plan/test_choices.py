"""Words that say how a query is run: the same in SQL, in Python and on the command line."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.plan.choices import CHOICES, need_choice, need_spark, need_together, tokens_of
from driftline.plan.errors import PlanError

TRADES = dl.stream("trades", {"k": "STRING"})


@pytest.mark.parametrize("name", [name for name in CHOICES if name not in ("final", "view")])
def test_the_line_is_the_same_everywhere(name: str) -> None:
    with pytest.raises(PlanError) as expected:
        need_choice(name, "often")
    with pytest.raises(PlanError) as found:
        TRADES.run({"trades": []}, **{name: "often"})
    assert str(found.value) == str(expected.value)
    if name == "scheduler":
        return  # a script is for either runner
    with pytest.raises(ValueError, match=str(expected.value)):
        dl.sql(f"SET {name} = often; CREATE STREAM s (k INT); SELECT k FROM s;")


@pytest.mark.parametrize("given", [0, -1, "0", "1.5", "soon", True, None])
def test_tokens_are_a_number_of_events_or_adaptive(given: object) -> None:
    with pytest.raises(PlanError, match=r"tokens is how many events .* not "):
        tokens_of(given)


def test_what_does_not_go_together_is_refused() -> None:
    need_together("round-robin", "held", "naive")
    with pytest.raises(PlanError, match="take the scheduler round-robin"):
        need_together("threads", "held", "naive")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (("threads", "adaptive", None, "hybrid"), "scheduler"),
        (("drain", 100, None, "hybrid"), "tokens"),
        (("drain", "adaptive", "multiset", "hybrid"), "heeding"),
    ],
)
def test_on_spark_a_micro_batch_is_the_cut(
    given: tuple[str, object, object, object], name: str
) -> None:
    need_spark("drain", "adaptive", None, "hybrid")
    with pytest.raises(PlanError, match=f"{name} is for the local runner: on Spark every micro-"):
        need_spark(*given)


def test_on_spark_a_loop_is_drained() -> None:
    with pytest.raises(PlanError, match="loop is for the local runner with the scheduler round-r"):
        need_spark("drain", "adaptive", None, "hwm")
