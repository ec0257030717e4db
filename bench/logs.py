"""Makes large event logs to measure with.

python bench/logs.py events.jsonl 1000000
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import orjson

CTI_EVERY = 1_000
RETRACTED_SHARE = 0.1
LATEST = 50
CHUNK = 100_000


def make_log(
    path: str | Path, events: int, seed: int = 1, streams: int = 1, iso_share: float = 0.0
) -> None:
    """Writes a valid log: 10 % retractions, a cti every 1,000 events, events up to 50 ticks late.

    Streams have four columns, the second and further ones others than the first. A share of the
    events may have ISO times, which makes theirs TIMESTAMP streams.
    """
    random = np.random.default_rng(seed)
    open_lifetimes: list[list[tuple[int, dict[str, object]]]] = [[] for _ in range(streams)]
    ctis = [0] * streams
    with Path(path).open("wb") as file:
        for start in range(0, events, CHUNK):
            size = min(CHUNK, events - start)
            draws = random.random((size, 3))
            numbers = random.integers(0, 1_000_000, (size, 3)).tolist()
            lines = []
            for i, (retract, iso, behind) in enumerate(draws.tolist()):
                at = start + i
                which = at % streams
                name = f"s{which}"
                if at % CTI_EVERY >= CTI_EVERY - streams:
                    ctis[which] = max(0, at - LATEST)
                    lines.append({"stream": name, "kind": "cti", "t": ctis[which]})
                    continue
                lifetimes = open_lifetimes[which]
                if retract < RETRACTED_SHARE and lifetimes:
                    vs, row = lifetimes.pop(numbers[i][0] % len(lifetimes))
                    kind = {"kind": "retract", "vs": vs, "ve": None, "vn": max(at, ctis[which], vs)}
                else:
                    vs = max(ctis[which], at - int(behind * LATEST))
                    row = _row(which, numbers[i])
                    kind = {"kind": "insert", "vs": vs, "ve": None}
                    lifetimes.append((vs, row))
                    if len(lifetimes) > 10_000:
                        lifetimes.pop(0)
                if iso < iso_share:
                    for time in ("vs", "vn"):
                        if time in kind:
                            kind[time] = _iso(kind[time])  # type: ignore[arg-type]
                lines.append({"stream": name, **kind, "row": row})
            file.writelines(orjson.dumps(x, option=orjson.OPT_APPEND_NEWLINE) for x in lines)


def _row(which: int, numbers: list[int]) -> dict[str, object]:
    a, b, c = numbers
    if which == 0:
        return {"symbol": f"S{a % 500}", "price": b / 100, "qty": c % 1000, "venue": "XNYS"}
    return {"user": a, "page": f"/p/{b % 1000}", "mobile": c % 2 == 0, "tags": ["x", f"t{c % 9}"]}


def _iso(ticks: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks)).isoformat()


if __name__ == "__main__":
    make_log(sys.argv[1], int(sys.argv[2]), streams=int(sys.argv[3]) if sys.argv[3:] else 1)
