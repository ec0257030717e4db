"""The physical joins: `Join` is the operator, the other modules are its parts.

`index` finds the lifetimes of a key that overlap, `side` holds what one input has said, `coverage`
says when a lifetime has a match, `preserved` cuts lifetimes to that, and `memory` is what it has
to know of a past that was let go.
"""

from driftline.engine.join.join import How, Join, Residual

__all__ = ["How", "Join", "Residual"]
