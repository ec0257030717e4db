from __future__ import annotations

import pytest

from driftline.running.environment import conceal, concealed, filled_in
from driftline.running.problems import Problem


def test_values_are_filled_in_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("H_USER", "somebody")
    monkeypatch.setenv("H_PASSWORD", "somebody's secret")
    url = filled_in("postgresql://${H_USER}:${H_PASSWORD}@host/db", "url")
    assert url == "postgresql://somebody:somebody's secret@host/db"
    shown = concealed(f"cannot connect to {url}")
    assert shown == "cannot connect to postgresql://${H_USER}:${H_PASSWORD}@host/db"


def test_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("H_NONE", raising=False)
    with pytest.raises(Problem, match=r"^url: H_NONE is not set: set this environment variable$"):
        filled_in("a ${H_NONE}", "url")


@pytest.mark.parametrize("text", ["$HOME", "${}", "${1}", "${a-b}", "$ {HOME}"])
def test_what_is_no_variable_stays(text: str) -> None:
    assert filled_in(text, "path") == text


def test_short_values_do_not_make_messages_unreadable() -> None:
    conceal("e")
    conceal("")
    assert concealed("there is no such file") == "there is no such file"
