"""A checkpoint whose notes are damaged, gone or older than the rest: a run from it either gives the
answer of one that nothing has happened to, or is refused in one line, and has written nothing."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Ran, driftline

SCRIPT = """
CREATE STREAM s (k STRING, o BIGINT, v BIGINT) WITH (time = 'o', disorder = 3);
SELECT k, sum(v) AS v FROM s GROUP BY k;
"""
FILES = ["k,o,v\na,1,1\nb,2,2\n", "k,o,v\na,3,4\nc,4,1\n", "k,o,v\nb,5,8\nc,9,1\n"]


@dataclass
class Made:
    """`home`: the script, the input, the checkpoint and the output after two files, where a third
    has come; `older`: the checkpoint after the first; `kept`: copies; `expected`: the output in the
    end, if nothing happens."""

    home: Path
    older: Path
    kept: Path
    expected: bytes

    @property
    def checkpoint(self) -> Path:
        return self.home / "checkpoint"

    @property
    def output(self) -> Path:
        return self.home / "out.jsonl"

    def restored(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.kept, self.home)


def run(home: Path, source: str = "in") -> Ran:
    return driftline(
        "run", home / "q.sql", "--runner", "spark", "--input", f"s={home / source}",
        "--checkpoint", home / "checkpoint", "--output", home / "out.jsonl",
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("notes")
    home, kept, older = folder / "home", folder / "kept", folder / "older"
    (home / "in").mkdir(parents=True)
    (home / "q.sql").write_text(SCRIPT)
    for number, text in enumerate(FILES):
        path = home / "in" / f"{number}.csv"
        path.write_text(text)
        os.utime(path, (number + 1, number + 1))
        if number < 2:
            assert run(home).code == 0
        if number == 0:
            shutil.copytree(home / "checkpoint", older)
    shutil.copytree(home, kept)
    assert run(home).code == 0
    return Made(home, older, kept, (home / "out.jsonl").read_bytes())


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE: dict[str, Callable[[Path, Path], object]] = {
    "deleted": lambda path, older: path.unlink(),
    "cut": lambda path, older: cut(path),
    "flipped": lambda path, older: flipped(path),
    "older": lambda path, older: shutil.copy2(older, path) if older.exists() else path.unlink(),
}


def same_or_refused(made: Made, what: str) -> bool:
    """Whether a run was refused."""
    before = made.output.read_bytes()
    ran = run(made.home)
    if ran.code == 0:
        assert made.output.read_bytes() == made.expected, what
        return False
    assert made.output.read_bytes() == before, what
    said = ran.err.strip()
    assert said.startswith("driftline: "), said
    assert "\n" not in said, said
    assert "unexpected" not in said, said
    return True


def notes(made: Made) -> list[str]:
    found = (path for path in made.checkpoint.rglob("*") if path.is_file())
    names = [str(path.relative_to(made.checkpoint)) for path in found]
    return sorted(name for name in names if "/state/" not in name and ".crc" not in name)


def damage_some(made: Made, cases: list[tuple[str, str]]) -> None:
    for name, how in cases:
        made.restored()
        DAMAGE[how](made.checkpoint / name, made.older / name)
        refused = same_or_refused(made, f"{name} {how}")
        if name == "state.json":
            assert not refused, "it is for people"


def all_cases(made: Made) -> list[tuple[str, str]]:
    made.restored()
    return [(name, how) for name in notes(made) for how in DAMAGE]


@pytest.mark.spark
def test_damaged_notes(made: Made) -> None:
    draw = random.Random(31)
    fixed = [("output.json", "deleted"), ("output.json", "older"), ("driftline.json", "older")]
    damage_some(made, [*fixed, *draw.sample(all_cases(made), 8), ("state.json", "cut")])


@pytest.mark.spark
@pytest.mark.long
def test_all_damaged_notes(made: Made) -> None:
    damage_some(made, all_cases(made))


def without_last_batch(made: Made) -> None:
    for log in ("offsets", "commits"):
        (made.checkpoint / "spark" / log / "1").unlink()


def swapped(made: Made) -> None:
    one, other = (made.checkpoint / "spark" / "state" / "0" / number for number in "01")
    one.rename(one.with_name("x"))
    other.rename(one)
    one.with_name("x").rename(other)


def older_changelog(made: Made) -> None:
    for folder in (made.checkpoint / "spark" / "state" / "0").glob("[0-9]"):
        first, *_, last = sorted(folder.glob("*.changelog"))
        shutil.copy(first, last)
        for crc in folder.glob("*.crc"):
            crc.unlink()


def another_query(made: Made) -> None:
    (made.checkpoint / "driftline.json").unlink()
    script = made.home / "q.sql"
    script.write_text(script.read_text().replace("sum(v)", "max(v)"))


WHAT: list[tuple[Callable[[Made], object], str]] = [
    (lambda made: shutil.rmtree(made.checkpoint / "spark"), "spark is gone, or that of another"),
    (without_last_batch, "spark and driftline.json are not of the same micro-batch"),
    (another_query, "driftline.json is gone"),
    (swapped, "the state of shard 1/0 is not the last one"),
    (older_changelog, "the state of shard 1/"),
]


@pytest.mark.spark
@pytest.mark.parametrize(("damage", "said"), WHAT)
def test_parts_that_do_not_fit_are_refused(
    made: Made, damage: Callable[[Made], object], said: str
) -> None:
    made.restored()
    damage(made)
    before = made.output.read_bytes()
    ran = run(made.home)
    assert ran.code != 0
    assert said in ran.err
    assert made.output.read_bytes() == before


@pytest.mark.spark
def test_another_input_is_refused(made: Made) -> None:
    made.restored()
    shutil.copytree(made.home / "in", made.home / "other")
    ran = run(made.home, source="other")
    assert ran.code == 2
    assert f"s was read from {made.home}/in and is read from {made.home}/other now" in ran.err


# A kill, or a power cut, between any two writes.


def prefixes(made: Made, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Path]:
    """What is on the disk before each step in which something is made durable: Spark waits while
    the driver writes, so that a copy is what a kill would leave."""
    found: list[Path] = []
    sync = os.fsync

    def copied(handle: int) -> None:
        found.append(folder / f"{len(found)}")
        # The temporary file of the write itself may get its name meanwhile.
        shutil.copytree(made.home, found[-1], ignore=shutil.ignore_patterns(".*.lock"))
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", copied)
        assert run(made.home).code == 0
    return found


def replayed(made: Made, found: list[Path]) -> None:
    for each in found:
        shutil.rmtree(made.home)
        shutil.copytree(each, made.home)
        ran = run(made.home)
        assert ran.code == 0, (each.name, ran.err)
        assert made.output.read_bytes() == made.expected, each.name


@pytest.mark.spark
def test_a_run_goes_on_from_what_any_of_its_writes_has_left(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made.restored()
    found = prefixes(made, monkeypatch, tmp_path)
    assert len(found) > 10
    replayed(made, random.Random(5).sample(found, 4))


@pytest.mark.spark
@pytest.mark.long
def test_a_run_goes_on_from_what_each_of_its_writes_has_left(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made.restored()
    replayed(made, prefixes(made, monkeypatch, tmp_path))
    # From the beginning, too.
    made.restored()
    shutil.rmtree(made.checkpoint)
    made.output.unlink()
    assert run(made.home).code == 0
    whole = made.output.read_bytes()
    shutil.rmtree(made.checkpoint)
    made.output.unlink()
    found = prefixes(made, monkeypatch, tmp_path / "whole")
    replayed(replace(made, expected=whole), found)
