"""A query that starts again when a worker of Spark was slow to start.

Spark gives up a Python process that has not connected back after ten seconds, and the query with
it. On a busy machine that is no failure: the query goes on from its checkpoint, as after a crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.query import StreamingQuery

from driftline.spark.failures import TOO_SLOW

if TYPE_CHECKING:
    from pyspark.errors import StreamingQueryException

PATIENCE = 6
"""So many starts in a row may fail for that."""


class RetriedQuery(StreamingQuery):
    """A StreamingQuery whose runs follow one another. `start` starts a run; `left`: how many starts
    may still fail before a micro-batch is complete; `ended` is called when the last has ended."""

    def __init__(
        self, start: Callable[[], StreamingQuery], ended: Callable[[], object] | None = None
    ) -> None:
        self._start, self._left = start, PATIENCE
        self._at_end = ended
        self._lock = threading.Lock()
        self._is_stopped = False
        self._error: Exception | None = None
        self._ended = threading.Event()
        self._run = start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def _jsq(self) -> Any:
        """Spark's own query, which all that is not here asks."""
        return self._run._jsq

    def completed(self) -> None:
        """A micro-batch is complete."""
        self._left = PATIENCE

    def _watch(self) -> None:
        while True:
            try:
                self._run.awaitTermination()
            except Exception as error:
                self._error = error
                with suppress(Exception):  # what failed first is told
                    if self._starts_again(error):
                        self._error = None
                        continue
            if self._at_end is not None:
                self._at_end()
            self._ended.set()
            return

    def _starts_again(self, error: Exception) -> bool:
        self._left -= 1
        if TOO_SLOW not in str(error) or not self._left:
            return False
        with self._lock:
            if not self._is_stopped:
                self._run = self._start()
        return not self._is_stopped

    @property
    def isActive(self) -> bool:
        return not self._ended.is_set() and (not self._is_stopped or self._run.isActive)

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        ended = self._ended.wait(timeout)
        if ended and self._error is not None:
            raise self._error
        return None if timeout is None else ended

    def processAllAvailable(self) -> None:
        while True:
            run = self._run
            try:
                return run.processAllAvailable()
            except Exception as error:
                # It is started again, or has ended, when the thread that watches has seen it.
                if TOO_SLOW not in str(error):
                    raise
                while self._run is run and not self._ended.wait(0.1):
                    pass
                if self._ended.is_set():
                    raise

    def exception(self) -> StreamingQueryException | None:
        return self._run.exception() if self._ended.is_set() or self._is_stopped else None

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
        self._run.stop()
        self._ended.wait()
