"""Every broken log in tests/data/broken gives the line that its .expected file says."""

from pathlib import Path

import pytest

from driftline.event_log.bad import BadInput
from driftline.event_log.reader import read_log

BROKEN = Path(__file__).parents[2] / "data" / "broken"


@pytest.mark.parametrize("log", sorted(BROKEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_broken_log(log: Path) -> None:
    expected = log.with_suffix(".expected").read_text().strip()
    with pytest.raises(BadInput) as refused:
        read_log(log)
    assert f"{log.name}:{refused.value.event.line}: {refused.value.event.reason}" == expected
