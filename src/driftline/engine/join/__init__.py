"""The physical joins: `join` holds the operator, the other modules are its parts.

`index` finds the lifetimes of a key that overlap, `side` holds the lifetimes of one input,
`coverage` finds when a lifetime has a match, `preserved` cuts lifetimes to that, and `emitted` is
what has come out of them. `as_of` and `as_of_kernel` are as-of joins, which hold rows in the order
of their times, each side in `as_of_sides`."""

from driftline.engine.join.join import How, Join, Residual

__all__ = ["How", "Join", "Residual"]
