"""All experiments, in the order of the page."""

from __future__ import annotations

import time

from experiments import (
    cedr_levels,
    cedr_triangle,
    ffp_disorder,
    ffp_inactivity,
    ffp_lulls,
    ffp_native,
    nile_multiplicity,
    nile_piggybacking,
    nile_selectivity,
    nile_throughput,
    stream_adaptive,
    stream_estimates,
    stream_groups,
    stream_heartbeats,
    stream_plan,
    whitewater_distances,
    whitewater_tokens,
    whitewater_variants,
)
from experiments.experiment import Experiment, Row

EXPERIMENTS: tuple[Experiment, ...] = (
    stream_heartbeats.EXPERIMENT,
    stream_estimates.EXPERIMENT,
    stream_groups.EXPERIMENT,
    stream_adaptive.EXPERIMENT,
    stream_plan.EXPERIMENT,
    cedr_triangle.EXPERIMENT,
    cedr_levels.EXPERIMENT,
    nile_selectivity.EXPERIMENT,
    nile_multiplicity.EXPERIMENT,
    nile_piggybacking.EXPERIMENT,
    nile_throughput.EXPERIMENT,
    whitewater_distances.EXPERIMENT,
    whitewater_tokens.EXPERIMENT,
    whitewater_variants.EXPERIMENT,
    ffp_native.EXPERIMENT,
    ffp_disorder.EXPERIMENT,
    ffp_inactivity.EXPERIMENT,
    ffp_lulls.EXPERIMENT,
)


def measured(name: str, full: bool) -> tuple[str, list[Row], float]:
    """The rows of an experiment, and how long it took; in a process of its own."""
    start = time.perf_counter()
    (experiment,) = (each for each in EXPERIMENTS if each.name == name)
    return name, [*experiment.measure(full)], time.perf_counter() - start
