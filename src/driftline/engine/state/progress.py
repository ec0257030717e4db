"""Progress: how far the ports of an operator have come, and how far its output has.

    time      the least of the latest times of all ports
    promised  the latest time that was passed on

Neither goes back. A time is a cti, a now-mark or the number of a token; BEGINNING says nothing.
"""

from __future__ import annotations

from driftline.engine.state.fields import Fields, Stateful
from driftline.model.time import BEGINNING

_WORD = 8


class Progress(Stateful):
    """`latest`: of every port.

    >>> progress = Progress(ports=2)
    >>> progress.receive(0, 5) == BEGINNING, progress.receive(1, 3)
    (True, 3)
    >>> progress.promise(2), progress.promise(1) == BEGINNING
    (2, True)
    """

    fields = Fields(numbers=("promised",), arrays=("latest",))

    def __init__(self, ports: int = 1) -> None:
        self.latest = [BEGINNING] * ports
        self.time = self.promised = BEGINNING

    def receive(self, port: int, time: int) -> int:
        """A port has come so far; returns how far all have, if that is news, else BEGINNING."""
        if time <= self.latest[port]:
            return BEGINNING
        self.latest[port] = time
        least = min(self.latest)
        if least <= self.time:
            return BEGINNING
        self.time = least
        return least

    def promise(self, time: int) -> int:
        """The time, if it is later than what was passed on before, else BEGINNING."""
        if time <= self.promised:
            return BEGINNING
        self.promised = time
        return time

    def state_size(self) -> tuple[int, int]:
        return 0, _WORD * (1 + len(self.latest))

    def derive(self) -> None:
        self.time = min(self.latest)
