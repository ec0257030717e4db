"""Project.

    π_f(H) = { (vs, ve, f(r)) : (vs, ve, r) ∈ H }

Bag semantics: rows that become equal stay apart. `flat_project` is the form in which a row may
become several, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from driftline.model.history import History, Lifetime
from driftline.model.row import Row, Value


def project(history: History, to_row: Callable[[Row], Mapping[str, Value]]) -> History:
    return flat_project(history, lambda lifetime: [to_row(lifetime.row)])


def flat_project(
    history: History, to_rows: Callable[[Lifetime], Iterable[Mapping[str, Value]]]
) -> History:
    return History(
        Lifetime(lifetime.vs, lifetime.ve, Row(row))
        for lifetime in history
        for row in to_rows(lifetime)
    )
