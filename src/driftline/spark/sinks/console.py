"""Results drawn on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from driftline.event_log.text import plain_values, visible
from driftline.model.time import BEGINNING, show
from driftline.spark.views import ViewName, view_of

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console as RichConsole
    from rich.text import Text

    from driftline.model.prefix import Prefix
    from driftline.spark.update import SparkUpdate

ROWS = 20
"""How many rows of each result are drawn; the rest is counted."""


class Console:
    """Draws every micro-batch that changes a result. `console`: Rich's, if not a new one."""

    def __init__(
        self, view: ViewName = "changes", *, rows: int = ROWS, console: RichConsole | None = None
    ) -> None:
        from rich.console import Console as RichConsole

        self.view, self.rows = view_of(view), rows
        self.console = RichConsole() if console is None else console

    def __call__(self, update: SparkUpdate) -> None:
        for name, batch in update.batches.items():
            table = self.view(update.micro_batch(name))
            if table.num_rows:
                stamps = name in update.timestamps
                until = "" if batch.cti == BEGINNING else f", final up to {show(batch.cti, stamps)}"
                read = "" if update.prefix is None else f", for {counted(update.prefix)}"
                self._draw(f"{name}, micro-batch {update.batch_id}{until}{read}", table)
        for name, letters in update.dead_letters.items():
            if len(letters):
                reason = letters.reasons(name in update.timestamps)[0]
                said = f"{name}: {len(letters)} dead, the first: {reason}"
                self.console.print(visible(said), markup=False, highlight=False)

    def _draw(self, title: str, table: pa.Table) -> None:
        from rich.box import ROUNDED
        from rich.table import Table
        from rich.text import Text

        self.console.print(Text(title, style="italic"), soft_wrap=True)  # which may be wider
        drawn = Table(box=ROUNDED, header_style="bold")
        for field in table.schema:
            drawn.add_column(Text(field.name), justify=_justify(field.type), overflow="fold")
        columns = [plain_values(column) for column in table.slice(0, self.rows).columns]
        for row in zip(*columns, strict=True):
            drawn.add_row(*_cells(row))
        self.console.print(drawn)
        if table.num_rows > self.rows:
            self.console.print(f"… and {table.num_rows - self.rows} more rows")


def counted(prefix: Prefix) -> str:
    """A prefix in words.

    >>> from driftline.model.prefix import Prefix
    >>> counted(Prefix({"orders": 1200, "payments": 3}))
    '1,200 rows of orders, 3 of payments'
    """
    rows = (f"{count:,} of {name}" for name, count in prefix.events.items())
    return ", ".join(rows).replace(" of ", " rows of ", 1)


def _justify(kind: pa.DataType) -> Literal["left", "right"]:
    import pyarrow as pa

    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return "right" if any(test(kind) for test in numbers) else "left"


def _cells(values: Sequence[object]) -> list[Text]:
    from rich.text import Text

    return [Text("" if value is None else visible(str(value))) for value in values]
