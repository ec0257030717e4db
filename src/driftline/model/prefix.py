"""Prefixes of the inputs: what a mark names, and the answer before it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Prefix:
    """How many events of each input, in order of arrival; `closed`: and no more are to come;
    `files`: of inputs that are read as directories, the files that are new in this prefix, and how
    many events each has; `ended`: the inputs of which no more are to come, while others go on."""

    events: Mapping[str, int] = field(default_factory=dict)
    closed: bool = False
    files: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
