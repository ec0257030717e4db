"""Where a log's bytes come from: files, compressed files, standard input; in blocks of lines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.event_log.bad import UnreadableLog

BLOCK_BYTES = 16 * 2**20
LONGEST_LINE = 128 * 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STANDARD_INPUT = "-"
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}

Progress = Callable[[int], None]
"""Called with the number of bytes of the file that have been read since the last call."""


class LogSource:
    """One file or binary stream that is read from its beginning to its end.

    What cannot be opened twice is remembered, so that `lines` can look a line up again.
    """

    def __init__(self, what: str | Path | IO[bytes], block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._remembered: list[bytes] | None = None
        self._stream: IO[bytes] | None = None
        self._path: Path | None = None
        if isinstance(what, (str, Path)) and str(what) != _STANDARD_INPUT:
            self._path = Path(what)
            self.name = str(what)
        elif isinstance(what, (str, Path)):
            self._stream, self.name = sys.stdin.buffer, "<stdin>"
        else:
            self._stream, self.name = what, getattr(what, "name", "<stream>")

    @property
    def size(self) -> int | None:
        """The bytes that are to be read, if that is known beforehand."""
        if self._path is None or not self._path.is_file():
            return None
        return self._path.stat().st_size

    def blocks(self, progress: Progress | None = None) -> Iterator[bytes]:
        """The bytes in blocks that end where a line ends."""
        if self._remembered is not None:
            yield from self._remembered
            return
        if self._stream is not None:
            self._remembered = []
        mark = _BYTE_ORDER_MARK  # only the first block may begin with it
        for block in self._whole_lines(progress):
            if block := block.removeprefix(mark):
                yield self._kept(block)
            mark = b""

    def lines(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """These lines (counted from 1), read once more."""
        wanted = sorted(set(numbers))
        found: dict[int, bytes] = {}
        before = 0
        for block in self.blocks() if wanted else ():
            starts, ends = line_bounds(block)
            while wanted and wanted[0] <= before + len(starts):
                number = wanted.pop(0)
                at = number - before - 1
                found[number] = block[starts[at] : ends[at]]
            if not wanted:
                break
            before += len(starts)
        return found

    def _whole_lines(self, progress: Progress | None) -> Iterator[bytes]:
        rest: list[bytes] = []
        for piece in self._pieces(progress):
            end = piece.rfind(b"\n") + 1
            if end:
                yield b"".join([*rest, piece[:end]])
                rest = [piece[end:]]
            else:
                rest.append(piece)
            if sum(map(len, rest)) > LONGEST_LINE:
                raise UnreadableLog(
                    f"{self.name}: a line is longer than {LONGEST_LINE >> 20} MB: is it CSV, JSON "
                    "Lines or an event log?"
                )
        if last := b"".join(rest):
            yield last

    def _kept(self, block: bytes) -> bytes:
        if self._remembered is not None:
            self._remembered.append(block)
        return block

    def _pieces(self, progress: Progress | None) -> Iterator[bytes]:
        try:
            with self._opened(progress) as stream:
                while piece := stream.read(self._block_bytes):
                    yield piece
        except FileNotFoundError:
            raise UnreadableLog(f"{self.name}: there is no such file") from None
        except IsADirectoryError:
            raise UnreadableLog(f"{self.name}: this is a directory, not a log") from None
        except PermissionError:
            raise UnreadableLog(f"{self.name}: no permission to read it") from None
        except (OSError, EOFError, pa.ArrowException) as error:
            raise UnreadableLog(f"{self.name}: cannot be read: {error}") from error

    def _opened(self, progress: Progress | None) -> Any:
        if self._path is None:
            assert self._stream is not None
            raw: Any = _Open(self._stream)
            return raw
        file = self._path.open("rb")
        compression = COMPRESSIONS.get(self._path.suffix.lower())
        counted = _Counted(file, progress) if progress else file
        return pa.input_stream(counted, compression) if compression else counted


def line_bounds(block: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each line of a block starts and where it ends, before its newline.

    >>> starts, ends = line_bounds(b"ab\\n\\nc")
    >>> starts.tolist(), ends.tolist()
    ([0, 3, 4], [2, 3, 5])
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1] + 1
    return starts, ends


class _Open:
    """A stream that the caller closes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def __enter__(self) -> IO[bytes]:
        return self._stream

    def __exit__(self, *_: object) -> None:
        pass


class _Counted:
    """A file that reports how much of it has been read."""

    def __init__(self, file: IO[bytes], progress: Progress) -> None:
        self._file, self._progress = file, progress
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._progress(len(piece))
        return piece

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
        self._file.close()

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
