"""Automata with registers over the rows of a sequence.

    machine          a description as arrays, for the kernel
    automaton_runs   the runs of an automaton, kept up to date;  kernel: how they are found

A row with the number p is a cell. The cell holds the runs that end there: each is a run of the cell
before it and one of its own rows further on. A change of a row is followed from its cell on, cell
by cell, for as long as the runs that end there change.
"""
