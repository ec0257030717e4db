"""However a run ends, it says so in one line, without secrets."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driftline.event_log import source
from driftline.running.environment import concealed
from driftline.spark.checkpoint import REPORT, SHOWN, Checkpoint
from tests.cli.run import COMMAND, driftline

STREAM = "CREATE STREAM s (k STRING, v INT, t BIGINT) WITH (time = 't', disorder = 0);\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("k,v,t\na,1,1\nb,2,2\n")
    (tmp_path / "q.sql").write_text(STREAM + "SELECT k FROM s;")
    return tmp_path


def test_sigterm_ends_a_run_that_follows_as_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: float) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("driftline.running.local.sleep", wait)
    done = driftline("run", "q.sql", "-i", "s=s.csv", "--follow", "--runner", "local")
    assert done.code == 0, done.err
    assert done.out.count('"insert"') == 2


@pytest.mark.parametrize("kilobytes", [200_000, 400_000])
def test_too_little_memory(kilobytes: int) -> None:
    most = kilobytes * 1024
    ran = subprocess.run(
        [*COMMAND, "run", "q.sql", "-i", "s=s.csv", "--runner", "local"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode
    assert ran.stderr.splitlines()[-1] == "driftline: there is not enough memory"
    assert "Traceback" not in ran.stderr


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 20)
    for name in ("s.csv.gz", "s.jsonl.gz"):
        with gzip.open(name, "wb") as file:
            file.write(b"k,v,t\n" if "csv" in name else b'{"k":"a","v":1,"t":1}\n')
            file.write(b"x" * (40 << 20))
        ran = driftline("run", "q.sql", "-i", f"s={name}", "--runner", "local")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "a line is longer than 1 MB" in ran.err


@pytest.mark.parametrize("damage", [b"{}", b"[]", b"{", b'{"files": {}}', b"\xff"])
def test_a_damaged_note(damage: bytes) -> None:
    Path("state").mkdir()
    Path("state/output.json").write_bytes(damage)
    options = ("--runner", "spark", "--checkpoint", "state", "-o", "out.jsonl")
    ran = driftline("run", "q.sql", "-i", "s=s.csv", *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "output.json is damaged" in ran.err


@given(
    damage=st.one_of(
        st.binary(max_size=8),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=3),
            lambda parts: (
                st.lists(parts, max_size=2)
                | st.dictionaries(st.sampled_from(["0/0", "1/x", "", "1"]), parts, max_size=2)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
@example(damage=b'{"a": 1}')
@example(damage=b'{"0/0": {}}')
@settings(max_examples=40, deadline=None)
def test_what_is_for_people_stops_nothing(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes
) -> None:
    place = tmp_path_factory.mktemp("state")
    (place / REPORT).write_bytes(damage)
    checkpoint, head = Checkpoint(str(place)), dict.fromkeys(SHOWN, 1)
    assert checkpoint.reported() == {}
    checkpoint.report({(0, 1): head})
    assert checkpoint.reported() == {(0, 1): head}


@pytest.mark.parametrize(
    ("script", "arguments", "error"),
    [
        ("SELECT k FROM s ORDER BY k LIMIT 1 OFFSET 9223372036854775807;", [], None),
        ("SET x = =;", [], "x needs a value"),
        ("SELECT k FROM s;", ["-o", "postgresql://u:secret@[::1/db"], "Invalid IPv6 URL"),
        ("SELECT k FROM s;", ["-o", "o.sqlite", "--keys", ",,"], "--keys: ',,' lacks the name"),
        ("SELECT k FROM s;", ["-o", "a.jsonl", "-o", "b.jsonl"], "--output is given twice"),
        ("SELECT k FROM s;", ["-o", "a.jsonl", "--output=b.jsonl"], "--output is given twice"),
    ],
)
def test_no_error_is_unexpected(script: str, arguments: list[str], error: str | None) -> None:
    Path("q.sql").write_text(STREAM + script)
    ran = driftline("run", "q.sql", "-i", "s=s.csv", "--runner", "local", *arguments)
    assert ran.code == (0 if error is None else 2), ran.err
    assert (error or "") in ran.err
    assert "unexpected" not in ran.err
    assert "secret" not in ran.err
    assert not list(Path().glob("[ab].jsonl"))


WORDS = st.sampled_from(["=", "'a'", "1", "-", "(", ",", "x", ".", "NULL", "==", "TRUE", "[", "?"])


@given(words=st.lists(WORDS, max_size=5))
@example(words=["x", "=", "="])
@settings(max_examples=60, deadline=None)
def test_options_of_any_words(words: list[str]) -> None:
    for script in (
        f"CREATE STREAM s (k INT) WITH ({' '.join(words)}); SELECT k FROM s",
        f"SET {' '.join(words)}; SELECT 1 AS a",
    ):
        Path("q.sql").write_text(script)
        assert "unexpected" not in driftline("explain", "q.sql").err


def test_a_link_stays_a_link() -> None:
    Path("real.jsonl").write_text("old")
    Path("link.jsonl").symlink_to("real.jsonl")
    assert driftline("run", "q.sql", "-i", "s=s.csv", "-o", "link.jsonl").code == 0
    assert Path("link.jsonl").is_symlink()
    assert Path("real.jsonl").read_text().count("insert") == 2


SECRET = st.text("abcXYZ019-_.%!:@$", min_size=4, max_size=12).filter(
    lambda text: text.strip("@:.") == text
)


@given(
    secret=SECRET.map(lambda text: f"Zq{text}7"),
    shape=st.sampled_from(
        ["postgresql://u:{}@host:5432/db", "kafka://u:{}@host/t", "host=h password={}"]
    ),
    column=st.integers(0, 150),
)
@settings(max_examples=60, deadline=None)
def test_no_password_is_printed(secret: str, shape: str, column: int) -> None:
    url = shape.format(secret)
    assert secret not in concealed(f"cannot connect to {url}: no")
    sink = f"CREATE SINK a WITH (type = 'postgres', url = '{url}'{' ' * column}, tble = 'x') AS "
    Path("q.sql").write_text(STREAM + sink + "SELECT k FROM s;")
    ran = driftline("run", "q.sql", "-i", "s=s.csv", "--runner", "local")
    assert secret not in ran.err
    assert "tble" in ran.err
    line, caret = ran.err.splitlines()[-2:]
    assert line[caret.index("^") :].startswith("tble")
