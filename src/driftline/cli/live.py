"""`driftline run --live`: the answer now as a table that is redrawn in place on a terminal.

Above the table stand the clock, how far the answer is final, and how many events have come, how
many of them late, and how many are dead letters. Rows are sorted by their columns; what has come or
changed within the last second is marked. The answer is drawn at most ten times a second. q or
Ctrl-C ends it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from driftline.cli.history import cell
from driftline.cli.now import NowWriter
from driftline.cli.outputs import Answer
from driftline.model.time import BEGINNING, INFINITY, show
from driftline.running.problems import Problem

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, RenderableType

    from driftline.engine.core.batch import Batch
    from driftline.engine.outputs.now_view import NowChanges, NowView
    from driftline.plan.choices import Clock
    from driftline.plan.nodes import Node
    from driftline.running.progress import RunProgress

MARKED = 1.0
"""For so many seconds a row that has come is marked."""
FRAME = 0.1
"""So many seconds pass at least between two drawings."""
MARK = "●"
LINES_AROUND = 8
"""The lines of a terminal that a table leaves to its frame, its header and what stands above."""

Key = tuple[str, ...]


def check_terminal() -> None:
    if not sys.stdout.isatty():
        raise Problem("--live draws on a terminal: take --now for a file or a pipe")


class Live(NowWriter):
    """`marked`: by query, until when each row is marked; `progress`: what stands above;
    `is_whole`: whether all that came with a batch is in, so that what is shown was once true."""

    def __init__(
        self, answers: dict[str, Answer], clocks: Mapping[str, Clock], console: Console
    ) -> None:
        from rich.live import Live as Region

        super().__init__(answers, clocks)
        self.console = console
        self.region = Region(console=console, auto_refresh=False, screen=False)
        self.marked: dict[str, dict[Key, float]] = {name: {} for name in answers}
        self.progress: RunProgress | None = None
        self.drawn_at = -FRAME
        self.is_whole = True

    def add(self, name: str, batch: Batch, now: int) -> None:
        self.is_whole = False
        super().add(name, batch, now)

    def changed(self, answer: Answer, changes: NowChanges) -> None:
        until = time.monotonic() + MARKED
        come = changes.rows.filter(_mask(changes.weight > 0))
        self.marked[answer.name] |= dict.fromkeys(_texts(_first(come, self._room())), until)

    def advanced(self, progress: RunProgress) -> None:
        self.progress, self.is_whole = progress, True
        if time.monotonic() - self.drawn_at >= FRAME:
            self._draw()

    def finish(self) -> None:
        if self.is_whole:  # it is not, if a key has ended it in the middle
            self._draw()

    def _room(self) -> int:
        return max(1, self.console.height // len(self.answers) - LINES_AROUND)

    def _draw(self) -> None:
        from rich.console import Group
        from rich.text import Text

        self.drawn_at = time.monotonic()
        parts: list[RenderableType] = [self._above()]
        for name, view in self.views.items():
            parts.append(Text(_heading(name, view, self.answers[name].plan.timestamps)))
            parts.append(self._table(name, view))
        self.region.update(Group(*parts), refresh=True)

    def _above(self) -> RenderableType:
        from rich.text import Text

        progress = self.progress
        counts = [] if progress is None else [
            _count(progress.events, "event"),
            f"{progress.late:,} late",
            _count(progress.dead_letters, "dead letter"),
        ]  # fmt: skip
        past = sum(view.past for view in self.views.values())
        if past:
            counts.append(f"{_count(past, 'change')} of the past not shown")
        return Text(" · ".join([*counts, "q ends it"]), style="dim")

    def _table(self, name: str, view: NowView) -> RenderableType:
        from rich.box import ROUNDED
        from rich.table import Table
        from rich.text import Text

        shown = view.shown()
        rows = _first(shown, self._room())
        table = Table(box=ROUNDED, header_style="bold")
        table.add_column("")
        for each in shown.schema:
            right = _is_number(each.type)
            table.add_column(Text(each.name), justify="right" if right else "left", overflow="fold")
        now = time.monotonic()
        marked = {key: until for key, until in self.marked[name].items() if until > now}
        self.marked[name] = marked
        for texts in _texts(rows):
            is_new = texts in marked
            table.add_row(
                MARK if is_new else "", *map(Text, texts), style="bold green" if is_new else ""
            )
        if shown.num_rows > rows.num_rows:
            table.caption = f"… and {shown.num_rows - rows.num_rows:,} more"
        return table


@contextmanager
def live(plans: Mapping[str, Node], clocks: Mapping[str, Clock]) -> Iterator[Live]:
    """Draws the answers of the queries while they run."""
    from rich.console import Console

    with ExitStack() as stack:
        made = Live({name: Answer(name, plan) for name, plan in plans.items()}, clocks, Console())
        stack.enter_context(made.region)
        stack.enter_context(_ended_by("q"))
        yield made
        made.finish()


@contextmanager
def _ended_by(key: str) -> Iterator[None]:
    """While this goes on, typing a key is as Ctrl-C, if there is a terminal to type on."""
    try:
        import termios
        import tty
    except ImportError:  # not on this system: Ctrl-C is left
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    threading.Thread(target=_wait_for, args=(keyboard, key), daemon=True).start()
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def _wait_for(keyboard: int, key: str) -> None:
    while typed := os.read(keyboard, 1):
        if typed.lower() == key.encode():
            os.kill(os.getpid(), signal.SIGINT)
            return


def _heading(name: str, view: NowView, timestamps: bool) -> str:
    clock = "not begun" if view.clock == BEGINNING else show(view.clock, timestamps)
    final = {BEGINNING: "nothing is final", INFINITY: "all is final"}
    until = final.get(view.cti, f"final up to {show(view.cti, timestamps)}")
    return f"{name} · now {clock} · {until}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _first(rows: pa.RecordBatch, most: int) -> pa.RecordBatch:
    """The first rows, in the order of their columns."""
    import pyarrow as pa

    names = [
        (place, "ascending")
        for place, each in enumerate(rows.schema)
        if not pa.types.is_nested(each.type)
    ]
    if not names or not rows.num_rows:
        return rows.slice(0, most)
    numbered = pa.table(
        [rows.column(place) for place, _ in names], names=[str(place) for place, _ in names]
    )
    keys = [(str(place), way) for place, way in names]
    order = pa.compute.sort_indices(numbered, sort_keys=keys)
    return rows.take(order.slice(0, most))


def _texts(rows: pa.RecordBatch) -> list[Key]:
    """The rows as they are drawn."""
    from driftline.event_log.text import plain_values

    columns: Sequence[list[str]] = [
        [cell(value) for value in plain_values(column)] for column in rows.columns
    ]
    return list(zip(*columns, strict=True))


def _mask(wanted: object) -> pa.Array:
    import pyarrow as pa

    return pa.array(wanted, pa.bool_())


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
