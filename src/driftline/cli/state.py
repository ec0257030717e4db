"""`driftline state`: what a checkpoint holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.model.time import BEGINNING, INFINITY, show
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.model.prefix import Prefix

_NUMBERS = ("state_rows", "state_bytes", "changes_in", "inserts_out", "retracts_out")
_TIMES = ("oldest", "newest", "watermark")
"""The least and the greatest time that an operator holds, and how far its answers have come."""


def state(place: str) -> None:
    """Draws the operators of a checkpoint, shard by shard; in a pipe as JSON Lines."""
    from driftline.engine.shards.stored import counters_in
    from driftline.spark.checkpoint import Checkpoint
    from driftline.spark.marks import latest

    checkpoint = Checkpoint(place)
    known = checkpoint.read()
    if known is None:
        raise Problem(f"{place}: {_what_else(Path(place))}")
    heads = checkpoint.reported()
    rows = [
        (level, shard, str(key), counters)
        for (level, shard), head in sorted(heads.items())
        for key, counters in counters_in(head).items()
    ]
    if not heads:
        what = "no micro-batch has been completed yet, or its state.json is damaged"
        print(f"driftline: {place}: {what}", file=sys.stderr)
    elif sys.stdout.isatty():
        _draw(known, heads, rows)
        _draw_prefix(latest(checkpoint.place))
    else:
        _print_lines(rows)
        _print_prefix(latest(checkpoint.place))
    if checkpoint.is_closed:
        print(f"driftline: {place} is closed: nothing new can come", file=sys.stderr)


def _what_else(place: Path) -> str:
    """What a path is that is no checkpoint of ours, and what to give instead."""
    from driftline.spark.checkpoint import FILE

    if not place.exists():
        return "there is no such path"
    if not place.is_dir():
        return "it is a file: give the directory that --checkpoint was"
    if (place.parent / FILE).is_file():
        return f"it is a part of a checkpoint: give {place.parent}"
    parts = sorted(path.parent for path in place.glob(f"*/{FILE}"))
    if parts:
        return f"it holds several checkpoints: give one of {', '.join(map(str, parts))}"
    if (place / "metadata").is_file() and (place / "offsets").is_dir():
        return "it is the checkpoint of another query of Spark, not of Driftline"
    return "it is not a checkpoint of a query"


def _print_lines(rows: list[tuple[int, int, str, dict[str, Any]]]) -> None:
    import json

    for level, shard, operator, counters in rows:
        place = {"stage": level, "shard": shard, "operator": operator}
        print(json.dumps({**place, **{k: _time(v) for k, v in counters.items()}}))


def _print_prefix(prefix: Prefix | None) -> None:
    """What the state is the answer for, where that is counted: the last line."""
    import json

    if prefix is not None:
        more = {"files": prefix.files} if prefix.files else {}
        end = {"closed": prefix.closed or list(prefix.ended)}
        line = {"prefix": prefix.events, **more, **(end if end["closed"] else {})}
        print(json.dumps(line, ensure_ascii=False))


def _draw_prefix(prefix: Prefix | None) -> None:
    if prefix is None:
        return
    for name, count in prefix.events.items():
        files = list(prefix.files.get(name, ()))
        of = f" of {len(files):,} file{'s' if len(files) > 1 else ''}" if files else ""
        last = f", the last {files[-1]}" if files else ""
        print(f"{name}: {count:,} rows{of} have been read{last}")


def _time(value: int) -> int | None:
    return None if value == BEGINNING else value


def _draw(
    known: dict[str, Any],
    heads: dict[tuple[int, int], dict[str, Any]],
    rows: list[tuple[int, int, str, dict[str, Any]]],
) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    logged = sum(head["logged"] for head in heads.values())
    size = sum(head["size"] for head in heads.values())
    versions = max((head["version"] for head in heads.values()), default=0)
    console.print(
        f"{known['shards']} shards, {versions} micro-batches, {size:,} bytes in snapshots and "
        f"{logged:,} in logs; emit {known['emit']}, block {known['block']}, remember "
        f"{known['remember']}"
    )
    table = Table(box=None, header_style="bold")
    for name in ("stage", "shard", "operator"):
        table.add_column(name)
    for name in (*_NUMBERS, *_TIMES):
        table.add_column(name.replace("state_", "").replace("_", " "), justify="right")
    stamps = bool(known.get("timestamps"))
    for level, shard, operator, counters in rows:
        table.add_row(
            str(level),
            str(shard),
            operator,
            *(f"{counters[name]:,}" for name in _NUMBERS),
            *(_shown(counters.get(name, BEGINNING), stamps) for name in _TIMES),
        )
    console.print(table)


def _shown(time: int, stamps: bool) -> str:
    if time == BEGINNING:
        return ""
    return show(time, stamps) if stamps or time == INFINITY else f"{time:,}"
