import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.run import COMMAND, Ran, driftline, driftline_on_a_terminal

TRADES = "CREATE STREAM trades (symbol STRING, qty INT);\n"
TIMED = "CREATE STREAM trades (symbol STRING, qty INT, ts TIMESTAMP) WITH (time = 'ts');\n"
TOTALS = "SELECT symbol, sum(qty) AS qty FROM trades GROUP BY symbol;\n"


def insert(vs: int, symbol: str, qty: int, stream: str = "trades") -> dict[str, object]:
    row = {"symbol": symbol, "qty": qty}
    return {"stream": stream, "kind": "insert", "vs": vs, "ve": None, "row": row}


EVENTS = [insert(1, "A", 2), insert(5, "A", 3), insert(3, "B", 7)]


def lines(*items: object) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.sql").write_text(TRADES + TOTALS)
    (tmp_path / "timed.sql").write_text(TIMED + TOTALS)
    (tmp_path / "in.jsonl").write_text(lines(*EVENTS))
    return tmp_path


def run(folder: Path, *arguments: str | Path, stdin: bytes = b"") -> Ran:
    return driftline("run", folder / "q.sql", *arguments, stdin=stdin)


def read(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_event_log_in_and_one_out(folder: Path) -> None:
    ran = run(folder, "--input", folder / "in.jsonl", "--output", folder / "out.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    events = read((folder / "out.jsonl").read_text())
    assert {event["stream"] for event in events} == {"result"}
    assert events[-1] == {"stream": "result", "kind": "cti", "t": None}
    assert driftline("check", folder / "out.jsonl").code == 0


def test_standard_input_and_output(folder: Path) -> None:
    ran = run(folder, "--input", "-", stdin=lines(*EVENTS).encode())
    assert ran.out == run(folder, "--input", folder / "in.jsonl").out
    assert ran.code == 0


def test_a_script_from_standard_input(folder: Path) -> None:
    script = (TRADES + TOTALS).encode()
    ran = driftline("run", "-", "--input", folder / "in.jsonl", stdin=script)
    assert ran.out == run(folder, "--input", folder / "in.jsonl").out


def test_the_output_of_a_query_is_the_input_of_another(folder: Path) -> None:
    run(folder, "--input", folder / "in.jsonl", "--output", folder / "out.jsonl", "--batch", "1")
    (folder / "next.sql").write_text(
        "CREATE STREAM result (symbol STRING, qty BIGINT); SELECT sum(qty) AS all FROM result"
    )
    ran = driftline("run", folder / "next.sql", "-i", folder / "out.jsonl", "--table")
    assert read(ran.out) == [
        {"vs": 1, "ve": 3, "row": {"all": 2}},
        {"vs": 3, "ve": 5, "row": {"all": 9}},
        {"vs": 5, "ve": None, "row": {"all": 12}},
    ]


def test_a_table(folder: Path) -> None:
    ran = run(folder, "--input", folder / "in.jsonl", "--table")
    assert ran.out == (
        '{"vs":1,"ve":5,"row":{"symbol":"A","qty":2}}\n'
        '{"vs":3,"ve":null,"row":{"symbol":"B","qty":7}}\n'
        '{"vs":5,"ve":null,"row":{"symbol":"A","qty":5}}\n'
    )


def test_a_table_on_a_terminal_is_drawn(folder: Path) -> None:
    shown = driftline_on_a_terminal("run", folder / "q.sql", "-i", folder / "in.jsonl", "--table")
    assert "│  3 │  ∞ │ B      │   7 │" in shown


def test_keep_open(folder: Path) -> None:
    ran = run(folder, "--input", folder / "in.jsonl", "--keep-open")
    assert not [event for event in read(ran.out) if event["kind"] == "cti"]


@pytest.mark.parametrize(
    ("arguments", "retracts"),
    [
        (["--emit", "eager"], True),
        (["--emit", "perfect", "--block", "inf"], False),
    ],
)
def test_consistency(folder: Path, arguments: list[str], retracts: bool) -> None:
    ran = run(folder, "--input", folder / "in.jsonl", "--batch", "1", *arguments)
    assert any(event["kind"] == "retract" for event in read(ran.out)) == retracts


def test_the_command_line_goes_before_set(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SET emit = perfect; SET block = inf;" + TOTALS)
    arguments = ["--input", str(folder / "in.jsonl"), "--batch", "1"]
    assert "retract" not in run(folder, *arguments).out
    assert "retract" in run(folder, *arguments, "--emit", "eager", "--block", "0").out


def test_late_events_are_counted_and_collected(folder: Path) -> None:
    log = folder / "late.jsonl"
    log.write_text(
        lines(EVENTS[0], {"stream": "trades", "kind": "cti", "t": 4}, EVENTS[2], EVENTS[1])
    )
    ran = run(folder, "--input", log)
    assert ran.code == 0
    assert "1 event of trades came too late or is invalid" in ran.err
    assert "--dead-letters FILE" in ran.err
    ran = run(folder, "--input", log, "--dead-letters", folder / "dead.jsonl")
    assert f"in {folder / 'dead.jsonl'}" in ran.err
    [letter] = read((folder / "dead.jsonl").read_text())
    assert (letter["source"], letter["line"]) == (str(log), 3)
    assert letter["reason"] == "too late: its sync time 3 is before the watermark 4"
    assert letter["event"] == EVENTS[2]


def test_lines_that_are_no_events(folder: Path) -> None:
    log = folder / "bad.jsonl"
    log.write_text(lines(EVENTS[0]) + "{oops\n" + lines(EVENTS[1]))
    ran = run(folder, "--input", log, "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{log}:2: malformed JSON")
    ran = run(folder, "--input", log, "--dead-letters", folder / "dead.jsonl", "--table")
    assert ran.code == 0
    assert f"1 record could not be read: in {folder / 'dead.jsonl'}\n" in ran.err
    assert f"driftline: {log}:2: malformed JSON" in ran.err
    assert len(read(ran.out)) == 2
    assert read((folder / "dead.jsonl").read_text())[0]["line"] == 2


RECORDS = [
    {"symbol": "A", "qty": 2, "ts": "2024-05-01T09:30:00Z"},
    {"symbol": "A", "qty": 3, "ts": "2024-05-01T09:31:00Z"},
]


def write_records(folder: Path, form: str) -> Path:
    path = folder / f"trades.{form}"
    if form == "jsonl":
        path.write_text(lines(*RECORDS))
    elif form == "csv":
        rows = [",".join(map(str, record.values())) for record in RECORDS]
        path.write_text("\n".join([",".join(RECORDS[0]), *rows]) + "\n")
    else:
        pq.write_table(pa.Table.from_pylist(RECORDS), path)
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("named", [True, False])
def test_plain_records(folder: Path, form: str, named: bool) -> None:
    path = write_records(folder, form)
    given = f"trades={path}" if named else str(path)
    ran = driftline("run", folder / "timed.sql", "--input", given, "--table")
    assert ran.err == ""
    assert read(ran.out) == [
        {
            "vs": "2024-05-01T09:30:00Z",
            "ve": "2024-05-01T09:31:00Z",
            "row": {"symbol": "A", "qty": 2},
        },
        {"vs": "2024-05-01T09:31:00Z", "ve": None, "row": {"symbol": "A", "qty": 5}},
    ]


def test_plain_records_from_standard_input(folder: Path) -> None:
    ran = driftline(
        "run", folder / "timed.sql", "-i", "trades=-", "--table", stdin=lines(*RECORDS).encode()
    )
    assert len(read(ran.out)) == 2


def test_late_plain_records(folder: Path) -> None:
    script = TIMED.replace("'ts')", "'ts', disorder = '10s')") + TOTALS
    (folder / "timed.sql").write_text(script)
    path = folder / "trades.jsonl"
    path.write_text(lines(*reversed(RECORDS)))
    dead = folder / "dead.jsonl"
    ran = driftline(
        "run", folder / "timed.sql", "--input", path, "--batch", "1", "--dead-letters", dead
    )
    assert "1 event of trades" in ran.err
    [letter] = read(dead.read_text())
    assert letter["line"] == 2


def test_several_logs(folder: Path) -> None:
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    first.write_text(lines(*EVENTS[:2]))
    second.write_text(lines(*EVENTS[2:]))
    ran = run(folder, "--input", first, "--input", second, "--table")
    assert ran.out == run(folder, "--input", folder / "in.jsonl", "--table").out


def test_several_streams_in_one_log_and_in_several(folder: Path) -> None:
    (folder / "q.sql").write_text(
        TRADES
        + "CREATE STREAM limits (symbol STRING, qty INT);"
        + "SELECT t.symbol, t.qty FROM trades t JOIN limits l ON t.symbol = l.symbol "
        + "AND t.qty > l.qty"
    )
    limits = insert(1, "A", 2, stream="limits")
    both, one, other = folder / "both.jsonl", folder / "one.jsonl", folder / "other.jsonl"
    both.write_text(lines(limits, *EVENTS))
    one.write_text(lines(*EVENTS))
    other.write_text(lines(limits))
    ran = run(folder, "--input", both, "--table")
    assert read(ran.out) == [{"vs": 5, "ve": None, "row": {"symbol": "A", "qty": 3}}]
    assert run(folder, "-i", one, "-i", other, "--table").out == ran.out
    assert run(folder, "-i", one, "-i", f"limits={other}", "--table").out == ran.out
    alone = run(folder, "-i", one, "--table")
    assert (alone.code, alone.out) == (0, "")
    assert "no input holds events of the stream limits: it is taken as empty" in alone.err


def test_several_queries(folder: Path) -> None:
    (folder / "q.sql").write_text(
        TRADES
        + "CREATE STREAM big AS SELECT * FROM trades WHERE qty > 2;"
        + "SET emit = eager; CREATE STREAM n AS SELECT count(*) AS n FROM big;"
    )
    ran = run(folder, "--input", folder / "in.jsonl")
    assert {event["stream"] for event in read(ran.out)} == {"big", "n"}
    table = run(folder, "--input", folder / "in.jsonl", "--table")
    assert [line["stream"] for line in read(table.out)] == ["big", "big", "n", "n"]
    ran = run(folder, "--input", folder / "in.jsonl", "--output", f"{folder}/out/")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["big.parquet", "n.parquet"]
    rows = pq.read_table(folder / "out" / "big.parquet").to_pylist()
    assert rows[0] == {
        "kind": "insert", "vs": 3, "ve": None, "vn": None, "symbol": "B", "qty": 7,
    }  # fmt: skip
    assert rows[-1]["kind"] == "cti"
    assert "one query only" in run(folder, "-i", folder / "in.jsonl", "-o", folder / "x.csv").err


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl.gz", "ndjson"])
@pytest.mark.parametrize("table", [True, False])
def test_output_formats(folder: Path, form: str, table: bool) -> None:
    path = folder / f"out.{form}"
    wanted = ["--table"] if table else []
    ran = run(folder, "--input", folder / "in.jsonl", "--output", path, *wanted)
    assert (ran.code, ran.err) == (0, "")
    if form == "csv":
        assert path.read_text().startswith('"vs","ve"' if table else '"kind","vs","ve","vn"')
    elif form == "parquet":
        assert pq.read_table(path).num_rows == (3 if table else 4)
    elif not table:
        assert driftline("check", path).code == 0


def test_times_of_a_timestamp_stream_in_parquet(folder: Path) -> None:
    path = write_records(folder, "csv")
    out = folder / "out.parquet"
    driftline("run", folder / "timed.sql", "--input", path, "--output", out, "--table")
    assert pq.read_table(out).schema.field("vs").type == pa.timestamp("us", "UTC")


def test_a_broken_pipe_is_no_error(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "run", folder / "q.sql", "--input", folder / "in.jsonl"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_mistake_in_the_script(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SELECT symbl\nFROM trades")
    ran = run(folder, "--input", folder / "in.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"{folder / 'q.sql'}:2:8: there is no column symbl; did you mean symbol?\n"
        "SELECT symbl\n"
        "       ^\n"
    )


def test_a_query_that_the_engine_cannot_run(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SELECT count_min_sketch(qty) AS m FROM trades")
    ran = run(folder, "--input", folder / "none.jsonl")  # refused before any input is read
    assert ran.code == 2
    assert ran.err.startswith(f"{folder / 'q.sql'}:2:8: ")
    assert "count_min_sketch" in ran.err.splitlines()[0]


def test_an_expression_that_fails_on_the_data(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SELECT 1 / (qty - 2) AS x FROM trades")
    ran = run(folder, "--input", folder / "in.jsonl", "--output", folder / "out.jsonl")
    assert ran.code == 2
    assert ran.err.startswith("driftline: [DIVIDE_BY_ZERO]")
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--input", "none.jsonl"], "none.jsonl: there is no such file"),
        (["--input", "limits=in.jsonl"], "the query reads no stream limits"),
        (["--input", "in.txt"], "in.txt"),
        (["--input", "in.jsonl", "--output", "out.txt"], "the format is inferred from"),
        (["--input", "in.jsonl", "--output", "no/out.jsonl"], "there is no directory no"),
        (["--input", "in.jsonl", "--dead-letters", "no/d.jsonl"], "there is no directory no"),
        (["--input", "in.jsonl", "--time-chart", "no/c.svg"], "there is no directory no"),
        (["--input", "in.jsonl", "--block", "2s"], "block: '2s' is a time span"),
        (["--input", "in.jsonl", "--remember", "x"], "remember: "),
        (["--input", "in.jsonl", "--batch", "0"], "Invalid value"),
        (["--input", "in.jsonl", "--checkpoint", "c"], "--checkpoint, --master and --conf are for"),
        (["--input", "-", "--input", "-"], "standard input can be one input only"),
        (["--input", "plain.jsonl"], "holds plain records, which need a time"),
        ([], "the query reads the stream trades: give --input"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], complaint: str
) -> None:
    (folder / "in.txt").touch()
    (folder / "plain.jsonl").write_text(lines({"symbol": "A", "qty": 1}))
    monkeypatch.chdir(folder)
    ran = run(folder, *arguments)
    assert (ran.code, ran.out) == (2, "")
    [line] = ran.err.splitlines()
    assert complaint in line


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("", "there is no query to run, it is empty"),
        (TRADES, "there is no query to run, it only declares"),
    ],
)
def test_a_script_without_a_query(folder: Path, script: str, complaint: str) -> None:
    (folder / "q.sql").write_text(script)
    ran = run(folder, "--input", folder / "in.jsonl")
    assert ran.code == 2
    assert complaint in ran.err


def test_order_without_limit_is_remarked_on(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SELECT symbol FROM trades ORDER BY symbol")
    ran = run(folder, "--input", folder / "in.jsonl")
    assert ran.code == 0
    assert "ORDER BY without LIMIT has no effect" in ran.err


def test_columns_that_the_log_does_not_have_are_null(folder: Path) -> None:
    (folder / "q.sql").write_text(
        "CREATE STREAM trades (symbol STRING, note STRING, ts TIMESTAMP) WITH (time = 'ts');"
        "SELECT symbol, note, ts FROM trades"
    )
    ran = run(folder, "--input", folder / "in.jsonl", "--table")
    assert read(ran.out)[0]["row"] == {"symbol": "A", "note": None, "ts": None}
    assert ran.err == "driftline: no row of trades has a column note: it is null\n"


@pytest.mark.parametrize(
    ("column", "output", "said"),
    [
        ("map(array(qty), 1)", "-", "which an event log cannot hold"),
        ("array(qty)", "out.csv", "m is a ARRAY<INT>, which CSV cannot hold"),
        ("INTERVAL 1 DAY", "out.csv", "m is a INTERVAL DAY TO SECOND, which CSV cannot hold"),
    ],
)
def test_columns_that_the_output_cannot_hold(
    folder: Path, column: str, output: str, said: str
) -> None:
    (folder / "q.sql").write_text(TRADES + f"SELECT {column} AS m FROM trades")
    output = output if output == "-" else str(folder / output)
    ran = run(folder, "--input", folder / "in.jsonl", "--output", output)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert run(folder, "-i", folder / "in.jsonl", "-o", folder / "out.parquet").code == 0


def test_an_empty_log(folder: Path) -> None:
    (folder / "empty.jsonl").touch()
    ran = run(folder, "--input", folder / "empty.jsonl")
    assert (ran.code, ran.out) == (0, '{"stream":"result","kind":"cti","t":null}\n')


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("qty", "abc", "'abc' in the column qty is not an INT"),
        ("qty", "20.5", "'20.5' in the column qty is not an INT"),
        ("ts", "yesterday", "'yesterday' in the column ts is not a TIMESTAMP"),
    ],
)
def test_values_that_do_not_fit_are_named(folder: Path, column: str, value: str, said: str) -> None:
    row = {"symbol": "A", "qty": "2", "ts": "2026-01-01T00:00:00Z", column: value}
    (folder / "in.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    given = ("run", folder / "timed.sql", "-i", f"trades={folder / 'in.csv'}")
    ran = driftline(*given, "--strict")
    assert (ran.code, ran.out, ran.err) == (2, "", f"{folder / 'in.csv'}:2: {said}\n")
    ran = driftline(*given)
    assert (ran.code, ran.out) == (0, '{"stream":"result","kind":"cti","t":null}\n')
    assert f"driftline: {folder / 'in.csv'}:2: {said}\n" in ran.err


def test_a_duration_without_a_unit_is_refused_where_time_is_a_timestamp(folder: Path) -> None:
    (folder / "in.csv").write_text("symbol,qty,ts\nA,1,2026-01-01T00:00:00Z\n")
    given = ("run", folder / "timed.sql", "-i", f"trades={folder / 'in.csv'}")
    ran = driftline(*given, "--remember", "5")
    assert (ran.code, ran.err) == (
        2,
        "driftline: remember: '5' has no unit: write '5s', '2 min' or '1h'\n",
    )
    assert driftline(*given, "--remember", "0", "--block", "0").code == 0
    assert run(folder, "--input", folder / "in.jsonl", "--remember", "5").code == 0


@pytest.mark.parametrize(
    "header", ["Symbol,QTY,Ts", " symbol ,qty , ts", "\ufeffsymbol,qty,ts,more"]
)
def test_headers_in_any_case_and_with_blanks(folder: Path, header: str) -> None:
    (folder / "in.csv").write_text(
        f"{header}\n007,5,2026-01-01T00:00:00Z{',x' if 'more' in header else ''}\n"
    )
    ran = driftline("run", folder / "timed.sql", "-i", f"trades={folder / 'in.csv'}", "--table")
    assert read(ran.out)[0]["row"] == {"symbol": "007", "qty": 5}, ran.err


def test_a_header_with_the_same_column_twice(folder: Path) -> None:
    (folder / "in.csv").write_text("symbol,qty,symbol,ts\nA,5,B,2026-01-01T00:00:00Z\n")
    ran = driftline("run", folder / "timed.sql", "-i", f"trades={folder / 'in.csv'}")
    assert ran.code == 2
    assert "there are two columns symbol" in ran.err


def test_a_query_whose_name_is_no_name_of_a_file(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "CREATE STREAM `../x` AS SELECT symbol FROM trades")
    ran = run(folder, "-i", folder / "in.jsonl", "-o", f"{folder}/out/")
    assert ran.code == 2
    assert (
        ran.err == "driftline: --output: the query ../x cannot be the name of a file: rename it\n"
    )
    assert not (folder / "x.parquet").exists()


def test_timestamps_are_not_taken_for_numbers(folder: Path) -> None:
    event = {**insert(1, "A", 2), "vs": "2026-01-01T00:00:00Z"}
    (folder / "in.jsonl").write_text(lines(event))
    ran = run(folder, "-i", folder / "in.jsonl")
    assert ran.code == 2
    assert "the times of trades are timestamps, and the query takes them for numbers" in ran.err
    declared = "CREATE STREAM trades (symbol STRING, qty INT) WITH (timestamps = true);\n"
    (folder / "q.sql").write_text(declared + TOTALS)
    assert run(folder, "-i", folder / "in.jsonl").code == 0


def test_plain_records_in_json_that_are_hard_to_read(folder: Path) -> None:
    script = "CREATE STREAM s (k STRING, note STRING, t INT) WITH (time = 't', disorder = 0);\n"
    (folder / "q.sql").write_text(script + "SELECT k FROM s")
    (folder / "s.jsonl").write_text(
        '{"k":"2024-01-01","t":1}\n\n{"k":\n{"K":5,"t":9}\n{"k":"late","t":3}\n'
    )
    ran = run(folder, "-i", folder / "s.jsonl", "--table", "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert f"{folder}/s.jsonl:3: malformed JSON" in ran.err
    dead = folder / "dead.jsonl"
    ran = run(folder, "-i", folder / "s.jsonl", "--table", "--dead-letters", dead)
    assert [event["row"] for event in read(ran.out)] == [{"k": "2024-01-01"}, {"k": "5"}]
    assert "no row of s has a column note: it is null" in ran.err
    assert [letter["line"] for letter in read(dead.read_text())] == [3, 5]


def test_a_row_without_columns(folder: Path) -> None:
    event = {"stream": "trades", "kind": "insert", "vs": 1, "ve": None, "row": {}}
    (folder / "in.jsonl").write_text(lines(event))
    (folder / "q.sql").write_text(TRADES + "SELECT symbol FROM trades")
    ran = run(folder, "-i", folder / "in.jsonl", "--table")
    assert read(ran.out) == [{"vs": 1, "ve": None, "row": {"symbol": None}}]


def test_numbers_that_json_does_not_have_go_through_logs(folder: Path) -> None:
    (folder / "q.sql").write_text(
        TRADES + "CREATE STREAM odd AS SELECT CAST('NaN' AS DOUBLE) AS d, CAST('1.10' AS "
        "DECIMAL(30,2)) AS m, map('k', 1) AS o, unhex('00FF') AS b FROM trades"
    )
    ran = run(folder, "-i", folder / "in.jsonl", "-o", folder / "odd.jsonl")
    assert (ran.code, ran.err) == (0, "")
    written = [each for each in read((folder / "odd.jsonl").read_text()) if "row" in each]
    assert written[0]["row"] == {"d": "NaN", "m": 1.10, "o": {"k": 1}, "b": "AP8="}
    assert '"m":1.10,' in (folder / "odd.jsonl").read_text()
    (folder / "q.sql").write_text(
        "CREATE STREAM odd (d DOUBLE, m DECIMAL(30,2), o MAP<STRING, INT>, b BINARY);"
        "SELECT isnan(d) AS n, m, o['k'] AS k, hex(b) AS b FROM odd"
    )
    ran = run(folder, "-i", folder / "odd.jsonl", "--table")
    assert read(ran.out)[0]["row"] == {"n": True, "m": 1.10, "k": 1, "b": "00FF"}


def test_dates_are_written_as_dates(folder: Path) -> None:
    (folder / "q.sql").write_text(TRADES + "SELECT DATE '2024-05-01' AS d FROM trades")
    ran = run(folder, "-i", folder / "in.jsonl", "--table")
    assert read(ran.out)[0]["row"] == {"d": "2024-05-01"}


def test_a_script_may_have_rows_of_its_own_and_no_input(tmp_path: Path) -> None:
    query = tmp_path / "q.sql"
    query.write_text("SELECT y FROM (VALUES (1, 'a'), (2, 'b')) AS v(x, y) WHERE x > 1;")
    ran = driftline("run", query, "--runner", "local", "--table")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["row"] == {"y": "b"}


@pytest.mark.parametrize("how", [[], ["--runner", "local", "--batch", "1"]])
def test_csv_from_standard_input(folder: Path, how: list[str]) -> None:
    script = folder / "records.sql"
    script.write_text(
        "CREATE STREAM t (k STRING, ts BIGINT) WITH (time = 'ts');"
        "SELECT k, count(*) AS n FROM t GROUP BY k;"
    )
    text = b'\xef\xbb\xbfts,k\n1,"a\nb"\n2,c\nx,c\n3,c\n'
    ran = driftline("run", script, "-i", "t=-", "--table", *how, stdin=text)
    assert ran.code == 0
    assert [json.loads(line)["row"]["n"] for line in ran.out.splitlines()] == [1, 1, 2]
    assert "<stdin>:5: 'x' in the column ts is not a BIGINT" in ran.err


def test_a_query_on_the_command_line(folder: Path) -> None:
    declared = folder / "streams.sql"
    declared.write_text("CREATE STREAM t (k STRING, ts BIGINT) WITH (time = 'ts')")
    asked = ["-i", "t=-", "-c", "SELECT k FROM t WHERE ts > 1", "--table", "--runner", "local"]
    ran = driftline("run", declared, *asked, stdin=b"ts,k\n1,a\n2,b\n")
    assert [json.loads(line)["row"] for line in ran.out.splitlines()] == [{"k": "b"}]
    alone = driftline("run", "-c", "SELECT 1 AS x", "--table", "--runner", "local")
    assert [json.loads(line)["row"] for line in alone.out.splitlines()] == [{"x": 1}]
    wrong = driftline("run", declared, "-c", "SELECT kk FROM t", "--runner", "local")
    assert wrong.err.startswith(f"{declared}:2:8: ")
    nothing = driftline("run", "--runner", "local")
    assert nothing.err == "driftline: give the file of a script, or a query: -c 'SELECT …'\n"
    assert driftline("explain", declared, "-c", "SELECT k FROM t").out.startswith("result: ")
