"""The page that lists every function of Spark SQL, and how it is here: `docs/functions.md`.

A function is `same` if all examples of Spark's documentation give Spark's types and rows here.
Another `differs` or is `refused`, for a reason in `function_remarks`. `python -m
tests.sql.function_table` writes the page.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import driftline as dl
from tests.sql.function_remarks import DIFFERS, REFUSED, REFUSED_CLASSES
from tests.sql.spark_functions import Example, SparkFunction, answer, functions

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
SAME, DIFFERENT, NOT_THERE = "same", "differs", "refused"
_NEITHER = ("window_funcs", "generator_funcs", "table_funcs")
"""Classes of functions that are neither scalar nor aggregate."""


def status(function: SparkFunction) -> tuple[str, str]:
    """Whether a function is the same here, and if not, why or how."""
    reason = REFUSED.get(function.name) or REFUSED_CLASSES.get(function.group)
    if reason is not None:
        return NOT_THERE, reason
    if function.name in DIFFERS:
        return DIFFERENT, DIFFERS[function.name]
    wrong = [each.query for each in function.examples if not agrees(each)]
    if function.examples and not wrong:
        return SAME, ""
    raise AssertionError(f"{function.name}: {wrong or 'there is no example'}")


def agrees(example: Example) -> bool:
    """Whether an example of Spark's gives the same here."""
    try:
        found = dl.sql(example.query).run().history().drop_columns(["vs", "ve"])
    except (ValueError, TypeError, OverflowError):
        return False
    ours = answer(example.query, found)
    return (ours.types, ours.rows) == (example.types, example.rows)


def page() -> str:
    """The text of the page."""
    found = [(each, *status(each)) for each in functions()]
    counts = Counter(what for each, what, _ in found if each.group not in _NEITHER)
    total = sum(counts.values())
    by_class: dict[str, list[tuple[str, str, str]]] = {}
    for each, what, why in found:
        by_class.setdefault(each.group.removesuffix("_funcs"), []).append((each.name, what, why))
    lines = [
        "# Functions of Spark SQL",
        "",
        "Every function that `SHOW FUNCTIONS` of Spark 4.3 names, and how it is here. `same`: all "
        "examples of Spark's documentation give Spark's types and values here (a test runs them; "
        "others compare most functions with Spark on odd values). Sums of floats, such as `avg`, "
        "`vector_sum` and `corr`, may differ in the last digits, which in Spark depend on the "
        "order of rows, and here do not. A test writes this page.",
        "",
        f"Of {total} scalar and aggregate functions and operators, {counts[SAME]} are the same, "
        f"{counts[DIFFERENT]} differ in something, and {counts[NOT_THERE]} are refused.",
        "",
        "| class | functions | same | differs | refused |",
        "|---|---|---|---|---|",
    ]
    for name, rows in sorted(by_class.items()):
        own = Counter(what for _, what, _ in rows)
        lines.append(
            f"| {name} | {len(rows)} | {own[SAME]} | {own[DIFFERENT]} | {own[NOT_THERE]} |"
        )
    for name, rows in sorted(by_class.items()):
        lines += ["", f"## {name.capitalize()}", ""]
        same = [each for each, what, _ in rows if what == SAME]
        if same:
            lines += [f"Same: {', '.join(map(_code, same))}", ""]
        others = [row for row in rows if row[1] != SAME]
        reasons: dict[tuple[str, str], list[str]] = {}
        for known, what, why in others:
            reasons.setdefault((what, why), []).append(known)
        if reasons:
            lines += ["| function | is | why, or how |", "|---|---|---|"]
            for (what, why), names in reasons.items():
                lines.append(f"| {', '.join(map(_code, names))} | {what} | {why} |")
    return "\n".join(lines).rstrip() + "\n"


def _code(name: str) -> str:
    return "`" + name.replace("|", "\\|") + "`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
