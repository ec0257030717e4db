"""Several sinks as one: each gets every micro-batch, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from driftline.event_log.apart import Used
from driftline.running.locks import locked

if TYPE_CHECKING:
    from driftline.spark.query import Sink
    from driftline.spark.update import SparkUpdate
    from driftline.spark.written import FileTarget, Targets


class Several:
    """Each sink writes a micro-batch once, also when a crash comes between two of them: the
    micro-batch then comes again, and the first sink recognises it."""

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks

    @property
    def places(self) -> list[str]:
        """What they write."""
        return [place for sink in self.sinks for place in getattr(sink, "places", ())]

    @property
    def shared_places(self) -> list[str]:
        """What several of them may write."""
        return [place for sink in self.sinks for place in getattr(sink, "shared_places", ())]

    def prepare(self, about: SparkUpdate) -> None:
        """Refuse what one of them cannot write, before any of them writes. `about`: an update
        without rows, of which `run` is empty where the query has not begun."""
        for sink in self.sinks:
            if hasattr(sink, "prepare"):
                sink.prepare(about)

    def targets(self, about: SparkUpdate) -> Targets | None:
        """Executors write if they can for all of them."""
        found: dict[str, list[FileTarget]] = {}
        for sink in self.sinks:
            asked = getattr(sink, "targets", None)
            own: Targets | None = None if asked is None else asked(about)
            if own is None:
                return None
            for name, targets in own.items():
                found.setdefault(name, []).extend(targets)
        return found

    def __call__(self, update: SparkUpdate) -> None:
        for sink in self.sinks:
            sink(update)


@contextmanager
def held_for(sink: object, what: str = "the sink") -> Iterator[None]:
    """The locks of what a sink, or each of several, writes: its `places`, its `own_tables` in
    files of databases, and what it holds itself (`hold`), as in the database of a server."""
    with ExitStack() as held:
        for each in getattr(sink, "sinks", ()):
            held.enter_context(held_for(each, what))
        if not hasattr(sink, "sinks"):
            places = (*getattr(sink, "places", ()), *getattr(sink, "own_tables", ()))
            held.enter_context(locked(Used(what, place) for place in places))
            if hasattr(sink, "hold"):
                held.enter_context(sink.hold())
        yield
