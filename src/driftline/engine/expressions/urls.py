"""parse_url: a part of a URL, by the grammar that Java's URI reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import STRING

_CHARACTER = r"[A-Za-z0-9\-_.!~*'();:@&=+$,/?\[\]]|%[0-9A-Fa-f]{2}|[^\x00-\x7f\s]"
_URL = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?"
    r"(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_HOST = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[^\]]*\]|[A-Za-z0-9.\-]*)(?::\d*)?")
_ALLOWED = re.compile(f"(?:{_CHARACTER})*")
_OPAQUE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^/].*", re.DOTALL)


@kernel("parse_url try_parse_url", total=lambda call: call.function.startswith("try_"))
def _parse_url(call: Call, args: Sequence[Value]) -> Array:
    lenient = call.function.startswith("try_")

    def part(url: str, name: str, key: str | None = None) -> str | None:
        found = _split(url)
        if found is None:
            if lenient:
                return None
            raise EvaluationError("INVALID_URL", f"parse_url: this is not a URL: {url}")
        if key is not None:
            query = found["QUERY"] if name == "QUERY" else None
            return None if query is None else _of_query(query, key)
        return found.get(name)

    return per_distinct(part, list(args), STRING)


def _split(url: str) -> dict[str, Any] | None:
    """The parts of a URL; None if it is none."""
    found = _URL.fullmatch(url)
    if found is None or url.count("#") > 1:
        return None
    if not all(_ALLOWED.fullmatch(part or "") for part in found.groups()):
        return None
    opaque = _OPAQUE.fullmatch(url) is not None
    host = _HOST.fullmatch(found["authority"] or "") if found["authority"] else None
    path, query = (None, None) if opaque else (found["path"], found["query"])
    return {
        "HOST": host["host"] or None if host else None,
        "PATH": path,
        "QUERY": query,
        "REF": found["ref"],
        "PROTOCOL": found["scheme"],
        "FILE": path if path is None or query is None else f"{path}?{query}",
        "AUTHORITY": found["authority"] or None,
        "USERINFO": host["user"] if host else None,
    }


def _of_query(query: str, key: str) -> str | None:
    found = re.search(f"(?:&|^){key}=([^&]*)", query)
    return found[1] if found else None
