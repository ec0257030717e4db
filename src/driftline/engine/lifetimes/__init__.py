"""Operators between snapshots and lifetimes.

Snapshot operators are free to emit a row in pieces; these put the pieces together where a plan
needs the lifetimes themselves (`plan/lifetimes.py` decides where).

    coalesce, coalesce_kernel    the longest stretches in which a row is in the relation
    session, session_kernel      rows that live until their session ends, or with it as columns
    session_members              rows by the start of their session, and its end apart from these;
                                 session_members_kernel
    edges                        only their starts, or only their ends
    restate                      the same snapshots as a valid stream
    finals                       only what cannot change any more
    expire                       when lifetimes end, for the operators behind it
"""
