"""What Spark runs itself: the beginning of a plan, from a source on up, before rows are packed.

Two things have to hold. Of the source nothing may ever be set aside, held back or judged by what a
filter leaves out (`is_read_natively`); and every node from there on has to be one that Spark can
run (`Node.native`). `explain` and the Spark runner ask the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftline.model.time import INFINITY
from driftline.plan.expressions import EXPANDING, Call, Expression
from driftline.plan.timing import remembered
from driftline.plan.types import CALENDAR, VARIANT

if TYPE_CHECKING:
    from driftline.plan.nodes import Named, Source

_ONLY_HERE = frozenset(
    ["aes_encrypt", "approx_top_k_estimate", "months_of_interval", "$in_key_order"]
    + [f"kll_sketch_merge_{kind}" for kind in ("bigint", "float", "double")]
    + ["xpath", "xpath_boolean", "xpath_double", "xpath_number", "xpath_float", "xpath_int"]
    + ["xpath_long", "xpath_short", "xpath_string", "from_xml", "to_xml", "sentences"]
)
"""Functions that may have another value each time in Spark: by aes_encrypt an empty iv is random,
and so is what KLL sketches keep and which of equally frequent items comes first; or that Spark does
not have, or reads otherwise: in XML it expands entities, and sentences without words it cuts in
other places."""
_HIGHEST = 100
"""Levels of operands, at most, in what is left to Spark."""


@dataclass(frozen=True)
class Native:
    """What Spark does to rows of a DataFrame: keep those for which `where` is true, and compute
    `columns` from them (None: all, or the same)."""

    where: Expression | None = None
    columns: tuple[Named, ...] | None = None


def is_tame(value: Expression) -> bool:
    """Whether an expression can be left to Spark. A chain of operands that is very long overflows
    the stack of its parser, what may expand without end has no limit there, a value must be the
    same whenever it is computed again, and a VARIANT, or an INTERVAL of make_interval, is another
    type there than the STRUCT that it is here."""
    return value.height <= _HIGHEST and not any(
        part.type in (VARIANT, CALENDAR)
        or (isinstance(part, Call) and part.function in (EXPANDING | _ONLY_HERE))
        for part in value.walk()
    )


def has_dead_letters(source: Source, *, plain: bool, remember: int) -> bool:
    """Whether an event of a source can be set aside: then it is needed whole. `plain`: it is read
    as plain records."""
    return not plain or remembered(source.timing, remember) < INFINITY or source.timing.by_source


def is_read_natively(source: Source, *, plain: bool, block: int, remember: int) -> bool:
    """Whether Spark may run the beginning of a source itself, in a session that computes as the
    engine does (in UTC and in ANSI mode)."""
    return block == 0 and not has_dead_letters(source, plain=plain, remember=remember)
