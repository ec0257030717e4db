"""One fingerprint of all that a plan means.

    fingerprint(x) = fingerprint(y)  iff  x and y are of the same classes, with the same fields

It goes by the fields of dataclasses, whichever these are: a field that is added to a node, an
expression or the timing of a stream counts without a word here. Left out are a field that has the
default of its class, so that a new one leaves the fingerprints of plans without it as they were,
and one that only stops a query (`NO_MEANING`), which may then go on with another. What is shared in
a plan is looked at once, and nothing recurses: plans are graphs, and expressions may be thousands
of operands deep.

The fingerprint is the same in every process. A value that it cannot be computed of is an error.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Mapping, Sequence, Set
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from textwrap import dedent
from types import FunctionType, NoneType
from typing import Any

import pyarrow as pa

from driftline.model.user_defined import UserDefinedAggregate

_PLAIN = (NoneType, bool, int, float, str, bytes, Decimal, Fraction, date, time, timedelta)
"""Their text says all."""


NO_MEANING = {"meaning": False}
"""The metadata of a field that is no part of what a plan means."""


def fingerprint(value: object) -> str:
    """The fingerprint of a plan, or of anything that is made of dataclasses and plain values."""
    known: dict[int, tuple[object, bytes]] = {}  # with the object, so that its id stays its own
    waiting: list[tuple[object, str, Sequence[object]]] = [(value, *_opened(value))]
    while waiting:
        each, text, parts = waiting[-1]
        unknown = [part for part in parts if id(part) not in known]
        if unknown:
            waiting += [(part, *_opened(part)) for part in unknown]
            continue
        waiting.pop()
        digests = [known[id(part)][1] for part in parts]
        if isinstance(each, Set):
            digests.sort()
        made = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        made.update(b"".join(digests))
        known[id(each)] = each, made.digest()
    return known[id(value)][1].hex()


def _opened(value: Any) -> tuple[str, Sequence[object]]:
    """What a value is by itself, and the values that it is made of."""
    kind = type(value).__qualname__
    if isinstance(value, Enum):
        return f"{kind} {value.name}", ()
    if isinstance(value, _PLAIN):
        return f"{kind} {value!r}", ()
    if isinstance(value, pa.DataType):
        return f"type {_type(value)!r}", ()
    if is_dataclass(value) and not isinstance(value, type):
        own = {each.name: getattr(value, each.name) for each in fields(value)}
        given = [each.name for each in fields(value) if not _is_left_out(each, own[each.name])]
        return f"{kind} {given!r}", [own[name] for name in given]
    if isinstance(value, Mapping):
        return f"mapping of {len(value)}", [*value.keys(), *value.values()]
    if isinstance(value, Sequence | Set):
        return f"{'set' if isinstance(value, Set) else 'sequence'} of {len(value)}", list(value)
    if isinstance(value, type | FunctionType):
        return f"source {_source(value)}", ()
    if isinstance(value, UserDefinedAggregate):
        own = getattr(value, "__dict__", {})
        return f"{kind} {list(own)!r}", [type(value), *map(_of_a_user, own.values())]
    raise TypeError(f"a plan with a {kind} in it has no fingerprint: say in {__name__} what it is")


def _is_left_out(field: Field[Any], value: object) -> bool:
    if NO_MEANING.items() <= field.metadata.items():
        return True
    default = field.default
    if default is MISSING and field.default_factory is not MISSING:
        default = field.default_factory()
    return type(default) is type(value) and default == value


def _type(kind: pa.DataType) -> tuple[object, ...]:
    """A type as text; the names of fields may have any letters."""
    count = getattr(kind, "num_fields", 0)
    if not count:
        return (str(kind),)
    inside = [kind.field(place) for place in range(count)]
    return (kind.id, *((each.name, each.nullable, _type(each.type)) for each in inside))


def _of_a_user(value: object) -> object:
    """What an object of a user's own has: a plain value, or what can be known of another one."""
    known = (*_PLAIN, tuple, list, dict, type, FunctionType)
    return value if isinstance(value, known) else type(value)


def _source(value: type | FunctionType) -> str:
    """The code of a function, or of a class and those above it, without comments: by name alone
    where there is no text of it."""
    parts: Sequence[Any] = value.__mro__[:-1] if isinstance(value, type) else [value]
    found = []
    for part in parts:
        found.append(part.__qualname__)
        try:
            found.append(ast.unparse(ast.parse(dedent(inspect.getsource(part)))))
        except (OSError, TypeError, SyntaxError):
            continue
    return repr(found)
