"""Operators that keep no rows: each change is answered by itself.

    select, project, union    σ, π and ∪
    alter_lifetime            windows that change lifetimes ([RANGE …], [FROM … FOR …])
    clip                      lifetimes cut at a time that the row says (WHERE now() < …)
    linear_times              the times that such windows compute, and how far these are final
    endless_times             times of any other expression, also of lifetimes without end
    window_columns            TUMBLE and HOP: windows as columns
    explode                   a row for every item of a list or a map

They emit exact lifetimes; a cti passes through, moved as the window moves times.
"""
