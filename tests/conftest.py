"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The machine is shared and noisy: an example that takes long is no failure.
settings.register_profile(
    "driftline", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.load_profile("driftline")
