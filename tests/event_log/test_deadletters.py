import json
from pathlib import Path

from driftline.event_log.bad import BadEvent
from driftline.event_log.deadletters import write_dead_letters


def test_the_event_is_kept_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    texts = [b'{"n":12345678901234567890, "f":1.10}', b"{oops", b"\xff", b'"text"']
    write_dead_letters([BadEvent("a", i, "because", text) for i, text in enumerate(texts)], path)
    lines = path.read_bytes().splitlines()
    assert b'"event":{"n":12345678901234567890, "f":1.10}}' in lines[0]
    assert [json.loads(line)["event"] for line in lines[1:]] == ["{oops", "\ufffd", "text"]


def test_none(tmp_path: Path) -> None:
    write_dead_letters([], tmp_path / "bad.jsonl")
    assert (tmp_path / "bad.jsonl").read_bytes() == b""
