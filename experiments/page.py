"""docs/experiments.md, its figures and the line in README, all from results.json."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from itertools import groupby
from pathlib import Path
from typing import Any

from experiments.catalogue import EXPERIMENTS
from experiments.drawing import saved
from experiments.experiment import Experiment, Rows, Value, Verdict, verdict

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results.json"
PAGE, README = ROOT / "docs" / "experiments.md", ROOT / "README.md"
FIGURES = ROOT / "docs" / "img" / "experiments"

LONG = 40
"""Rows from which on a table is folded up."""
COUNTED: dict[Verdict, str] = {"holds": "hold", "holds in part": "in part", "does not hold": "not"}

Results = dict[str, dict[str, Any]]
"""By the name of an experiment: `run`, quick or full; `rows`."""

INTRODUCTION = """# The papers' experiments

This page is written by `make experiments` (`python -m experiments [NAME…] [--quick]`), with its
figures, tables and verdicts; nothing here is edited by hand. Every experiment runs a paper's
workload on Driftline's own operators. Where the paper's numbers are about queues and delays, time
is simulated, so that they do not depend on the machine; where they are about throughput, processor
time is compared, and only ratios count. Seeds are fixed. Faint marks in the figures are values that
the papers' text gives.

A claim *holds*, *holds in part* or *does not hold*, by the numbers beside it; a statement that is
not so is struck through. A claim that does not hold is a finding, and the reason is given.
"""


def stored() -> Results:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write(results: Results, drawn: Collection[str] | None = None) -> None:
    """Write everything anew, with the figures of some experiments (None: of all)."""
    ordered = {each.name: results[each.name] for each in _there(results)}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")
    FIGURES.mkdir(parents=True, exist_ok=True)
    for experiment in _there(results):
        if drawn is not None and experiment.name not in drawn:
            continue
        rows = Rows(results[experiment.name]["rows"])
        saved(experiment.draw, rows, FIGURES / f"{experiment.name}.svg")
    PAGE.write_text(page(results))
    README.write_text(with_line(README.read_text(), results))


def page(results: Results) -> str:
    there = _there(results)
    parts = [INTRODUCTION, _summary(results)]
    for paper, experiments in groupby(there, lambda each: each.paper):
        parts.append(f"## {paper}\n")
        parts += [_section(each, results[each.name]) for each in experiments]
    return "\n".join(parts)


def verdicts(experiment: Experiment, rows: Rows) -> list[Verdict]:
    return [verdict(claim.seen(rows)) for claim in experiment.claims]


def line(results: Results) -> str:
    """The experiments in one sentence."""
    there = _there(results)
    counted = Counter(
        each for one in there for each in verdicts(one, Rows(results[one.name]["rows"]))
    )
    told = ", ".join(f"{counted[each]} {text}" for each, text in COUNTED.items() if counted[each])
    papers = ("one paper", "two papers", "three papers", "four papers", "five papers")
    named = papers[len({one.paper for one in there}) - 1]
    return f"{named}, {len(there)} experiments, {counted.total()} claims: {told}"


def with_line(readme: str, results: Results) -> str:
    """README with its line about the experiments."""
    return re.sub(
        r"(\[The papers' experiments\]\(docs/experiments\.md\):) .*",
        lambda found: f"{found[1]} {line(results)}.",
        readme,
    )


def _there(results: Results) -> list[Experiment]:
    return [each for each in EXPERIMENTS if each.name in results]


def _summary(results: Results) -> str:
    """All claims in one table."""
    rows = ["| experiment | repeats | run | claims |", "|---|---|---|---|"]
    for each in _there(results):
        found = results[each.name]
        told = ", ".join(verdicts(each, Rows(found["rows"])))
        link = f"[{each.title}](#{each.name})"
        rows.append(f"| {link} | {each.paper}, {each.figure} | {found['run']} | {told} |")
    return f"In short: {line(results)}.\n\n" + "\n".join(rows) + "\n"


def _section(experiment: Experiment, found: dict[str, Any]) -> str:
    rows = Rows(found["rows"])
    title, repeats = experiment.title, f"{experiment.paper}, {experiment.figure}"
    lines = [
        f"### {title} {{#{experiment.name}}}\n",
        f"{repeats}. {experiment.workload} ({found['run'].capitalize()} run.)\n",
        f"![{repeats}: {title}](img/experiments/{experiment.name}.svg)\n",
        "| the paper claims | seen here | |",
        "|---|---|---|",
    ]
    for claim in experiment.claims:
        statements = claim.seen(rows)
        seen = "; ".join(text if so else f"<del>{text}</del>" for text, so in statements.items())
        why = f" {claim.why}" if claim.why else ""
        lines.append(f"| {claim.paper} | {seen}.{why} | **{verdict(statements)}** |")
    return "\n".join([*lines, "", *_table(rows)]) + "\n"


def _table(rows: Rows) -> list[str]:
    """All that was measured; folded up if it is long."""
    columns = list(rows.rows[0])
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [f"| {' | '.join(map(_shown, row.values()))} |" for row in rows.rows]
    if len(rows.rows) <= LONG:
        return lines
    title = f"<summary>{len(rows.rows)} rows</summary>"
    return ['<details markdown="1">', title, "", *lines, "", "</details>"]


def _shown(value: Value) -> str:
    """
    >>> _shown(1234.5), _shown(0.01234), _shown(3.0), _shown("nta")
    ('1,234', '0.0123', '3', 'nta')
    """
    if isinstance(value, str):
        return value
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
