"""The streams that the tests of SQL read, and how they read scripts."""

from __future__ import annotations

import driftline as dl
from driftline.plan.nodes import Node
from driftline.sql import SqlError, read_script

T = dl.stream("t", {"k": "STRING", "x": "INT", "y": "BIGINT"})
U = dl.stream("u", {"k": "STRING", "z": "INT"})
TRADES = dl.stream(
    "trades",
    {"symbol": "STRING", "price": "DOUBLE", "qty": "INT", "ts": "TIMESTAMP"},
    time="ts",
)
RELATIONS = {"t": T.plan, "u": U.plan, "trades": TRADES.plan}


def plan(text: str) -> Node:
    """The plan of the last query of a script."""
    return read_script(text, RELATIONS).outputs[-1].plan


def refused(text: str) -> SqlError:
    """The error that a script gives."""
    try:
        read_script(text, RELATIONS)
    except SqlError as error:
        return error
    raise AssertionError(f"this was not refused: {text}")


def pointed_at(text: str) -> str:
    """What the error says, and the text from the place that it points at."""
    error = refused(text)
    return f"{error.message} @ {text.splitlines()[error.line - 1][error.column - 1 :]}"
