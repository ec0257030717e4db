"""Notes of a run that it goes on from: with a checksum, so that one that was changed is no note.

    {…, "checksum": "…"}    a JSON object, of all that is before
    … checksum              other bytes, with 16 more

A note that is not as it was written is refused: what was computed or written would be lost, or come
twice. `driftline.event_log.atomic` writes notes whole and durably.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from driftline.plan.errors import PlanError

CHECKSUM = "checksum"
SIZE = 16
WHAT_TO_DO = (
    "put the whole checkpoint back from one copy, or give --checkpoint another directory, and the "
    "query reads its inputs anew"
)


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=SIZE).hexdigest()


def note(content: Mapping[str, Any]) -> bytes:
    """A note as bytes."""
    rest = {name: each for name, each in content.items() if name != CHECKSUM}
    return json.dumps({**rest, CHECKSUM: _of(rest)}, indent=1, ensure_ascii=False).encode()


def noted(data: bytes, where: str) -> dict[str, Any]:
    """What a note says; `where`: its place, for the error."""
    try:
        content = json.loads(data)
        checksum = content.pop(CHECKSUM)
    except (ValueError, KeyError, AttributeError, TypeError):
        raise damaged(where) from None
    if checksum != _of(content):
        raise damaged(where)
    return dict(content)


def sealed(data: bytes) -> bytes:
    """Bytes with their checksum."""
    return data + bytes.fromhex(digest(data))


def unsealed(data: bytes, where: str) -> bytes:
    """Bytes that `sealed` has made."""
    content, checksum = data[:-SIZE], data[-SIZE:]
    if len(data) < SIZE or bytes.fromhex(digest(content)) != checksum:
        raise damaged(where)
    return content


def damaged(where: str) -> PlanError:
    return PlanError(f"{where} is damaged, or was changed: {WHAT_TO_DO}")


def _of(content: Mapping[str, Any]) -> str:
    return digest(json.dumps(content, ensure_ascii=False).encode())
