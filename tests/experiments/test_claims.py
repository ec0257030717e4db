"""The papers' claims hold here as they did, in the quick form of every experiment."""

from __future__ import annotations

import pytest

from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Experiment, Rows, verdict

TRIES = 3
"""Processor time on a machine that others use, too, is measured up to so often."""


@pytest.mark.slow
@pytest.mark.no_cover  # it would be among what is measured
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_claims(experiment: Experiment) -> None:
    expected = {claim.paper: claim.was for claim in experiment.claims}
    for _ in range(TRIES if experiment.of_processor_time else 1):
        rows = Rows([*experiment.measure(False)])
        seen = {claim.paper: claim.seen(rows) for claim in experiment.claims}
        found = {paper: verdict(statements) for paper, statements in seen.items()}
        if found == expected:
            break
    assert found == expected, seen


def test_what_does_not_hold_has_a_reason() -> None:
    for experiment in EXPERIMENTS:
        for claim in experiment.claims:
            assert bool(claim.why) == (claim.was != "holds"), (experiment.name, claim.paper)
