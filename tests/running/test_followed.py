"""Files that are followed while others rotate them: every line once, or a warning."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.running.followed import FollowedFile
from driftline.running.streams import Form, Streamed

SOURCE = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t").plan.sources()["s"]


def follow(path: Path, form: Form) -> FollowedFile:
    return FollowedFile(SOURCE, Streamed("files", str(path), form, {}))


def times(followed: FollowedFile) -> list[int]:
    return [t for events in followed.new() for t in events.vs.tolist()]


def text(form: str, numbers: range) -> str:
    if form == "csv":
        return "".join(f"k,{number}\n" for number in numbers)
    return "".join(f'{{"k":"k","t":{number}}}\n' for number in numbers)


STEPS = st.lists(
    st.sampled_from(["append", "append", "look", "look", "rename", "delete", "replace"]),
    max_size=14,
)


@pytest.mark.parametrize("form", ["json", "csv"])
@given(steps=STEPS)
def test_a_file_that_is_rotated_is_read_once(
    form: Form, steps: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rotated")
    path = folder / "s.log"
    header = "k,t\n" if form == "csv" else ""
    path.write_text(header)
    followed, numbers = follow(path, form), iter(range(1000))
    written: list[int] = []
    seen = times(followed)
    for step, name in zip(steps, range(len(steps)), strict=True):
        if step in ("rename", "delete", "replace"):
            seen += times(followed)  # of several files between two looks only the last is seen
        if step == "rename":
            path.rename(folder / f"{name}")
            path.write_text(header)
        elif step == "delete":
            path.unlink()
            path.write_text(header)
        elif step == "replace":
            fresh = _some(numbers, 3)
            (folder / "new").write_text(header + text(form, fresh))
            (folder / "new").replace(path)
            written += fresh
        elif step == "append":
            more = _some(numbers, 2)
            with path.open("a") as file:
                file.write(text(form, more))
            written += more
        else:
            seen += times(followed)
    seen += times(followed)
    assert seen == written


def _some(numbers: Iterator[int], count: int) -> range:
    first = next(numbers)
    for _ in range(count - 1):
        next(numbers)
    return range(first, first + count)


def test_the_old_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text("json", range(2)))
    followed = follow(path, "json")
    assert times(followed) == [0, 1]
    with path.open("a") as file:
        file.write(text("json", range(2, 4)) + '{"k":"k","t":4}')  # a last line that is not ended
    path.rename(tmp_path / "s.jsonl.1")
    path.write_text(text("json", range(5, 20)))
    assert times(followed) == list(range(2, 20))


@pytest.mark.parametrize("count", [1, 2, 30])
def test_one_that_is_truncated_is_begun_anew_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text("json", range(2)))
    followed = follow(path, "json")
    assert times(followed) == [0, 1]
    path.write_text(text("json", range(100, 100 + count)))
    with caplog.at_level(logging.WARNING, "driftline"):
        assert times(followed) == list(range(100, 100 + count))
    assert "was truncated and begun anew: what was written to it after line 2" in caplog.text
