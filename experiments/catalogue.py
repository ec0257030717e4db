"""All experiments, in the order of the page."""

from __future__ import annotations

from experiments import nile_selectivity
from experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (nile_selectivity.EXPERIMENT,)
