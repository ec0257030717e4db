"""Random bounds, and sources that keep to them."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from driftline.testing.sources import Emission, simulate
from driftline.time.bounds import Bounds, SkewBound


@st.composite
def bounds(draw: st.DrawFn, sources: int = 3, counted: bool = False, latency: int = 3) -> Bounds:
    n = draw(st.integers(1, sources))
    pair = st.builds(
        SkewBound,
        st.integers(0, 4),
        st.integers(0, 5),
        st.integers(0, 3) if counted else st.just(0),
    )
    entry = st.lists(pair, max_size=2)
    entries = {(i, j): draw(entry) for i in range(n) for j in range(n)}
    return Bounds.of(entries, draw(st.lists(st.integers(0, latency), min_size=n, max_size=n)))


@st.composite
def emissions(draw: st.DrawFn, of: Bounds, tuples: int = 25, closed: bool = True) -> list[Emission]:
    # A seed, not draws one by one: those are so often the simplest that bounds are seldom tried.
    random = Random(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, tuples) | st.just(tuples))
    adversarial = draw(st.booleans())
    step, leap = draw(st.sampled_from([3, 0, 12])), draw(st.sampled_from([12, 0, 1_000]))
    return simulate(of, random, count, closed=closed, adversarial=adversarial, step=step, leap=leap)
