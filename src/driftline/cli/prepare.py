"""`driftline prepare`: compiles all kernels before they are needed."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from driftline.running.problems import Problem


def prepare() -> None:
    """Build the library of kernels for this machine, beside their sources."""
    from driftline.kernels.build import CannotBuild, build

    columns = (
        TextColumn("compiling"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(doing: str, steps: int) -> None:
            bar.update(task, description=doing, total=steps, advance=1)

        try:
            build(report=report)
        except (CannotBuild, OSError) as error:
            raise Problem(
                f"kernels cannot be compiled ahead of time: {error}; each is compiled when it is "
                "first used instead"
            ) from None
