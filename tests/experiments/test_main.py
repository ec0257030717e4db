"""The command runs what it is asked for, and writes the page."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from experiments import page
from experiments.__main__ import main


def test_an_experiment_that_does_not_exist(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiments", "nowhere"])
    with pytest.raises(SystemExit):
        main()
    assert "there is no experiment nowhere; there are: stream-heartbeats" in capsys.readouterr().err


@pytest.mark.slow
def test_one_experiment_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RESULTS", "PAGE", "FIGURES", "README"):
        monkeypatch.setattr(page, name, tmp_path / name)
    (tmp_path / "README").write_text("- [The papers' experiments](docs/experiments.md): none.\n")
    monkeypatch.setattr(sys, "argv", ["experiments", "--quick", "--jobs", "1", "stream-estimates"])
    main()
    assert (tmp_path / "FIGURES" / "stream-estimates.svg").exists()
    assert "one paper, 1 experiments, 2 claims: 2 hold." in (tmp_path / "README").read_text()
    assert "(Quick run.)" in (tmp_path / "PAGE").read_text()
