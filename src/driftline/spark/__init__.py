"""Plans on Spark: the same engine, as wide as the cluster.

    frames         queries over DataFrames, whose answers are DataFrames
    on_spark       `driftline.on_spark`, and query: what a user holds, starts and stops
    views          changes, current values, upserts, history rows;  history: questions to those
    view_frames    the views as DataFrames
    now            the answers now, kept from micro-batch to micro-batch
    sinks          where results go, each micro-batch once
    pipeline       from a plan to one Structured Streaming query
    sources        DataFrames as sources;  columns: with the types of a stream
    processor      the stateful stage;  stepping: one shard and micro-batch in it
    wire           shuffle messages as rows of Spark;  labels: a partition for every shard
    ticks          micro-batches while no row comes;  tick_source: the data source of them
    tables         static tables beside a query's state;  places: paths that all nodes reach
    written        files of results that executors write
    update         what one micro-batch emits;  retried: a query that starts again
    failures       Spark's errors in one line
    checkpoint     which query a checkpoint belongs to;  clock: when micro-batches began
    marks          the prefix of the inputs that each micro-batch stands for
    session        Spark sessions;  warm, daemon and ship: how the engine reaches the workers

For the command line:

    runner         the Spark runner;  inputs: what it reads as it comes;  spool: finite inputs
    kafka_source   a topic of Kafka as a data source
    emitted        what was emitted, by micro-batch
"""
