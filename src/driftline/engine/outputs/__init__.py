"""Outputs that belong to a prefix of the input, and the answer as it is now.

    prefix    what a graph emits, cut where it belongs to a prefix of the inputs
    heeding   labels that tell which output states are consistent, and change nothing
    tokens    when tokens are put into the sources, and the prefix that each stands for
    clock     which time is now
    now_view  the snapshot of an answer at a clock, as changes

A graph that runs free (see `core.graph`) emits updates as they arise; where a token comes out, what
was emitted so far is the exact answer for the events that stand before it.
"""
