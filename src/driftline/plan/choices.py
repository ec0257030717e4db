"""How a query is run, where that is one of a few words: the words, and the line about any other.

    emit        how soon answers are emitted: the latency level
    scheduler   when operators work: every batch is drained, or input is admitted meanwhile
    outputs     whether answers come with the prefix of the inputs that they belong to
    tokens      after how many events such an answer is asked for, if input is admitted meanwhile
    heeding     how labels find such answers instead
    clock       which time is now, where the answer now is asked for
    expiry      how operators hear, for that, that time has passed
    loop        how a loop that runs free finds how far its answer is final
    heartbeat   whose heartbeats a row waits for, while `block` holds it back
    view        what of an answer a sink or an output has
    final       whether every row is emitted once, when it cannot change any more

SQL (SET), the Python interface and the command line all take them from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from driftline.plan.errors import PlanError

Emit = Literal["perfect", "ordered", "eager"]
Scheduler = Literal["drain", "round-robin", "threads"]
Outputs = Literal["free", "marked", "held"]
Heeding = Literal["multiset", "naive"]
Clock = Literal["latest", "final", "wall"]
Expiry = Literal["ita", "nta", "time-message", "piggyback"]
Loops = Literal["hybrid", "probing", "hwm"]
Heartbeat = Literal["source", "operator", "memory", "query"]
View = Literal["changes", "current", "now", "finals", "history"]
Format = Literal["json", "csv", "parquet", "table"]
Tokens = int | Literal["adaptive"]

CHOICES: dict[str, tuple[str, ...]] = {
    "emit": get_args(Emit),
    "scheduler": get_args(Scheduler),
    "outputs": get_args(Outputs),
    "heeding": get_args(Heeding),
    "clock": get_args(Clock),
    "expiry": get_args(Expiry),
    "loop": get_args(Loops),
    "heartbeat": get_args(Heartbeat),
    "final": ("true", "false"),
    "view": get_args(View),
}

ADAPTIVE: Literal["adaptive"] = "adaptive"
DEFAULT_LOOP: Loops = "hybrid"


def need_choice(name: str, given: object, known: Sequence[str] | None = None) -> None:
    """Refuses a word that is none of those known (None: those named above).

    >>> need_choice("outputs", "marked")
    >>> need_choice("outputs", "often")
    Traceback (most recent call last):
    driftline.plan.errors.PlanError: outputs is free, marked or held, not 'often'
    """
    known = CHOICES[name] if known is None else known
    if not isinstance(given, str) or given not in known:
        raise PlanError(f"{name} is {', '.join(known[:-1])} or {known[-1]}, not {given!r}")


def tokens_of(given: object) -> Tokens:
    """A period of tokens, as a number or as it is written.

    >>> tokens_of("100"), tokens_of(7), tokens_of("adaptive")
    (100, 7, 'adaptive')
    """
    if given == ADAPTIVE:
        return ADAPTIVE
    if isinstance(given, str) and given.isdecimal():
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise PlanError(
            "tokens is how many events there are from one token to the next, or 'adaptive', not "
            f"{given!r}"
        )
    return given


def need_together(scheduler: object, outputs: object, heeding: object) -> None:
    """Refuses what is no choice, and what does not go together."""
    need_choice("scheduler", scheduler)
    need_choice("outputs", outputs)
    if heeding is None:
        return
    need_choice("heeding", heeding)
    if heeding == "naive" and scheduler == "threads":
        raise PlanError("naive heeding scans the queues: take the scheduler round-robin")


def need_clock(clock: object, *, timestamps: bool) -> None:
    """Refuses what is no clock, or none for the times of a query."""
    need_choice("clock", clock)
    if clock == "wall" and not timestamps:
        raise PlanError("clock = wall is for streams of TIMESTAMPs: the time here is a number")


def need_now(clock: object, emit: object, *, timestamps: bool) -> None:
    """Refuses a clock as `need_clock` does, and answers that are never there now."""
    need_clock(clock, timestamps=timestamps)
    if emit == "perfect":
        raise PlanError(
            "emit = perfect gives an answer when it has ended, so that there is none now: take "
            "ordered or eager"
        )


def need_spark(scheduler: str, tokens: object, heeding: object, loop: object) -> None:
    """Refuses what only a graph that runs free can do: on Spark every micro-batch is drained, and
    so it is a consistent cut already."""
    for name, asked in (
        ("scheduler", scheduler != "drain"),
        ("tokens", tokens != ADAPTIVE),
        ("heeding", heeding is not None),
    ):
        if asked:
            raise PlanError(
                f"{name} is for the local runner: on Spark every micro-batch is a consistent cut, "
                "and outputs = marked writes its prefix"
            )
    if loop != DEFAULT_LOOP:
        raise PlanError(
            "loop is for the local runner with the scheduler round-robin or threads: on Spark a "
            "loop has come to its fixed point when a micro-batch ends"
        )
