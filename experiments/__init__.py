"""The papers' experiments, run again with Driftline's own operators: `python -m experiments`.

    experiment          what an experiment is: rows that are measured, claims that can fail
    catalogue           all of them, by paper
    drawing             figures: lines with names beside them, values of the paper as faint marks
    page                docs/experiments.md and the line in README, from results.json

Each other module is one experiment: the workload with the paper's parameters, the measurement, the
claims, the drawing.

    nile_selectivity      figure 7: delay against selectivity
    nile_multiplicity     figure 8: negative tuples and capacity against the multiplicity of a join
    nile_piggybacking     figure 9: delay and overhead of piggybacking
    nile_throughput       figure 10: throughput against the input rate
"""
