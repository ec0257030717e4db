"""What every part of the engine is made of.

    batch              changes to lifetimes as columns, with at most one cti after them
    operator           the contract: ports, `receive`, the output's cti, `snapshot` and `restore`
    snapshot_operator  what `additive` and `by_rows` share: slots, watermark, ctis, eviction
    marks              what travels between batches (tokens), and how ports merge it
    labels             which input a batch in a queue comes from, and what took part in it
    queues             what an operator has received and not yet worked on
    graph              operators joined by queues, which a scheduler runs
    turns              which operator of a graph works next;  branches: those that work at the same
                       time
    held_marks         now-marks that wait at their sources for rows
    threads            the scheduler that gives every operator a thread of its own
    output_events      what a batch emits, as the inserts, retracts and ctis of an event log
    plain              batches from plain events and back, for tests and small streams

Start with `batch`: an insert is a lifetime with weight +1, and a retract is the old lifetime
with -1 and the new one with +1. Then `operator`, the one interface that `graph` knows.
"""
