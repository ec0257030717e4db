"""The papers' experiments, run again with Driftline's own operators: `python -m experiments`.

    experiment          what an experiment is: rows that are measured, claims that can fail
    catalogue           all of them, by paper
    drawing             figures: lines with names beside them, values of the paper as faint marks
    page                docs/experiments.md and the line in README, from results.json

Each other module is one experiment: the workload with the paper's parameters, the measurement, the
claims, the drawing.

    stream_heartbeats     section 3: delay of heartbeats by disorder, skew and latency
    stream_estimates      section 6.1: estimated beside declared bounds
    stream_groups         section 5.2: sources in groups
    stream_adaptive       section 6.2: adaptive estimates when the network changes
    stream_plan           section 7: heartbeats inside a plan
    cedr_triangle         figure 1: the consistency triangle, measured
    cedr_levels           section 2.4: output and delay of the latency levels
    nile_selectivity      figure 7: delay against selectivity
    nile_multiplicity     figure 8: negative tuples and capacity against the multiplicity of a join
    nile_piggybacking     figure 9: delay and overhead of piggybacking
    nile_throughput       figure 10: throughput against the input rate
    whitewater_distances  figure 5(a): distance between consistent states
    whitewater_tokens     figure 5(b): latency against the rate of tokens
    whitewater_variants   figure 6: what consistent outputs cost
    ffp_native            section 5.1: a cyclic query beside a native operator
    ffp_disorder          figures 6, 8, 10: progress of a loop against disorder
    ffp_inactivity        figure 7: speculation against inactivity
    ffp_lulls             figures 9, 11: speculation and silence against lulls
"""
