"""Inputs that go on: what has come since they were last looked at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.readers.inputs import RawEvents
from driftline.engine.readers.source_reader import SourceReader


class Growing(ABC):
    """An input that goes on; `is_log`: it holds events, and not plain records."""

    is_log = False

    @abstractmethod
    def new(self) -> Iterator[RawEvents]:
        """What has come since it was last asked, in parts; it does not wait for more."""


class GrowingReader(SourceReader):
    """A source that goes on: it is exhausted when all that has come is taken, until more does."""

    def __init__(self, given: Growing, schema: pa.Schema) -> None:
        super().__init__(iter(()), schema)
        self.given = given

    def look(self, position: int) -> None:
        """Read what has come; it takes the places in arrival order from this one on."""
        for events in self.given.new():
            places = np.arange(position, position + len(events))
            self._take_in(replace(events, position=places))
            position += len(events)

    def inserts_only(self) -> bool:
        return not self.given.is_log
