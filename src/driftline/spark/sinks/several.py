"""Several sinks as one: each gets every micro-batch, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftline.spark.query import Sink
    from driftline.spark.update import SparkUpdate


class Several:
    """Each sink writes a micro-batch once, also when a crash comes between two of them: the
    micro-batch then comes again, and the first sink recognises it."""

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks

    @property
    def places(self) -> list[str]:
        """What they write."""
        return [place for sink in self.sinks for place in getattr(sink, "places", ())]

    def __call__(self, update: SparkUpdate) -> None:
        for sink in self.sinks:
            sink(update)
