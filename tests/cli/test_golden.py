"""The golden transcripts, replayed with the local runner."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from driftline.event_log.reader import read_log
from driftline.model.history import canonical_history
from tests.cli.run import driftline

GOLDEN = Path(__file__).parent.parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.sql"))


def replayed(name: str, folder: Path) -> dict[str, str]:
    """What the transcript's script says, by the endings of the expected files."""
    script, log = GOLDEN / f"{name}.sql", GOLDEN / f"{name}.input.jsonl"
    dead = folder / "dead.jsonl"
    table = driftline("run", script, "--input", log, "--table", "--dead-letters", dead)
    changes = driftline("run", script, "--input", log, "--batch", "1")
    assert (table.code, changes.code) == (0, 0), table.err + changes.err
    letters = dead.read_text(encoding="utf-8").replace(str(GOLDEN) + "/", "")
    return {"table": table.out, "changes": changes.out, "dead": letters}


@pytest.mark.parametrize("name", NAMES)
def test_transcript(name: str, tmp_path: Path) -> None:
    for ending, emitted in replayed(name, tmp_path).items():
        path = GOLDEN / f"{name}.{ending}.jsonl"
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert emitted == expected, f"{path.name} is not what is emitted"


@pytest.mark.parametrize("name", NAMES)
def test_the_changes_of_a_transcript_are_its_table(name: str, tmp_path: Path) -> None:
    """They are valid streams, and mean the table, in whatever pieces it is emitted."""
    table = (GOLDEN / f"{name}.table.jsonl").read_text(encoding="utf-8").splitlines()
    several = '"stream"' in table[0]
    inserts = [
        line.replace('"vs"', '"kind":"insert","vs"', 1)
        if several
        else line.replace("{", '{"stream":"result","kind":"insert",', 1)
        for line in table
    ]
    log = tmp_path / "table.jsonl"
    log.write_text("\n".join(inserts), encoding="utf-8")
    wanted = read_log(log).streams
    emitted = read_log(GOLDEN / f"{name}.changes.jsonl").streams
    assert wanted.keys() == emitted.keys()
    for stream, columns in emitted.items():
        history = canonical_history(columns.to_events())
        assert history.same_snapshots(canonical_history(wanted[stream].to_events()))


if __name__ == "__main__":
    for each in NAMES:
        for ending, text in replayed(each, Path(sys.argv[1])).items():
            target = GOLDEN / f"{each}.{ending}.jsonl"
            if text:
                target.write_text(text, encoding="utf-8")
            else:
                target.unlink(missing_ok=True)
