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
    tried: int = 0
    raised: int = 0
    falls: int = 0

    def observe(self, estimate: float) -> None:
        self._adapt()
        self.num += 1
        if estimate > self.delta:
            self.delta, self.win, self.num = estimate, 0.0, 0
            self.raised += 1
            self.falls = 0
        else:
            self.win = max(self.win, estimate)
            if self.num > self.window:
                lower = self.alpha * self.delta + (1 - self.alpha) * self.win
                self._fall(lower < self.delta)
                self.delta, self.win, self.num = lower, 0.0, 0

    def _adapt(self) -> None:
        if self.rate is None:
            return
        if self.tried >= self.window:
            if self.raised > self.rate * self.tried:
                self.window *= 2
            self.tried = self.raised = 0
        self.tried += 1

    def _fall(self, falls: bool) -> None:
        if self.rate is None:
            return
        self.falls = self.falls + 1 if falls else 0
        if self.falls == 8:
            self.window = max(self.window // 2, math.ceil(1 / self.rate))
            self.falls = 0
