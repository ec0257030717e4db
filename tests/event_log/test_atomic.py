from pathlib import Path

import pytest

from driftline.event_log.atomic import atomic_file


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_a_failure_leaves_no_trace(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_file(tmp_path / "file") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_written_directly() -> None:
    with atomic_file("/dev/null") as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()
