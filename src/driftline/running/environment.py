"""Environment variables in scripts, whose values are never printed.

A run fills in what `${NAME}` stands for. From then on the value is concealed: whatever the command
prints goes through `concealed`, which writes the name in its place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from urllib.parse import quote

from driftline.running.problems import Problem

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

SHORTEST = 3
"""Of fewer characters a value is no secret, and would stand in half of all words."""

_PASSWORD = re.compile(
    # Of a URL, up to the last @ before a quote; what is only a port is none.
    r"(?P<user>:/{1,2}[^\s/:@'\"]*:)(?!\$\{\w+\}@)(?!\d+(?:[/?,'\"\s]|$))[^'\"\n]+(?=@)"
    r"|(?P<name>[\w.]*(?:password|passwd|secret|access_?key|account_?key)[\w.]*['\"`]?\s*=\s*)"
    r"(?!'?\$\{)(?:'(?:[^'\\]|\\.)*'|[^\s'\"&;,)]+)",
    re.IGNORECASE,
)
"""A secret in a URL, or after a name such as `password =`, with what stands before it."""

_shown: dict[str, str] = {}
"""By value, what is printed instead."""


Written = Callable[[str, str, str], str]
"""How a value is written between two texts."""


def filled_in(text: str, what: str, written: Written | None = None) -> str:
    """A text with the values of the environment variables that it names; `what` it is to the user.

    >>> filled_in("/data/${DRIFTLINE_NO_SUCH_VARIABLE}", "path")
    Traceback (most recent call last):
    ...
    driftline.running.problems.Problem: path: DRIFTLINE_NO_SUCH_VARIABLE is not set: set this \
environment variable
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        given = os.environ.get(name)
        if given is None:
            raise Problem(f"{what}: {name} is not set: set this environment variable")
        made = (
            given if written is None else written(given, text[: found.start()], text[found.end() :])
        )
        conceal(given, found[0])
        conceal(made, found[0])
        return made

    return VARIABLE.sub(value, text)


def in_connection(value: str, before: str, after: str) -> str:
    """A value in a connection string of PostgreSQL, so that it stays one value whatever is in it:
    the user, the password or an option of a URL, or what follows an equals sign. Others may be
    several settings.

    >>> print(in_connection("p@ss w'rd", "postgresql://me:", "@host/db"))
    p%40ss%20w%27rd
    >>> print(in_connection("p@ss w'rd", "host=here password=", ""))
    'p@ss w\\'rd'
    """
    _, is_url, place = before.partition("://")
    if is_url:
        is_user = "@" in after and "@" not in place and "/" not in place
        return quote(value, safe="") if is_user or "?" in place else value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    if before.count("'") % 2:
        return escaped
    return f"'{escaped}'" if before.rstrip().endswith("=") else value


def conceal(value: str, shown: str = "***") -> None:
    """Print something else in the place of a value from now on."""
    if len(value) >= SHORTEST:
        _shown[value] = shown


def concealed(text: str) -> str:
    """A text that may be printed.

    >>> conceal("very secret", "${PASSWORD}")
    >>> concealed("cannot connect with very secret")
    'cannot connect with ${PASSWORD}'

    A password in a URL or a connection string is never printed.

    >>> concealed("kafka://me:pw@host/t, host=x password='a b' user=me")
    'kafka://me:***@host/t, host=x password=*** user=me'
    >>> concealed("'kafka.sasl.password' = 'pw', url = 'postgresql://u:p/w x@h/db', a = 'kafka://h:1/t'")
    "'kafka.sasl.password' = ***, url = 'postgresql://u:***@h/db', a = 'kafka://h:1/t'"
    """
    for value in sorted(_shown, key=len, reverse=True):
        text = text.replace(value, _shown[value])
    return _PASSWORD.sub(lambda found: f"{found['user'] or found['name']}***", text)
