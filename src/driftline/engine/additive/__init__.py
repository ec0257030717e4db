"""Snapshot operators whose answer is a function of sums over the rows that are alive.

A late row that comes to a GROUP BY takes this way:

    sums_operator      `AdditiveOperator`: the base class; finds the slot of each row's key
    cells              adds up the batch's rows by slot and lifetime
    timeline_entries   merges these sums into the timelines of the slots that they touch
    timeline           goes through a slot's snapshots from the earliest change on
    pieces             computes the values of the answer in each of these snapshots
    state.trace        compares them with what was emitted: retracts what is wrong, emits the rest

    aggregates         count, sum, avg, variance … as columns of state (`layout` names the arrays)
    extremes           min and max: the values of every lifetime in heaps (`extremes_kernel`)
    group_by           γ and DISTINCT; set_operators: INTERSECT and EXCEPT

A cti evicts the entries of a timeline that lie before it, and slots that have none left.
"""
