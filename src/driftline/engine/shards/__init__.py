"""A plan cut into fragments that run beside each other, each for its share of the keys.

    stages             from the fragments of a plan to levels of shards, and where rows go
    source_messages    what a task that reads a part of a source sends to the shards
    messages           rows packed by receiving shard, for one shuffle
    letters            dead letters as such messages;  reads: how much of a source was read
    shard              all fragments of a level, for the rows whose keys fall into it
    now_shard          the answer now of the rows that fall into a shard
    state_log          a shard's state in the store: a snapshot, and the messages since
    long_lived         shards that give back what a large micro-batch has taken
    stored             messages, state and counters as bytes
    lending            shards that work for other processes of the same machine

Spark runs these (`driftline.spark`); nothing here knows Spark.
"""
