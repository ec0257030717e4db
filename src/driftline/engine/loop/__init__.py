"""Loops: the fixed point of recursive rules, kept up to date.

Inside a loop a change has, besides its lifetime, a level: the number of the round in which it is
derived. A row with the level i is there in round i and all later ones, unless it goes at a later
level, as a lifetime without end is there from its start on; so rounds are a second kind of time,
and nothing else about operators changes. What comes from outside has the level 0; a join has the
greater level of the two rows (as it has the later start); on the edge back a level grows by one.

    levels       a body with a column for the level
    levelled     the contract of operators that work level by level
    least_level  sets: of every row the least level, over time (least_level_state: what is held of a
                 row; least_level_kernel, least_level_segments: its kernels)
    derivations  bags: every derivation;  circles: rounds that repeat themselves
    best         min and max, and sets of rows that may go again in a later round
                 (best_derivations, best_kernel: its kernels; best_values: values as numbers)
    outgoing     what goes out of a loop: the rows of the last round
    restated     what leaves a loop in which rows go again, as lifetimes
    loop         the fixed point: lets the levels work in order, lowest first
    free         the loop that runs free: input comes while it still has work
    flying_fixed_point   how far its answer is final;  held: what operators by level hold back;
                         change_times: when changes begin to change anything

Why that ends, and why nothing supports itself: what is in round i is a function of round i - 1,
before a change as after it. The levels are worked off in order, so when level i is, everything up
to round i is what it would be if the loop had been computed afresh. A circle whose root is gone
finds each of its rows without support in the round of that row; the support that comes from a
later round of the circle itself is not looked at before that round comes, and by then has gone.
After the deepest round that had anything before or has now, there is no difference left.
"""
