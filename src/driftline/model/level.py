"""The latency levels: how much of an answer is emitted before it is final.

Their meaning is that of `driftline.model.reference.latency`.
"""

from __future__ import annotations

from enum import Enum


class Level(Enum):
    PERFECT = "perfect"
    ORDERED = "ordered"
    EAGER = "eager"
