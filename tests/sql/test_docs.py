"""The examples of docs/sql.md say what they say they say."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from driftline.plan.functions import FUNCTIONS
from tests.cli.run import driftline

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sql|json|text)\n(.*?)^```$", PAGE, re.M | re.S)
STREAMS = BLOCKS[0][1]
LOG = next(text for kind, text in BLOCKS if kind == "json")
EXAMPLES = [
    (one, other)
    for (kind, one), (next_kind, other) in itertools.pairwise(BLOCKS)
    if (kind, next_kind) == ("sql", "text")
]


@pytest.mark.parametrize(("query", "answer"), EXAMPLES)
def test_example(query: str, answer: str, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text(STREAMS + query)
    (tmp_path / "events.jsonl").write_text(LOG)
    ran = driftline("run", tmp_path / "query.sql", "--input", tmp_path / "events.jsonl", "--table")
    assert (ran.code, ran.out) == (0, answer), ran.err


def test_the_mistake(tmp_path: Path) -> None:
    shown = re.search(r"```\nquery.sql:(.*?)```", PAGE, re.S)
    assert shown is not None
    script = tmp_path / "query.sql"
    first = STREAMS.splitlines()[0]
    script.write_text(f"{first}\nSELECT symbl, price FROM trades")
    assert driftline("explain", script).err == f"{script}:{shown[1]}"


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 5


def test_every_function_is_listed() -> None:
    table = PAGE.split("## Functions", 1)[1].split("\n## ", 1)[0]
    listed = set(re.findall(r"\w+", table))
    inside = {"bitwise_not", "dayofweek_iso", "yearofweek"}  # written ~ and EXTRACT
    inside.add("months_of_interval")  # of EXTRACT and of what is computed with intervals
    inside |= {"$json_field", "$variant_entries"}  # of json_tuple, variant_explode
    assert set(FUNCTIONS) - inside <= listed
    names = [
        name for row in re.findall(r"^\| .*\| (.*) \|$", table, re.M) for name in row.split(", ")
    ]
    assert set(names) - {"functions"} <= set(FUNCTIONS)
