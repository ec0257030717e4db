"""Whatever is in files and messages that workers read: events, dead letters, or one clear line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.readers.csv_records import PLAIN
from driftline.spark.inputs import read_files, read_messages
from tests.cli.test_odd_input import DEEP, FILES, SCRIPT
from tests.test_fuzz import CLEAR

SOURCE = dl.sql(SCRIPT).plan.sources()["t"]
GOOD = b'{"k":"a","x":1,"d":1.5,"ts":1}'
CONTENTS = {
    ("csv", ".csv"): FILES["f.csv"],
    ("csv", ".csv.gz"): FILES["f.csv.gz"],
    ("log", ".jsonl"): FILES["f.jsonl"],
    ("json", ".jsonl"): [
        b"", b"{}", b"[]", b"null", b"5", b'"x"', GOOD, GOOD[:-1], b'{"K":"a","X":1,"ts":1}',
        b'{"k":"a","k":"b","ts":1}', b'{"ts":null}', b'{"ts":"x"}', b'{"ts":1e30}', b'{"ts":1.5}',
        b'{"ts":[1]}', b'{"k":{"a":1},"ts":1}', b"\xff\xfe", b'{"k":"\xff","ts":1}',
        b"\xef\xbb\xbf" + GOOD, b'{"k":"\\ud800","ts":1}', DEEP, b"[" * 99_999, b"\0",
        b'{"ts":' + b"9" * 5_000 + b"}", GOOD + b"\n\n" + GOOD + b"\r\n" + GOOD[:-1],
        b'{"d":NaN,"ts":1}', b'{"d":1e999,"ts":1}', b'{"x":99999999999,"ts":1}',
        b'{"x":1.5,"ts":1}', b'{"x":"1","ts":" 7 "}', b'{"k":"' + b"a" * 3_000_000 + b'","ts":1}',
    ],
}  # fmt: skip


def outcome(read: Callable[[], Iterator[pa.RecordBatch]]) -> int | None:
    """How many rows were read; None: one clear line was said instead."""
    try:
        return sum(len(batch) for batch in read())
    except CLEAR as error:
        line = str(error)
    assert line, "an error without a word"
    assert "\n" not in line
    return None


@pytest.mark.parametrize(("form", "suffix"), CONTENTS)
def test_files_and_messages(form: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"f{suffix}"
    for content in CONTENTS[form, suffix]:
        path.write_bytes(content)

        def of_files(**row: Any) -> int | None:
            batch = pa.RecordBatch.from_pylist([{"path": f"file://{path}", **row}])
            return outcome(lambda: read_files(SOURCE, form, PLAIN, "t", False, iter([batch])))

        assert of_files() == of_files(content=content), content[:99]
        if form == "csv":
            continue
        row = {"value": content, "source": "topic/0", "line": 3}
        messages = pa.RecordBatch.from_pylist([row, {**row, "value": None, "line": 4}])
        found = outcome(lambda: read_messages(SOURCE, form, "t", iter([messages])))  # noqa: B023
        assert found == 2, content[:99]  # each message is one event, or a dead letter
