"""A stream and a result may be called anything: no name is taken, and none is read as more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import driftline

STREAMS = [
    "a b", "$clock", "$dead s", "x: y", "out", "result", "a.b", "it's \"so\"", "größe 😀", "a/b",
    "..", "complete", "part 1", "s", "s (2)", "s times", "s: finalize", "a=b", "*?[x]{y}", "x`y",
]  # fmt: skip
FEWER = ["$clock x: y", 'a.b/* it\'s "so" 😀', "part 1", "s", "s (2)"]
"""On Spark every stream costs some seconds."""
RESULTS = ["part 2", "$counters 1", "s (3)"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def script(names: list[str]) -> str:
    """Every stream, one of them by two keys, and a result that needs an exchange of its own."""
    streams = "".join(
        f"CREATE STREAM {quoted(name)} (k INT, x INT, t INT) WITH (time = 't', disorder = 1);\n"
        for name in names
    )
    all_of_them = " UNION ALL ".join(f"SELECT k, x FROM {quoted(name)}" for name in names)
    part, counters, by_two = map(quoted, RESULTS)
    return (
        f"{streams}INSERT INTO {part} SELECT c, count(*) AS n FROM "
        f"(SELECT k, count(*) AS c FROM ({all_of_them}) GROUP BY k) GROUP BY c;\n"
        f"INSERT INTO {counters} SELECT k, count(*) AS n FROM s GROUP BY k;\n"
        f"INSERT INTO {by_two} SELECT x, count(*) AS n FROM s GROUP BY x;"
    )


@pytest.mark.parametrize("runner", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_streams_and_results_called_anything(
    runner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = STREAMS if runner == "local" else FEWER
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text(script(names), encoding="utf-8")
    inputs: list[str] = []
    for number, name in enumerate(names):
        path = tmp_path / f"{number}.jsonl"
        records = [{"k": number, "x": 1, "t": 1}, {"k": number, "x": 2, "t": 9}]
        records.append({"k": number, "x": 3, "t": 2})  # too late
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
        inputs += ["--input", f"{name}={path}"]
    more = ["--checkpoint", "st:ate"] if runner == "spark" else []
    letters = tmp_path / "dead.jsonl"
    done = driftline(
        "run", tmp_path / "q.sql", *inputs, "--runner", runner, "--batch", "10", *more,
        "--dead-letters", letters,
    )  # fmt: skip
    assert done.code == 0, done.err
    emitted = [json.loads(line) for line in done.out.splitlines()]
    assert {event["stream"] for event in emitted} == set(RESULTS)
    final = [e["row"] for e in emitted if e["stream"] == RESULTS[0] and e["kind"] == "insert"]
    assert final[-1] == {"c": 2, "n": len(names)}
    for name in names:
        assert f"driftline: 1 event of {name} came too late or is invalid: in" in done.err
    assert len(letters.read_text().splitlines()) == len(names)
    if runner == "spark":
        held = driftline("state", "st:ate")
        assert held.code == 0, held.err
        operators = {json.loads(line)["operator"] for line in held.out.splitlines()}
        assert {f"{name}: finalize" for name in names} <= operators


def test_the_longest_name_is_meant() -> None:
    from driftline.cli.given import named
    from driftline.sql import read_script

    text = "CREATE STREAM a (t INT); CREATE STREAM `a=b` (t INT);"
    outputs = read_script(f"{text} SELECT * FROM a; SELECT * FROM `a=b`;").outputs
    known = {name: s for output in outputs for name, s in output.plan.sources().items()}
    assert named("a=b=c.csv", known) == ("a=b", "c.csv")
    assert named("A=c.csv", known) == ("a", "c.csv")
