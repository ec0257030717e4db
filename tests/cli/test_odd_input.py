"""Whatever is in files and options: an answer, dead letters, or one clear line and exit code 2."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftline.running.problems import Problem
from driftline.spark import runner as on_spark
from tests.cli.run import driftline

SCRIPT = """
CREATE STREAM t (k STRING, x INT, d DOUBLE, ts BIGINT) WITH (time = 'ts');
SELECT k, sum(x) AS x FROM t GROUP BY k;
"""
CSV = b"k,x,d,ts\na,1,1.5,1\nb,2,,2\n"
LOG = b'{"stream":"t","kind":"insert","vs":1,"ve":null,"row":{"k":"a","x":1,"d":1.5,"ts":1}}\n'
CUT = LOG[:-20]


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


GOOD = parquet(pa.table({"k": ["a"], "x": pa.array([1], pa.int32()), "d": [1.5], "ts": [1]}))
DEEP = b'{"a":' * 20_000 + b"1" + b"}" * 20_000

FILES: dict[str, list[bytes]] = {
    "f.csv": [
        b"", b"\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf" + CSV, CSV.replace(b"\n", b"\r\n"),
        CSV.decode().encode("utf-16"), CSV.replace(b"\n", b"\r"), b"k,x,d,ts",
        b"k,k,x,d,ts\na,b,1,1,1\n",
        b"a,1,1.5,1\n", CSV + b"\0,1\0,1,1\n", b"\0" * 99, CSV + bytes(range(256)),
        b'k,x,d,ts\n"a,1\n',
        b"k,x,d,ts\na,1\nb,1,1,1,1\n", b"k,x,d,ts\na,one,two,three\n",
        b"k,x,d,ts\na,9e99,1e999,1e30\n",
        b"k,x,d,ts\n" + b"a" * 3_000_000 + b",1,1,1\n", b"a" * 200_000, b"," * 99_999,
        b'"' * 9_999, GOOD,
        b"k,x,d,ts\na,1,1,9223372036854775807\na,1,1,-9223372036854775808\n",
    ],
    "f.csv.gz": [CSV, gzip.compress(CSV)[:-9], gzip.compress(b"")],
    "f.jsonl": [
        b"", b"\xef\xbb\xbf" + LOG, CUT, LOG.replace(b"\n", b"\r\n"), LOG.decode().encode("utf-16"),
        b"[1,2]\n", b"5\n", b"null\n", b"[" * 99_999, DEEP, LOG + b"\0\n",
        LOG.replace(b'"a"', b"\xff"),
        LOG.replace(b'"a"', b'"\\ud800"'), LOG.replace(b'"vs":1', b'"vs":"x"'),
        LOG.replace(b'"vs":1', b'"vs":' + b"9" * 5000), LOG.replace(b'"x":1', b'"x":{"y":[1]}'),
        LOG.replace(b"1.5", b"1e999"), LOG.replace(b"null", b"0"),
        LOG.replace(b"insert", b"retract"),
        LOG.replace(b'"a"', b'"' + b"a" * 3_000_000 + b'"'),
        b'{"stream":"t","kind":"cti","t":{}}\n',
    ],
    "f.parquet": [
        b"", b"PAR1", GOOD[:-9], GOOD[:40], GOOD[:60] + b"\xff\xff\xff" + GOOD[63:],
        GOOD[:-80] + b"\xe5" * 4 + GOOD[-76:], parquet(pa.table({})),
        parquet(pa.table({"k": [["a"]], "x": ["one"], "d": [{"y": 1}], "ts": [1.5]})),
        parquet(pa.table({name: pa.nulls(2) for name in ("k", "x", "d", "ts")})),
        parquet(pa.Table.from_arrays([pa.array([1])] * 5, ["k", "k", "x", "d", "ts"])),
    ],
    "f.sql": [
        b"", b";;", b"\xff", b"\0", b"\xef\xbb\xbfSELECT 1 AS a", b"SELECT " + b"(" * 9_999,
        b"SELECT 'a",
        SCRIPT.encode("utf-16"), b"SELECT 1e400", b"SELECT 128Y", b"SELECT a" + b"a" * 5_000,
    ],
}  # fmt: skip


def clear(*arguments: str | Path) -> None:
    ran = driftline(*arguments)
    shown = ran.err.splitlines()
    assert ran.code in (0, 2), (arguments, ran)
    assert "driftline: unexpected" not in ran.err, (arguments, ran.err)
    assert max(map(len, shown), default=0) < 1000, (arguments, max(shown, key=len)[:2000])
    assert shown or ran.code == 0, arguments


@pytest.mark.parametrize("name", sorted(FILES))
def test_files(name: str, tmp_path: Path) -> None:
    script, file, dead = tmp_path / "q.sql", tmp_path / name, tmp_path / "dead.jsonl"
    script.write_text(SCRIPT)
    for content in FILES[name]:
        file.write_bytes(content)
        if name == "f.sql":
            (tmp_path / "t.csv").write_bytes(CSV)
            clear("run", file, "--input", tmp_path / "t.csv", "--runner", "local")
            continue
        clear("run", script, "-i", f"t={file}", "--runner", "local", "--dead-letters", dead)
        if name == "f.jsonl":
            clear("check", file)


ODD = ["", "-1", "nan", "9" * 25, "5 parsecs", "x" * 5_000, "a:b", "t=x://"]


@pytest.mark.parametrize(
    "option",
    [
        "--input", "--emit", "--block", "--remember", "--batch", "--max-expansion", "--max-steps",
        "--scheduler", "--outputs", "--tokens", "--heeding", "--clock", "--expiry", "--pace",
        "--at", "--prefix", "--stream", "--format", "DIR",
    ],
)  # fmt: skip
def test_options(option: str, tmp_path: Path) -> None:
    script, log = tmp_path / "q.sql", tmp_path / "log.jsonl"
    script.write_text(SCRIPT)
    log.write_bytes(LOG)
    for value in ODD:
        if option == "DIR":
            clear("state", value)
        elif option in ("--at", "--prefix", "--stream", "--format"):
            clear("history", log, option, value)
        else:
            clear("run", script, "-i", log, "--runner", "local", option, value)


def test_options_on_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as Spark: what it would be started with has been looked at, and is on disk."""

    def no_session(_: object) -> None:
        raise Problem("all is well so far")

    monkeypatch.setattr(on_spark, "_session", no_session)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text(SCRIPT)
    (tmp_path / "t.csv").write_bytes(CSV)
    for option in ("--checkpoint", "--conf", "--keys", "--view", "--loop", "--heartbeat"):
        for value in ODD:
            clear("run", "q.sql", "-i", "t=t.csv", "--runner", "spark", option, value)
