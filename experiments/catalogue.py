"""All experiments, in the order of the page."""

from __future__ import annotations

from experiments import (
    nile_multiplicity,
    nile_piggybacking,
    nile_selectivity,
    nile_throughput,
    whitewater_distances,
    whitewater_tokens,
    whitewater_variants,
)
from experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    nile_selectivity.EXPERIMENT,
    nile_multiplicity.EXPERIMENT,
    nile_piggybacking.EXPERIMENT,
    nile_throughput.EXPERIMENT,
    whitewater_distances.EXPERIMENT,
    whitewater_tokens.EXPERIMENT,
    whitewater_variants.EXPERIMENT,
)
