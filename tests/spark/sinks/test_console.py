from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console as RichConsole

from driftline.spark.sinks import Console
from tests.spark.saying import volumes


def test_results_are_drawn() -> None:
    text = io.StringIO()
    sink = Console("current", rows=1, console=RichConsole(file=text, width=80))
    for each in volumes():
        sink(each)
    drawn = text.getvalue()
    assert "result, micro-batch 0" in drawn
    assert "│ op │ symbol │ qty │ n │" in drawn
    assert "… and 1 more rows" in drawn
    assert "trades: 1 dead, the first: too late: its sync time 1 is before the watermark 2" in drawn
    assert "final up to ∞" in drawn or "final up to 2" in drawn


def test_what_stands_in_brackets_is_no_markup() -> None:
    text = io.StringIO()
    sink = Console("current", console=RichConsole(file=text, width=80))
    for each in volumes():
        renamed = {f"[/{name}]\x1b": letters for name, letters in each.dead_letters.items()}
        sink(replace(each, dead_letters=renamed))
    assert "[/trades]\\u001b: 1 dead, the first: too late" in text.getvalue()
