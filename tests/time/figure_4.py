"""The paper's adaptive estimation of one skew, in plain Python: what the kernels are held to."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Figure4:
    """W may be infinite. With a rate, W adapts as `driftline.time.adaptive` says."""

    window: float
    alpha: float
    rate: float | None = None
    delta: float = 0.0
    win: float = 0.0
    num: int = 0
    falls: int = 0
    tried: int = 0
    raised: int = 0
    period: float = 0.0

    def observe(self, estimate: float) -> None:
        before = self.delta
        raised = estimate > self.delta
        self.num += 1
        if raised:
            self.delta, self.win, self.num = estimate, 0.0, 0
        else:
            self.win = max(self.win, estimate)
            if self.num > self.window:
                self.delta = self.alpha * self.delta + (1 - self.alpha) * self.win
                self.win, self.num = 0.0, 0
                if self.rate is not None:
                    self._fallen(self.delta < before)
        if raised:
            self.falls = 0
        if self.rate is not None:
            self._adapt(raised, self.rate)

    def _fallen(self, lower: bool) -> None:
        self.falls = self.falls + 1 if lower else 0
        if self.falls == 8:
            self.window = max(self.window // 2, 8)
            self.falls = 0

    def _adapt(self, raised: bool, rate: float) -> None:
        if self.tried == 0:
            self.period = self.period or max(self.window, math.ceil(4 / rate))
        self.tried += 1
        self.raised += raised
        if raised and self.raised > rate * self.period:
            self.window *= 2
        elif self.tried < self.period:
            return
        elif 4 * self.raised < rate * self.period:
            self.window = max(self.window // 2, 8)
        self.tried = self.raised = 0
        self.period = max(self.window, math.ceil(4 / rate))
