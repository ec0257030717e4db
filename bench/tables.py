"""The tables of bench/README.md, from bench/results.json: `make bench` writes them anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

README = Path(__file__).parent / "README.md"
HEADING = "## The latest tables\n"

Part = dict[str, Any]


def write(results: dict[str, Part]) -> None:
    """Put the tables of all parts into the README."""
    text = README.read_text(encoding="utf-8")
    before = text[: text.index(HEADING) + len(HEADING)]
    parts = [_titled(name, results[name]) for name in _PARTS if name in results]
    README.write_text("\n".join([before, *parts]), encoding="utf-8")


def _titled(name: str, part: Part) -> str:
    return f"### {name}, load {part['load before']} before\n\n{_PARTS[name](part)}"


def _table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(columns)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _engine(part: Part) -> str:
    rows = (
        (
            *name.split(" ", 1), row["driftline M/s"], row["polars M/s"], row["duckdb M/s"],
            f"{row['slower limit / driftline']:.1f}", f"{row['faster limit / driftline']:.1f}",
            row["wrong results"],
        )
        for name, row in part["queries"].items()
    )  # fmt: skip
    columns = (
        "query", "events", "Driftline, M/s", "Polars, M/s", "DuckDB, M/s",
        "slower limit ÷ Driftline", "faster limit ÷ Driftline", "wrong results",
    )  # fmt: skip
    return f"{_table(columns, rows)}\n![million events a second](engine.svg)\n"


def _growth(part: Part) -> str:
    return _table(
        ("query", f"{part['events']:,} events, CPU s", "ten times as many, CPU s", "ratio"),
        (
            (name, f"{row['s']:.2f}", f"{row['ten times s']:.2f}", f"{row['ratio']:.1f}")
            for name, row in part["queries"].items()
        ),
    )


def _memory(part: Part) -> str:
    rows = [(name, row) for name, row in part.items() if isinstance(row, dict)]
    return _table(
        ("query", "CPU s", "state at most, MiB", "peak of the process, MiB"),
        ((name, row["CPU s"], row["state MiB"], row["peak MiB"]) for name, row in rows),
    )


def _logs(part: Part) -> str:
    times = part["times orjson.loads per line"]
    return _table(
        (f"an event log of {part['events']:,} events", "seconds", "× `orjson.loads` per line"),
        ((name, f"{taken:.2f}", times[name]) for name, taken in part["seconds"].items()),
    )


def _files(part: Part) -> str:
    columns = (
        f"{part['events']:,} late events from", "Driftline, s", "after start-up, s", "DuckDB, s",
        "after start-up ÷ DuckDB", "wrong results",
    )  # fmt: skip
    small = (
        f"A run over six lines takes {part['six lines, CPU s']:.2f} s of CPU, "
        f"{part['six lines, s']:.2f} s from start to end.\n"
    )
    return f"{_table(columns, part['rows'])}\n{small}"


def _spark(part: Part) -> str:
    rows = []
    for row in part["rows"]:
        ours, spark = row["driftline"], row["spark"]
        rows.append(
            (
                row["query"], row["version"], f"{row['size']:,}", f"{ours:,}",
                "–" if spark is None else f"{spark:,}",
                "–" if spark is None else f"{ours / spark:.2f}",
                f"{row['local'] / ours:.1f}", row["wrong"],
                "–" if spark is None else row["spark wrong"],
            )
        )  # fmt: skip
    columns = (
        "query", "events", "rows per micro-batch", "Driftline, events/s", "Spark's own, events/s",
        "Driftline ÷ Spark", "local ÷ Driftline", "wrong: Driftline", "wrong: Spark",
    )  # fmt: skip
    taken = _table(("", "seconds"), part["seconds"].items())
    return f"{_table(columns, rows)}\n{taken}"


def _first(part: Part) -> str:
    table = _table(("", "median, s", "runs, s"), part["rows"])
    return f"{table}\ndriftline run ÷ plain PySpark: {part['ratio']}\n"


def _held(part: Part) -> str:
    return _table(
        (
            "query", "200,000 rows held, s", "2,000,000 rows held, s", "ratio",
            "slowest of the latter, s",
        ),
        (
            (row["query"], row["few"], row["many"], row["ratio"], row["slowest"])
            for row in part["rows"]
        ),
    )  # fmt: skip


def _time(part: Part) -> str:
    speeds = _table((f"{part['events']:,} arrivals", "million arrivals/s"), part["M/s"].items())
    groups = _table(
        (
            "200 sensors in", "million arrivals/s", "state, KiB", "mean delay, ms",
            "delay of the stream, ms",
        ),
        ((name, *row.values()) for name, row in part["groups"].items()),
    )  # fmt: skip
    targets = list(next(iter(part["guesses"].values())))
    guesses = _table(
        ("guesses for", *(f"late of {float(each):.1%}, × the best lag" for each in targets)),
        (
            (name, *(f"{cell['late']:.3%}, {cell['ratio']:.2f}" for cell in row.values()))
            for name, row in part["guesses"].items()
        ),
    )
    return f"{speeds}\n{groups}\n{guesses}"


def _holding(part: Part) -> str:
    return _table(
        ("heartbeats of", "rows waiting", "rows held by joins", "state, MiB", "ms to an answer"),
        (
            (name, f"{waiting:,}", f"{held:,}", f"{size:.1f}", f"{latency:.0f}")
            for name, (waiting, held, size, latency) in part["levels"].items()
        ),
    )


def _schedulers(part: Part) -> str:
    return _table(
        (
            f"{part['events']:,} events", "drain, M/s", "round-robin, M/s", "threads, M/s",
            "threads ÷ drain",
        ),
        (
            (name, *speeds.values(), f"{speeds['threads'] / speeds['drain']:.2f}")
            for name, speeds in part["M/s"].items()
        ),
    )  # fmt: skip


def _marks(part: Part) -> str:
    return _table(
        (
            f"{part['events']:,} events, batches of {part['batch']}", "throughput ÷ without",
            "latency, ms", "to the next mark, ms", "cumulative, ms", "state ÷ without",
            "outputs from mark to mark: median, greatest",
        ),
        ((name, *row.values()) for name, row in part["rows"].items()),
    )  # fmt: skip


def _now(part: Part) -> str:
    columns = (
        "query, rate", "expiry", "positive", "negative", "marks", "events ÷ ita",
        "average delay, ms", "greatest delay, ms",
    )  # fmt: skip
    simulated = _table(
        columns,
        (
            (name, expiry, *(f"{value:,.2f}" for value in row.values()))
            for name, policies in part["rows"].items()
            for expiry, row in policies.items()
        ),
    )
    speeds = part["join M/s"]
    joins = (
        (expiry, f"{speed:.2f}", f"{speed / speeds['nta']:.2f}") for expiry, speed in speeds.items()
    )
    return f"{simulated}\n{_table(('join of Q2', 'million tuples/s', '÷ nta'), joins)}"


def _automata(part: Part) -> str:
    rates = {name: part["tosses"] / part[name] for name in ("operator", "loop")}
    rows = (
        (name, f"{rate:,.0f}", f"{rates['operator'] / rate:.1f}") for name, rate in rates.items()
    )
    return _table(("W query", "tosses a CPU second", "operator ÷ this"), rows)


def _progress(part: Part) -> str:
    columns = (
        f"{part['tosses']:,} tosses", "method", "lag", "lag ÷ probing's", "speculative",
        "speculative ÷ hwm's", "definite", "join rows", "longest silence", "turns",
    )  # fmt: skip
    rows = (
        (
            name, method, f"{each['lag']:.2f}", f"{each['lag'] / found['probing']['lag']:.2f}",
            f"{each['speculative']:,}",
            f"{each['speculative'] / found['hwm']['speculative']:.2f}", f"{each['definite']:,}",
            f"{each['join_rows']:,.0f}", f"{each['silence']:,}", f"{each['turns']:,}",
        )
        for name, found in part["found"].items()
        for method, each in found.items()
    )  # fmt: skip
    return _table(columns, rows)


def _beside_local(part: Part) -> str:
    rows = (
        (name, part["rows"] / part[name], part[name] / part["local"]) for name in ("spark", "local")
    )
    return _table(
        ("runner", "rows a second", "seconds ÷ local"),
        ((name, f"{rate:,.0f}", f"{ratio:.2f}") for name, rate, ratio in rows),
    )


def _patterns(part: Part) -> str:
    names = {"in_order": "A in order", "late": "B late", "tenth": "B late, a tenth"}
    rows = (
        (
            name, f"{part[run]['events']:,}", f"{part[run]['seconds']:.2f}",
            f"{part[run]['events'] / part[run]['seconds']:,.0f}", part[run]["missing"],
            part[run]["wrong"], f"{part[run]['state_mib']:.1f}",
        )
        for run, name in names.items()
    )  # fmt: skip
    columns = ("DOWN+ UP", "events", "CPU s", "events/s", "missing", "false", "state, MiB")
    return _table(columns, rows)


def _loops(part: Part) -> str:
    afresh = part["duckdb"]
    reached = _table(
        (
            f"{part['edges']:,} edges, {part['reached']:,} rows reached, "
            f"{part['row_bytes']:.0f} bytes a row",
            "CPU s",
            "÷ DuckDB",
        ),
        ((name, f"{seconds:.3f}", f"{seconds / afresh:.3f}") for name, seconds in part["rows"]),
    )
    closure = _table(
        ("closure of edges that expire", "CPU ms an edge", "rows held", "MiB held"),
        (
            (f"tenth {number}", f"{cost:.2f}", f"{rows:,}", f"{held / 2**20:.1f}")
            for number, (cost, rows, held) in enumerate(part["tenths"], 1)
        ),
    )
    return f"{reached}\nA level of a chain costs {part['level']:.0f} µs.\n\n{closure}"


def _soak(part: Part) -> str:
    runs = _table(
        ("run", "memory MiB", "checkpoint MiB", "micro-batch s"),
        (
            (str(number), f"{memory / 2**20:,.0f}", f"{checkpoint / 2**20:.1f}", f"{batch:.2f}")
            for number, (memory, checkpoint, batch) in enumerate(part["runs"], 1)
        ),
    )
    return (
        f"{runs}\n{part['seconds']:.0f} s, {part['kills']} kills, {part['windows']} whole windows, "
        f"{part['rows']:,} rows, each once.\n"
    )


def _distances(part: Part) -> str:
    rows = (
        ("all at once", "at_once"),
        (f"{part['changes']} changes", "batch"),
        ("DuckDB", "duckdb"),
    )
    return _table(
        (f"shortest distances, {part['edges']:,} edges", "CPU s", "÷ DuckDB"),
        ((name, f"{part[of]:.3f}", f"{part[of] / part['duckdb']:.3f}") for name, of in rows),
    )


_PARTS: dict[str, Callable[[Part], str]] = {
    "engine": _engine,
    "growth": _growth,
    "memory": _memory,
    "logs": _logs,
    "files": _files,
    "spark": _spark,
    "first": _first,
    "held": _held,
    "time": _time,
    "holding": _holding,
    "schedulers": _schedulers,
    "marks": _marks,
    "loops": _loops,
    "distances": _distances,
    "now": _now,
    "spark-loops": _beside_local,
    "spark-patterns": _beside_local,
    "automata": _automata,
    "progress": _progress,
    "patterns": _patterns,
    "soak": _soak,
}
