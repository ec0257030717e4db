"""How far a command has come: a bar or a line on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from driftline.model.time import BEGINNING, INFINITY, show
from driftline.running.progress import RunProgress

if TYPE_CHECKING:
    from rich.console import Console


def progress_line(progress: RunProgress) -> str:
    """A run in one line.

    >>> progress_line(RunProgress(2, 100_000, 51_234.5, 17, 3, 1_200))
    '100,000 events · 51,234/s · answers up to 17 · 3 taken back · 1,200 rows held'
    >>> progress_line(RunProgress())
    '0 events'
    """
    parts = [f"{progress.events:,} event{'' if progress.events == 1 else 's'}"]
    if progress.events_per_second:
        parts.append(f"{int(progress.events_per_second):,}/s")
    if progress.watermark == INFINITY:
        parts.append("all is final")
    elif progress.watermark != BEGINNING:
        parts.append(f"answers up to {show(progress.watermark, progress.timestamps)}")
    if progress.batches:
        parts.append(f"{progress.retractions:,} taken back")
        parts.append(f"{progress.state_rows:,} rows held")
    return " · ".join(parts)


@contextmanager
def drawn(*, unless: bool = False) -> Iterator[Callable[[RunProgress], None] | None]:
    """A function that takes the progress and draws it as one line; None, if stderr is no terminal.

    `unless`: stay quiet all the same, as when the answers themselves go to that terminal.
    """
    if unless or not sys.stderr.isatty():
        yield None
        return
    from rich.text import Text

    started = time.monotonic()
    with _console().status("starting …") as status:

        def draw(progress: RunProgress) -> None:
            if not progress.events_per_second:
                passed = max(time.monotonic() - started, 1e-3)
                progress = replace(progress, events_per_second=progress.events / passed)
            status.update(Text(progress_line(progress)))

        yield draw


@contextmanager
def reading(files: Sequence[str]) -> Iterator[Callable[[int], None] | None]:
    """A function that takes the number of bytes read, or None if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    paths = [Path(file) for file in files]
    known = all(path.is_file() for path in paths)
    total = sum(path.stat().st_size for path in paths) if known else None
    with Bar(
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=_console(),
        transient=True,
    ) as bar:
        task = bar.add_task("reading", total=total)
        yield lambda count: bar.advance(task, count)


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)
