"""Consistency: the two numbers that place a query between waiting and correcting.

    consistency(block, remember)(S) = Align_block(Finalize_remember(S))

    strong   block = ∞                    waits until all is final: never speculates, and no guess
                                          ends the waiting
    middle   block = 0, remember = ∞      answers at once, corrects for ever
    weak     block = 0, remember small    answers at once, corrects for a while

and everything between: with a `block` of at least the real disorder, what comes out is in order,
and nothing is taken back but what the source itself took back later than that.

The two stand at a source, one after the other; no other operator knows of them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pyarrow as pa

from driftline.engine.ingest.align import Align, Clock
from driftline.engine.ingest.finalize import Finalize
from driftline.model.time import INFINITY
from driftline.plan.nodes import Source


def consistency(
    schema: pa.Schema,
    block: int,
    remember: int,
    *,
    clock: Clock = "application",
    inserts_only: bool = False,
) -> tuple[Finalize, Align]:
    """The operators to put at a source, in this order."""
    return Finalize(schema, remember, inserts_only=inserts_only), Align(schema, block, clock)


def warn_of_waiting(plain: Iterable[Source], block: int, remember: int) -> None:
    """Say when a query starts which plain records it will be silent about until their end."""
    names = [source.name for source in plain if not source.timing.is_promised]
    if names and block == remember == INFINITY:
        logging.getLogger("driftline").warning(
            "driftline: block = inf waits for what is final, which nothing of %s is before its "
            "end: declare disorder, or give a finite block, whose waiting a guess may end",
            " and ".join(names),
        )
