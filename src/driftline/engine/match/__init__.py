"""MATCH_RECOGNIZE: the matches of a row pattern in every snapshot.

    match             `Match`: the rows of each partition, its matches, what a cti evicts
    program           a pattern as instructions in order of preference
    rules             what follows from the clauses for the kernels
    conditions        DEFINE as columns and as code for the kernel;  lowering: expressions as code
    condition_kernel  that code, run for one row of an attempt
    search_kernel     one attempt to match, from one row on
    sweep_kernel      all attempts of a partition, from snapshot to snapshot;  sweep_state: what it
                      works on;  redo_kernel: attempts that are made again
    in_order_kernel   the same for rows that are only added, in order of time
    thread_kernel     the automaton simulated, while no open attempt has a match
    growth_kernel     the same while the first open attempt has one, which grows
    version_kernel    matches with the time in which they hold, and their rows
    sequence          the rows of partitions in order, and the runs that go on from before a change
    emitted           what was emitted of matches, which are settled before they end
    eviction          what a cti evicts of rows
    measures          what is put out of the matches, column by column

A late row enters the members of its partition (`by_rows.rows_operator`); the attempts that have
looked at its place are made again, up to where they meet those that were made before.
"""
