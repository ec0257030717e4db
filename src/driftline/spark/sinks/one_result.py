"""A sink that is given one of the results of a query, as if that were the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftline.spark.query import Sink
    from driftline.spark.update import SparkUpdate
    from driftline.spark.written import Targets


class OneResult:
    """Each of several results can so have a sink, or several, of its own."""

    def __init__(self, output: str, sink: Sink) -> None:
        self.output, self.sinks = output, (sink,)

    @property
    def places(self) -> list[str]:
        """What it writes."""
        return list(getattr(self.sinks[0], "places", ()))

    @property
    def shared_places(self) -> list[str]:
        """What others may write, too."""
        return list(getattr(self.sinks[0], "shared_places", ()))

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse what the sink cannot write."""
        if hasattr(self.sinks[0], "prepare"):
            self.sinks[0].prepare(about.only(self.output))

    def targets(self, about: SparkUpdate) -> Targets | None:
        """Executors write if they can for the sink."""
        asked = getattr(self.sinks[0], "targets", None)
        return None if asked is None else asked(about.only(self.output))

    def __call__(self, update: SparkUpdate) -> None:
        self.sinks[0](update.only(self.output))
