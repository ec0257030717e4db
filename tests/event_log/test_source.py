import gzip
import io
from pathlib import Path

import pytest

from driftline.event_log.bad import UnreadableLog
from driftline.event_log.source import LogSource


@pytest.mark.parametrize("block_bytes", [1, 3, 100])
def test_blocks_end_where_lines_end(block_bytes: int) -> None:
    source = LogSource(io.BytesIO(b"ab\ncdef\n\ngh"), block_bytes)
    blocks = list(source.blocks())
    assert b"".join(blocks) == b"ab\ncdef\n\ngh"
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_lines_are_found_again() -> None:
    source = LogSource(io.BytesIO(b"ab\ncdef\n\ngh"), 3)
    list(source.blocks())
    assert source.lines([4, 2]) == {2: b"cdef", 4: b"gh"}
    assert source.lines([]) == {}


def test_lines_of_a_compressed_file_and_its_progress(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"ab\ncd\n" * 1000))
    source = LogSource(path)
    told: list[int] = []
    assert len(b"".join(source.blocks(told.append))) == 6000
    assert sum(told) == source.size == path.stat().st_size
    assert source.lines([2000]) == {2000: b"cd"}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"ab\n")

    monkeypatch.setattr("sys.stdin", Stdin())
    source = LogSource("-")
    assert (source.name, source.size) == ("<stdin>", None)
    assert list(source.blocks()) == [b"ab\n"]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnreadableLog, match="no permission to read it"):
        list(LogSource(tmp_path / "a").blocks())
