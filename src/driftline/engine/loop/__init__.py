"""Loops: the fixed point of recursive rules, kept up to date.

Inside a loop a change has, besides its lifetime, a level: the number of the round in which it is
derived. A row with the level i is there in round i and all later ones, as a lifetime without end
is there from its start on; so rounds are a second kind of time, and nothing else about operators
changes. What comes from outside has the level 0; a join has the greater level of the two rows (as
it has the later start); on the edge back a level grows by one.

    levels       a body with a column for the level
    levelled     the contract of operators that work level by level
    least_level  sets: of every row the least level, over time;  least_level_kernel: its kernels
    derivations  bags: every derivation
    operator     the loop: lets the levels work in order, lowest first

Why that ends, and why nothing supports itself: what is in round i is a function of round i - 1,
before a change as after it. The levels are worked off in order, so when level i is, everything up
to round i is what it would be if the loop had been computed afresh. A circle whose root is gone
finds each of its rows without support in the round of that row; the support that comes from a
later round of the circle itself is not looked at before that round comes, and by then has gone.
After the deepest round that had anything before or has now, there is no difference left.
"""
