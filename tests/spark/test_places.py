"""Directories by path and by URI."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftline.plan.errors import PlanError
from driftline.spark.places import Place, place_of


@pytest.mark.parametrize("before", ["", "file:", "file://"])
def test_a_place_on_the_disk(tmp_path: Path, before: str) -> None:
    place = Place(f"{before}{tmp_path}/in/")
    assert place.is_on_disk
    assert place.read("x/y") is None
    place.write("x/y", b"1")
    place.write("x/y", b"2")
    assert place.read("x/y") == b"2"
    assert (tmp_path / "in" / "x" / "y").read_bytes() == b"2"


@pytest.mark.parametrize("uri", ["s3://bucket/dir", "s3a://bucket/dir/"])
def test_a_place_elsewhere(uri: str) -> None:
    pytest.importorskip("pyarrow._s3fs")
    files, root = place_of(f"{uri.rstrip('/')}?region=eu-central-1")
    assert (files.type_name, root) == ("s3", "bucket/dir")


@pytest.mark.parametrize("uri", ["dbfs:/x", "wasbs://c@a/x", "nowhere://x"])
def test_a_place_that_is_not_known(uri: str) -> None:
    with pytest.raises(PlanError, match=r"there is no way to \w+: from here; give a path"):
        place_of(uri)
