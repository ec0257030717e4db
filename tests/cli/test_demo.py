"""The tour, as a newcomer takes it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from driftline.cli.demo.corners import CORNERS, QUESTION, question
from driftline.cli.demo.feed import MINUTE, OPENING, Feed, market_feed
from driftline.cli.demo.measured import Measured, delays, differing
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.tables import history_table
from driftline.model.columns import INSERT, RETRACT
from driftline.model.event import Insert, Retract
from driftline.model.level import Level
from driftline.model.predicates import late
from driftline.model.time import TICKS_PER_SECOND
from driftline.model.validity import check_columns


@pytest.fixture(scope="module")
def feed() -> Feed:
    return Feed(market_feed())


def test_the_feed_is_valid_and_has_late_trades_and_corrections(feed: Feed) -> None:
    assert check_columns(feed.columns) == []
    late_events, most = late(feed.columns)
    assert late_events > 20
    assert most > 5 * MINUTE
    assert (feed.columns.kind == RETRACT).sum() > 5
    assert sum(map(len, feed.parts)) == len(feed.arrivals)


def test_a_micro_batch_is_what_came_in_three_minutes(feed: Feed) -> None:
    for number, part in enumerate(feed.parts[:-1]):
        assert OPENING + 3 * number * MINUTE <= part[0].at
        assert feed.clock[number] == part[-1].at < OPENING + 3 * (number + 1) * MINUTE
    batches = [set((feed.columns.position // feed.batch).tolist())]
    assert batches == [set(range(len(feed.parts)))]


def test_spark_gets_every_trade_once_as_it_was_first_reported(feed: Feed) -> None:
    reports = [row for part in feed.first_reports() for row in part.to_pylist()]
    inserts = [each.event for each in feed.arrivals if isinstance(each.event, Insert)]
    assert len(reports) == len({row["id"] for row in reports}) < len(inserts)
    wrong = {e.event.row["id"] for e in feed.arrivals if isinstance(e.event, Retract)}
    shares = {row["id"]: row["qty"] for row in reports}
    right = {event.row["id"]: event.row["qty"] for event in inserts}  # the last report
    assert {number for number in shares if shares[number] != right[number]} == wrong


def test_what_is_measured() -> None:
    first = {0: {("A", 60): (1, 5)}, 2: {("A", 120): (2, 7), ("B", 60): (1, 1)}}
    waited = delays(first, [70, 130, 190])
    assert waited == [10, 70, 130]
    made = Measured({}, {}, [each * TICKS_PER_SECOND for each in waited], 0, 0, 0)
    assert made.wait == 70
    assert differing({("A", 1): (1, 5)}, {}) == 1


def test_the_corners_agree_where_nothing_is_left_out(feed: Feed) -> None:
    """The question without Spark: strong and middle say the same in the end."""
    tables = {}
    for corner in CORNERS[:2]:
        block = 0 if corner.block == "0" else 2**63 - 1
        options = Options(Level.PERFECT, block, batch=feed.batch)
        steps = list(run(question().plan, {"trades": feed.columns}, options))
        emitted = [step.batch for step in steps]
        tables[corner.name] = history_table(emitted, question().plan.schema.arrow).to_pylist()
    by_key = {name: sorted(rows, key=str) for name, rows in tables.items()}
    assert by_key["strong"] == by_key["middle"]
    assert len(by_key["strong"]) > 50
    assert (feed.columns.kind == INSERT).sum() > sum(r["trades"] for r in tables["strong"])


@pytest.mark.slow
@pytest.mark.spark
def test_the_tour_runs_on_spark_and_shows_the_triangle() -> None:
    tour = subprocess.run(
        [sys.executable, "-m", "driftline.cli.main", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert tour.returncode == 0, tour.stderr
    assert QUESTION in tour.stdout
    assert int(_found(r"(\d+) of \d+ results are wrong", tour.stdout)) > 0
    rows = {
        cells[0].strip(): [int(_found(r"\d+", cell)) for cell in cells[1:]]
        for line in tour.stdout.splitlines()
        if len(cells := line.strip("│ ").split("│")) == 7 and "s" in cells[1] and cells[0].strip()
    }
    wait, first, back, state, out, wrong = range(6)
    assert list(rows) == ["Spark's own", "strong", "middle", "weak"]
    strong, middle, weak = rows["strong"], rows["middle"], rows["weak"]
    assert strong[first] == strong[back] == strong[out] == strong[wrong] == 0
    assert middle[out] == middle[wrong] == 0 < middle[back]
    assert middle[wait] == weak[wait] < strong[wait]
    assert weak[state] < middle[state] < strong[state]
    assert weak[back] < middle[back]
    assert 0 < weak[wrong] <= weak[first]
    assert weak[out] > 0
    assert "in the end" in tour.stdout
    assert not tour.stderr


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[found.lastindex or 0]
