"""The engine: runs a plan, or a fragment of one, in this process.

    core           batches, the contract of operators, the graph that joins them
    state          fingerprints, slots, row stores: what operators keep their state in
    readers        files, tables and rows as columns of raw events
    ingest         Finalize, Align and the time of a source: raw events become a valid stream
    stateless      select, project, union, windows, explode
    additive       snapshot operators by sums: group by, distinct, intersect, except
    by_rows        snapshot operators by rows: other aggregates, rank, window functions
    join           inner, outer, semi and anti joins
    lifetimes      coalesce, edges, restate, finals
    loop           the fixed point of recursive rules
    match          MATCH_RECOGNIZE: the matches of a row pattern in every snapshot
    automata       the runs of automata over sequences
    outputs        prefixes of the inputs, and tokens: which answers are whole
    expressions    Spark SQL's expressions over Arrow columns
    shards         a plan in fragments and shards, as Spark runs it

    compile        from a plan to a graph of operators (`aggregation`: which group by)
    consolidation  which operators have to add up changes that cancel
    narrowing      which columns of joins are built
    options        how a query is run, by either runner;  limits: what operators may make of a batch
    plan_sources   the streams that plans read, and the rows that a query brings itself
    tables         what was emitted, as Arrow tables
    step_outputs   what one step of a run emits
    local          the local runner: a plan over inputs, batch by batch

A row's way: `readers` → `ingest` → the operators that `compile` chose → `core.output_events`.
"""
