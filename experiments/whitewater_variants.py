"""Figure 6: what consistent outputs cost: throughput, latency, memory, memory by throughput.

Latency is given as the processor time of a turn of round-robin: an event is worked on by one
operator after the other in as many turns whatever the variant.
"""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from experiments.drawing import level, lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.joins import BASE, TOKENS, VARIANTS, hand_in_hand, joins, two_streams

EVENTS, QUICK_EVENTS = 20_000, 1_500
BATCH = 10
THROUGHPUT, LATENCY = "throughput ÷ without", "time of a turn ÷ without"
MEMORY, BY_THROUGHPUT = "memory ÷ without", "memory by throughput ÷ without"


def measure(full: bool) -> Iterator[Row]:
    for count in range(1, 5):
        query = joins(count)
        hand_in_hand(query, two_streams(20 * BATCH), BATCH)  # compile what has to be compiled
        runs = hand_in_hand(query, two_streams(EVENTS if full else QUICK_EVENTS), BATCH)
        base = runs[BASE]
        for name in VARIANTS:
            run = runs[name]
            throughput, memory = base.seconds / run.seconds, run.state / base.state
            turns = len(run.read) / len(base.read)
            yield {
                "joins": count,
                "variant": name,
                THROUGHPUT: throughput,
                LATENCY: 1 / throughput / turns,
                MEMORY: memory,
                BY_THROUGHPUT: memory / throughput,
            }


def _negligible(rows: Rows) -> Statements:
    found = {}
    for name in ("multiset", "tokens"):
        ratio = rows.column(THROUGHPUT, variant=name)
        found[f"{name}: {ratio.min():.2f} to {ratio.max():.2f}"] = bool(ratio.min() > 0.8)
    return found


def _naive(rows: Rows) -> Statements:
    naive, multiset = (rows.column(THROUGHPUT, variant=each) for each in ("naive", "multiset"))
    return {
        f"{naive[0]:.2f} with one join, {naive[-1]:.2f} with four": naive[-1] < naive[0],
        "below multiset heeding for every query": bool((naive < multiset).all()),
    }


def _latency(rows: Rows) -> Statements:
    tokens, naive, multiset = (
        rows.column(LATENCY, variant=each) for each in ("tokens", "naive", "multiset")
    )
    return {
        f"naive heeding up to {naive.max():.2f}": naive.max() > multiset.max(),
        f"tokens {tokens.min():.2f} to {tokens.max():.2f}": tokens.max() < 1.25,
        f"multiset heeding {multiset.min():.2f} to {multiset.max():.2f}": multiset.max() < 1.25,
    }


def _memory(rows: Rows) -> Statements:
    multiset, tokens = (rows.column(MEMORY, variant=each) for each in ("multiset", "tokens"))
    naive = rows.column(BY_THROUGHPUT, variant="naive")
    other = rows.column(BY_THROUGHPUT, variant="multiset")
    return {
        f"labels: {multiset.min():.2f} to {multiset.max():.2f} of the memory": (
            multiset.min() > 1.0 and multiset.max() < 1.5
        ),
        f"tokens: {tokens.min():.2f} to {tokens.max():.2f}": tokens.max() < 1.15,
        f"by throughput naive heeding needs most: {naive.min():.2f} to {naive.max():.2f}": bool(
            (naive > other).all()
        ),
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(
        panels(figure, 4), (THROUGHPUT, LATENCY, MEMORY, BY_THROUGHPUT), strict=True
    ):
        lines(axis, rows, "joins", column, "variant")
        axis.set_xticks([1, 2, 3, 4])
        axis.set_ylim(bottom=0)
        if column == LATENCY:
            level(axis, 1.1, "paper: 1.1 with tokens at Q4")


EXPERIMENT = Experiment(
    name="whitewater-variants",
    paper="WhiteWater",
    figure="figure 6",
    title="What consistent outputs cost",
    workload=(
        "One to four joins over two streams, keys uniform in 1 to 5,000: without marks, with "
        f"heeding by multiset and naive, with a token every {TOKENS} events. Processor time, the "
        f"variants hand in hand, in batches of {BATCH}."
    ),
    measure=measure,
    claims=(
        Claim("Multiset heeding and tokens leave the throughput as it is.", _negligible),
        Claim("Naive heeding is slower, in proportion to the number of queues.", _naive),
        Claim(
            "Latency is high only with naive heeding; tokens add a little (4 % and 10 % with three "
            "and four joins).",
            _latency,
        ),
        Claim(
            "Labels take memory, tokens almost none; by throughput naive heeding needs most.",
            _memory,
        ),
    ),
    draw=draw,
    of_processor_time=True,
)
