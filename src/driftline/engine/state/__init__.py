"""Data structures that operators keep their state in.

    fields         the state of an operator as it declares it; snapshots follow from that
    progress       how far the ports of an operator have come, and what was passed on of that
    bag            how many copies of lifetimes there are, and when these end
    fingerprints   128 bits that stand for a row or for some of its columns
    slots          small numbers for keys, found by fingerprint, given out and taken back
    row_store      payload rows in numbered places; `free_places` hands these out
    stored_rows    rows as bytes, the form in which a snapshot holds them
    runs           for every slot a sorted run of entries, in pooled arrays
    arrangement    what is alive of each key, in order: merging changes into it
    trace          what was emitted of each key and not retracted, and its correction
    longest        the same by the longest segments, for what circulates in loops
    row_runs       runs whose entries stand for rows, with a store of these rows
    held_rows      an arrangement of lifetimes with their rows
    emitted_rows   a trace of many rows at a time, with these rows
    words          rows of 64-bit words, which entries and segments are made of
    several_runs   several runs for every key
    allotted       runs in blocks that are used again, for runs that grow and shrink for ever
    order_keys     64-bit numbers in the order of the values they stand for
    exact_floats   sums of floats that do not drift
    due_times      for every slot the next time at which it has work
    end_times      how many lifetimes end at each time, and whether a time is reached
    closing        groups that a cti closes by the value of one of their keys
    slot_lists     the rows of a batch by their slots
    growing        arrays that grow as their places are needed, by key or not

A key's way: `fingerprints` of its columns, its slot in `slots`, its entries in an `arrangement`,
what was emitted of it in a `trace`.
What these compute is stored in checkpoints: changing it raises the checkpoint's format number.
"""
