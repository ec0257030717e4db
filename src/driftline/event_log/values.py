"""What the values of a column are declared to be, as far as JSON tells them apart.

    string    texts: a number or a boolean becomes one, as it was written
    double    numbers, and boolean: booleans; a text may be one
    timestamp numbers or texts: the first value decides which
    null      anything

Lists and structs have such kinds of their parts. So the type of a column does not depend on the
value that comes first, but where numbers and texts mean times.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def is_misread(have: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow has taken values, or parts of them, for something else than declared.

    >>> is_misread(pa.int64(), pa.string()), is_misread(pa.string(), pa.float64())
    (True, False)
    """
    if pa.types.is_null(kind) or pa.types.is_null(have):
        return False
    if pa.types.is_list(kind):
        return not pa.types.is_list(have) or is_misread(have.value_type, kind.value_type)
    if pa.types.is_struct(kind):
        parts = _parts(kind)
        return not pa.types.is_struct(have) or any(
            is_misread(each.type, parts.get(each.name.lower(), pa.null())) for each in have
        )
    if pa.types.is_nested(have):
        return True
    if pa.types.is_string(kind):
        return not pa.types.is_string(have)
    return not pa.types.is_string(have) and pa.types.is_boolean(have) != pa.types.is_boolean(kind)


def has_bare(value: Any, kind: pa.DataType) -> bool:
    """Whether a value has a number or a boolean where a text is declared."""
    if value is None or pa.types.is_null(kind):
        return False
    if isinstance(value, list):
        return pa.types.is_list(kind) and any(has_bare(each, kind.value_type) for each in value)
    if isinstance(value, dict):
        parts = _parts(kind) if pa.types.is_struct(kind) else {}
        return any(
            has_bare(each, parts.get(name.lower(), pa.null())) for name, each in value.items()
        )
    if pa.types.is_timestamp(kind):
        return isinstance(value, bool)
    return pa.types.is_string(kind) and not isinstance(value, str)


def as_text(value: Any, written: Any, kind: pa.DataType) -> Any:
    """A value with texts where these are declared; `written`: the same with numbers as texts.

    >>> as_text([1.5, True, "x"], ["1.50", True, "x"], pa.list_(pa.string()))
    ['1.50', 'true', 'x']
    """
    if not has_bare(value, kind):
        return value
    if isinstance(value, list):
        pairs = zip(value, written, strict=True)
        return [as_text(each, text, kind.value_type) for each, text in pairs]
    if isinstance(value, dict):
        parts = _parts(kind)
        return {
            name: as_text(each, written[name], parts.get(name.lower(), pa.null()))
            for name, each in value.items()
        }
    return str(value).lower() if isinstance(value, bool) else written


def _parts(kind: pa.DataType) -> dict[str, pa.DataType]:
    return {each.name.lower(): each.type for each in kind}
