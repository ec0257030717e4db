"""`make experiments`: run the papers' experiments, and write docs/experiments.md.

python -m experiments                      all of them, in at most half an hour
python -m experiments --quick              smaller, in two minutes
python -m experiments nile-selectivity     some; the others stay as they were
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments import page
from experiments.catalogue import EXPERIMENTS, measured
from experiments.experiment import Experiment, Rows


def main() -> None:
    names = {each.name: each for each in EXPERIMENTS}
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="smaller workloads")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in names]
    if unknown:
        parser.error(f"there is no experiment {unknown[0]}; there are: {', '.join(names)}")
    chosen = [names[name] for name in arguments.names] or list(EXPERIMENTS)
    results, run = page.stored(), "quick" if arguments.quick else "full"
    console = Console()
    changed = 0
    with (
        ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as processes,
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        ) as progress,
    ):
        task = progress.add_task("experiments", total=len(chosen))
        running = [processes.submit(measured, each.name, run == "full") for each in chosen]
        for each in as_completed(running):
            name, rows, seconds = each.result()
            results[name] = {"run": run, "rows": rows}
            page.write(results, [name])
            changed += _report(names[name], Rows(rows), seconds, console)
            progress.advance(task)
    console.print(f"{page.line(results)}; written: docs/experiments.md")
    if changed:
        sys.exit(f"{changed} claims are not what they were: see `was` beside each of them")


def _report(experiment: Experiment, rows: Rows, seconds: float, console: Console) -> int:
    """Print the verdicts; returns how many are not what they were."""
    found = page.verdicts(experiment, rows)
    console.print(f"[bold]{experiment.name}[/bold]  {', '.join(found)}  [dim]{seconds:.0f} s[/dim]")
    changed = 0
    for claim, verdict in zip(experiment.claims, found, strict=True):
        if verdict != claim.was:
            changed += 1
            console.print(f"  [red]{verdict}, and was: {claim.was}[/red]  {claim.paper}")
            for text, so in claim.seen(rows).items():
                console.print(f"    {'so: ' if so else 'not so: '}{text}", markup=False)
    return changed


if __name__ == "__main__":
    main()
