"""Simulated sources keep to the bounds, and go to their edge."""

from __future__ import annotations

from random import Random

import pytest

from driftline.testing.sources import simulate
from driftline.time.presets import uniform


@pytest.mark.parametrize("adversarial", [False, True])
def test_bounds_are_kept_and_reached(adversarial: bool) -> None:
    b = uniform(3, disorder=2, skew=4, latency=5)
    seen = simulate(b, Random(1), 400, adversarial=adversarial)
    emitted = sorted(seen, key=lambda each: each.emitted)
    lags = {True: 0, False: 0}
    for at, later in enumerate(emitted):
        for earlier in emitted[:at]:
            if later.emitted > earlier.emitted:
                same = earlier.source == later.source
                lags[same] = max(lags[same], earlier.time - later.time)
    assert lags == {True: 2, False: 6}
    assert {each.arrived - each.emitted for each in seen} <= set(range(6))
    assert max(each.arrived - each.emitted for each in seen) == 5
    assert [each.arrived for each in seen] == sorted(each.arrived for each in seen)
