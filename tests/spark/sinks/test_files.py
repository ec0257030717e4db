from __future__ import annotations

import json
from pathlib import Path
from typing import IO

import pytest
from pyarrow import fs

from driftline.plan.errors import PlanError
from driftline.spark.sinks.files import OWNER, OwnFolder


def test_a_file_that_was_broken_off_is_not_there(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path)

    def broken(file: IO[bytes]) -> None:
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        folder.put("a", broken)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_belongs_to_one_query(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path / "new" / "folder")
    folder.claim("one")
    folder.claim("one")
    OwnFolder(folder.path).claim("one")
    assert json.loads((tmp_path / "new" / "folder" / OWNER).read_text())["run"] == "one"
    with pytest.raises(PlanError, match=r"holds the results of another query"):
        OwnFolder(folder.path).claim("two")


def test_a_place_that_is_no_local_folder(tmp_path: Path) -> None:
    folder = OwnFolder(f"file://{tmp_path}/new")
    folder.claim("one")
    assert (tmp_path / "new" / OWNER).exists()
    other = OwnFolder("far/away")
    other.files = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())  # as S3 would be
    other.claim("one")
    other.put("a", lambda file: file.write(b"first"))
    other.put("a", lambda file: file.write(b"second"))
    assert (tmp_path / "far" / "away" / "a").read_bytes() == b"first"
    assert sorted(path.name for path in (tmp_path / "far" / "away").iterdir()) == [OWNER, "a"]


def test_a_file_is_written_once(tmp_path: Path) -> None:
    folder = OwnFolder(tmp_path)
    folder.put("a", lambda file: file.write(b"first"))
    folder.put("a", lambda file: file.write(b"second"))
    assert (tmp_path / "a").read_bytes() == b"first"
