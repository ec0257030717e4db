"""`driftline run --heartbeat` and `SET heartbeat`: whose heartbeats a row waits for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from driftline.plan.choices import CHOICES
from tests.cli.run import driftline

SCRIPT = """{settings}
CREATE STREAM a (k INT, t BIGINT) WITH (time = 't', disorder = 0);
CREATE STREAM b (k INT, t BIGINT) WITH (time = 't', disorder = 0);
SET block = 'inf';
SELECT a.k, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.k
"""


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"k": {t % 2}, "t": {t}}}\n' for t in range(9)))
    (tmp_path / "b.jsonl").write_text('{"k": 1, "t": 2}\n{"k": 0, "t": 7}\n')
    return ("-i", f"a={tmp_path / 'a.jsonl'}", "-i", f"b={tmp_path / 'b.jsonl'}")


@pytest.mark.parametrize("heartbeat", CHOICES["heartbeat"])
def test_the_answer_does_not_depend_on_it(
    heartbeat: str, inputs: tuple[str, ...], tmp_path: Path
) -> None:
    script = tmp_path / "q.sql"
    script.write_text(SCRIPT.format(settings=""))
    plain = driftline("run", script, *inputs, "--table").out
    assert json.loads(plain.splitlines()[-1])["row"]["n"] > 0
    assert driftline("run", script, *inputs, "--table", "--heartbeat", heartbeat).out == plain
    script.write_text(SCRIPT.format(settings=f"SET heartbeat = '{heartbeat}';"))
    assert driftline("run", script, *inputs, "--table").out == plain


def test_it_is_explained_and_misspelt_ones_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "q.sql"
    script.write_text(SCRIPT.format(settings="SET heartbeat = 'query';"))
    assert "block inf, remember inf, heartbeat query" in driftline("explain", script).out
    script.write_text(SCRIPT.format(settings="SET heartbeat = 'mine';"))
    said = driftline("explain", script).err
    assert "heartbeat is source, operator, memory or query, not 'mine'" in said
