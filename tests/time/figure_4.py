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
    late: int = 0
    debt: float = 0.0
    period: float = 0.0

    def observe(self, estimate: float, too_late: bool = False) -> None:
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
            self._adapt(raised, raised or too_late, self.rate)

    def _fallen(self, lower: bool) -> None:
        self.falls = self.falls + 1 if lower else 0
        if self.falls == 8:
            self._halve()
            self.falls = 0

    def _halve(self) -> None:
        if self.debt == 0:
            self.window = max(self.window // 2, 8)

    def _adapt(self, raised: bool, late: bool, rate: float) -> None:
        if self.tried == 0:
            self.period = self.period or max(self.window, math.ceil(4 / rate))
        self.tried += 1
        self.late += late
        too_many = self.late > rate * self.period
        if self.tried < self.period and not (raised and too_many):
            return
        self.debt = max(self.debt + self.late - rate * self.tried, 0)
        if too_many:
            self.window *= 2
        elif 4 * self.late < rate * self.period:
            self._halve()
        self.tried = self.late = 0
        self.period = max(self.window, math.ceil(4 / rate))
