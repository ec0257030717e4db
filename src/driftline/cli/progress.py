"""How far reading has come: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reading(files: Sequence[str]) -> Iterator[Callable[[int], None] | None]:
    """A function to be told of bytes that have been read, or None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    paths = [Path(file) for file in files]
    known = all(path.is_file() for path in paths)
    total = sum(path.stat().st_size for path in paths) if known else None
    with Progress(
        TextColumn("reading"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("reading", total=total)
        yield lambda count: progress.advance(task, count)
