from __future__ import annotations

import pytest

from driftline.running.environment import conceal, concealed, filled_in, in_connection
from driftline.running.problems import Problem


def test_values_are_filled_in_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("H_USER", "somebody")
    monkeypatch.setenv("H_PASSWORD", "somebody's secret")
    url = filled_in("postgresql://${H_USER}:${H_PASSWORD}@host/db", "url")
    assert url == "postgresql://somebody:somebody's secret@host/db"
    shown = concealed(f"cannot connect to {url}")
    assert shown == "cannot connect to postgresql://${H_USER}:${H_PASSWORD}@host/db"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:${H_PASSWORD}@${H_HOST}:5432/db",
        "postgresql://me@${H_HOST}:5432/db?password=${H_PASSWORD}",
        "user=me password=${H_PASSWORD} host=${H_HOST} port=5432 dbname=db",
        "user=me password='${H_PASSWORD}' host = ${H_HOST} port=5432 dbname=db",
        "${H_USUAL} password=${H_PASSWORD}",
    ],
)
def test_a_password_is_one_value_of_a_connection(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conninfo = pytest.importorskip("psycopg.conninfo")
    password = "p@ss/w' \\rd?#%40=:x"
    monkeypatch.setenv("H_PASSWORD", password)
    monkeypatch.setenv("H_HOST", "h.example")
    monkeypatch.setenv("H_USUAL", "user=me host=h.example port=5432 dbname=db")
    url = filled_in(text, "url", in_connection)
    expected = {"user": "me", "password": password, "host": "h.example"}
    assert conninfo.conninfo_to_dict(url) == {**expected, "port": "5432", "dbname": "db"}
    assert "rd" not in concealed(f"{password} in {url}").replace("PASSWORD", "").replace("word", "")


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
