"""What streams mean: events, lifetimes, canonical history, validity.

    time               application time: 64-bit ticks, ∞, ISO texts
    event              insert, retract, cti and external cti
    row                a payload row, compared as SQL groups
    prefix             how much of each input an answer belongs to
    level              the latency levels: perfect, ordered, eager
    history            the canonical history table of a stream, and its snapshots
    stream             what makes a stream valid, and the classes of streams that operators preserve
    patterns           row patterns, and where the search goes on after a match
    user_defined       the protocol of a user's own aggregate
    automaton          automata with registers, as data
    reference          the reference operators: the executable specification

The same over columns, for whole logs at once:

    columns            the events of one stream in arrival order, as arrays
    codes              rows as integers, equal where the rows are equal
    lifetimes          which lifetime each event gives and which it takes
    history_columns    canonical history;  validity: the checker;  predicates: classes of streams

And what all layers need:

    arrays             NumPy arrays as Arrow arrays and back
    old_names          warns of old names of the public interface
"""
