import os
from pathlib import Path

import pytest

from driftline.event_log.apart import SameFile, Used, files_of, is_in, is_same, need_apart
from driftline.event_log.reader import read_log


def test_a_file_is_told_by_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("x.csv")
    file.write_text("k\n")
    Path("link.csv").symlink_to(file)
    Path("folder").symlink_to(tmp_path)
    os.link(file, "hard.csv")
    for other in ("x.csv", "./x.csv", tmp_path / "x.csv", "link.csv", "hard.csv", "folder/x.csv"):
        assert is_same(file, other)
    assert is_same(file, f"file://{tmp_path}/x.csv")
    assert not is_same(file, "y.csv")


def test_a_file_that_is_not_there_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").symlink_to(tmp_path)
    Path("dangling.csv").symlink_to("new.csv")
    for other in ("./new.csv", tmp_path / "new.csv", "folder/new.csv", "dangling.csv"):
        assert is_same("new.csv", other)
    assert is_same("a/b/new.csv", "a/../a/b/new.csv")
    assert not is_same("a/new.csv", "new.csv")
    assert not is_same("x" * 300, "x" * 300)  # whoever opens it will complain
    assert not is_same("a\0b", "a\0b")


def test_pipes_and_devices_take_everything() -> None:
    assert not is_same("/dev/null", "/dev/null")
    assert not is_same("/dev/stdout", "/dev/stdout") or os.path.isfile("/dev/stdout")  # noqa: PTH113
    need_apart([Used("--output", "/dev/null"), Used("--dead-letters", "/dev/null")])


def test_what_is_in_a_folder(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out.csv"
    (folder / "deep").mkdir(parents=True)
    assert is_in(folder / "new.csv", folder)
    assert is_in(folder / "deep" / "new.csv", folder)
    assert not is_in(folder / "_hidden" / "new.csv", folder)
    assert not is_in(out, folder)
    assert not is_in(folder, folder)
    out.write_text("")
    os.link(out, folder / "second.csv")
    assert is_in(out, folder)
    with out.open() as file:
        assert is_in(file.fileno(), folder)


def test_a_link_in_a_folder(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out.csv"
    folder.mkdir()
    out.write_text("")
    (folder / "link.csv").symlink_to(out)
    assert is_in(out, folder)


def test_what_is_refused(tmp_path: Path) -> None:
    one, other = Used("--output", tmp_path / "x"), Used("--input", tmp_path / "x")
    with pytest.raises(SameFile, match=r"--output \S+x is the same file as --input \S+x: give"):
        need_apart([one], [other])
    with pytest.raises(SameFile, match="same file"):
        need_apart([one, one])
    with pytest.raises(SameFile, match=r"--output \S+ is in --checkpoint \S+: give another place"):
        need_apart([Used("--checkpoint", tmp_path), one])
    with pytest.raises(SameFile, match=r"--input \S+ is in --checkpoint \S+: give it a directory"):
        need_apart([Used("--checkpoint", tmp_path)], [other])
    need_apart([one], [one][1:])


def test_dead_letters_of_a_log_are_not_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("oops\n")
    (tmp_path / "link.jsonl").symlink_to(log)
    with pytest.raises(SameFile):
        read_log([log], dead_letters=tmp_path / "link.jsonl")
    with log.open("rb") as file, pytest.raises(SameFile):
        read_log(file, dead_letters=log)
    assert log.read_text() == "oops\n"


def test_the_files_among_inputs() -> None:
    assert [each.path for each in files_of(["a", "-", Path("b"), 3])] == ["a", 0, Path("b")]
