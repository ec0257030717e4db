"""Files of plain records that the local runner reads part by part, while it runs."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.running.problems import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from driftline.engine.readers.chunks import RecordFile
    from driftline.engine.readers.inputs import RawEvents
    from driftline.plan.nodes import Source


class Lines:
    """The lines on which the records of a file stand, as they are read: of every run of records
    that stand line after line, the number of the first and how far its line is from that."""

    def __init__(self) -> None:
        self.count = 0
        self.numbers, self.shifts = array("q"), array("q")

    def add(self, lines: NDArray[np.int64]) -> None:
        """The lines of the records that come next."""
        import numpy as np

        numbers = np.arange(self.count, self.count + len(lines))
        shifts = lines - numbers
        is_first = np.ones(len(lines), np.bool_)
        is_first[1:] = shifts[1:] != shifts[:-1]
        self.numbers.frombytes(numbers[is_first].tobytes())
        self.shifts.frombytes(shifts[is_first].tobytes())
        self.count += len(lines)

    def of(self, number: int) -> int:
        """The line of a record, by its number from 0.

        >>> import numpy as np
        >>> lines = Lines()
        >>> lines.add(np.array([2, 3, 4, 7, 8]))
        >>> [lines.of(number) for number in range(5)]
        [2, 3, 4, 7, 8]
        """
        return number + self.shifts[bisect_right(self.numbers, number) - 1]


class FilePlaces:
    """The files and lines on which the records of a directory stand, as they are read."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.starts = array("q")
        self.lines = Lines()

    def begin(self, path: Path | str) -> None:
        """What comes next is in another file."""
        self.files.append(str(path))
        self.starts.append(self.lines.count)

    def of(self, number: int) -> tuple[str, int] | None:
        """File and line of a record, by its number from 0; None if it was not read here."""
        if number >= self.lines.count:
            return None
        return self.files[bisect_right(self.starts, number) - 1], self.lines.of(number)


@dataclass
class PlainFiles:
    """Files of plain records, one after another, and the stream they are read for; `places`: where
    the records stood that have been read."""

    source: Source
    files: Sequence[RecordFile]
    places: FilePlaces = field(default_factory=FilePlaces)

    def parts(self, size: int) -> Iterator[RawEvents]:
        """The records in parts, of so many where that can be chosen."""
        from driftline.engine.readers.ahead import ahead

        return ahead(self._parts(size))

    def _parts(self, size: int) -> Iterator[RawEvents]:
        from driftline.engine.readers.chunks import chunks

        self.places.__init__()  # type: ignore[misc]  # start again
        for events in chunks(self.source, self._records(size), size):
            if events.lines is not None:
                self.places.lines.add(events.lines)
            yield events

    def _records(self, size: int) -> Iterator[Any]:
        import pyarrow as pa

        from driftline.engine.readers.chunks import LARGEST_CHUNK, parts

        for file in self.files:
            self.places.begin(file.path)
            try:
                yield from parts(self.source, file, min(size, LARGEST_CHUNK))
            except pa.ArrowInvalid as error:
                raise Problem(f"{file.path}: {error}") from None
