"""What a path leads to in a VARIANT: as a VARIANT, as JSON, or as a value of a type; and JSON read
as a VARIANT.

A path that leads nowhere gives null, and so does a null of JSON as any other type. A value that
cannot be cast to a type is an error, or null by try_variant_get.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, plain_values, valid_mask
from driftline.engine.expressions.casts import cast
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.json_texts import quoted
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import java_float, to_text
from driftline.engine.expressions.variants.codec import (
    ARRAY,
    OBJECT,
    Pair,
    Typed,
    VariantNode,
    encoded,
    shortened,
)
from driftline.plan.coercion import can_cast
from driftline.plan.depth import room
from driftline.plan.expressions import Call
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    a_type,
    decimal,
    is_array,
    is_map,
    is_struct,
)

Step = str | int
_SPACES = " \t\r\n"
_END = ("", *_SPACES)
_PATH = re.compile(r"""\.([^.\[]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]""")
_CALLS_TO_READ = 3_000
"""Python's calls, at most, to read a thousand levels, as Spark does."""
_KINDS: dict[str, Any] = {
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
    "FLOAT": FLOAT,
}


@lru_cache(maxsize=1000)
def steps_of(path: str, function: str) -> tuple[Step, ...]:
    """The names and places of a path: $.a[0]['b']."""
    steps: list[Step] = []
    place = 1
    while path.startswith("$") and place < len(path):
        found = _PATH.match(path, place)
        if found is None:
            break
        steps.append(
            int(found[2]) if found[2] is not None else next(filter(None, found.group(1, 3, 4)), "")
        )
        place = found.end()
    if not path.startswith("$") or place < len(path):
        raise EvaluationError(
            "INVALID_VARIANT_GET_PATH", f"{function}: this is not a path of a VARIANT: {path}"
        )
    return tuple(steps)


def nodes(variants: Array) -> list[VariantNode | None]:
    """The values of a column."""
    parts = zip(
        variants.field(0).to_pylist(),
        variants.field(1).to_pylist(),
        valid_mask(variants).tolist(),
        strict=True,
    )
    return [VariantNode(value, names) if there else None for value, names, there in parts]


def variants_of(pairs: Iterable[Pair | None]) -> Array:
    """A column of VARIANT."""
    listed = list(pairs)
    values = pa.array([b"" if each is None else each[0] for each in listed], BINARY)
    names = pa.array([b"" if each is None else each[1] for each in listed], BINARY)
    mask = pa.array([each is None for each in listed], pa.bool_())
    return pa.StructArray.from_arrays([values, names], fields=list(VARIANT), mask=mask)


def found(node: VariantNode | None, steps: Sequence[Step]) -> VariantNode | None:
    """What a path leads to, if anything."""
    for step in steps:
        if node is None:
            return None
        if isinstance(step, str):
            node = node.fields().get(step) if node.kind == OBJECT else None
        else:
            items = node.items() if node.kind == ARRAY else []
            node = items[step] if step < len(items) else None
    return node


@kernel("variant_get try_variant_get")
def _variant_get(call: Call, args: Sequence[Value]) -> Array:
    paths = args[1].to_pylist()
    chosen = [
        None if path is None else found(node, steps_of(path, call.function))
        for node, path in zip(nodes(args[0]), paths, strict=True)
    ]
    return _cast(chosen, call.kind, call.function == "variant_get")


def _cast(given: Sequence[VariantNode | None], target: Any, fails: bool) -> Array:
    """The values as values of a type, all that have one type at once."""
    if target == VARIANT:
        return variants_of(None if each is None else encoded(each.value()) for each in given)
    there = [None if each is None or each.is_null else each for each in given]

    def kept(fits: Callable[[VariantNode], bool]) -> list[VariantNode | None]:
        for each in there:
            if each is not None and not fits(each):
                _refused(each, target, fails)
        return [each if each is None or fits(each) else None for each in there]

    if is_array(target) or is_map(target):
        whole = kept(lambda each: each.kind == (ARRAY if is_array(target) else OBJECT))
        lengths = [0 if each is None else len(each.items()) for each in whole]
        inner = [item for each in whole if each is not None for item in each.items()]
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        mask = pa.array([each is None for each in whole])
        if is_array(target):
            items = _cast(inner, target.value_type, fails)
            return pa.ListArray.from_arrays(offsets, items, mask=mask)
        keys = pa.array([name for each in whole if each is not None for name in each.fields()])
        items = _cast(inner, target.item_type, fails)
        return pa.MapArray.from_arrays(offsets, keys.cast(STRING), items, type=target, mask=mask)
    if is_struct(target):
        whole = kept(lambda each: each.kind == OBJECT)
        parts = [{} if each is None else each.fields() for each in whole]
        columns = [_cast([part.get(f.name) for part in parts], f.type, fails) for f in target]
        mask = pa.array([each is None for each in whole])
        return pa.StructArray.from_arrays(columns, fields=list(target), mask=mask)
    if target == STRING:
        return pa.array([None if each is None else text_of(each.value()) for each in there], STRING)
    return _cast_scalars(there, target, fails)


def _cast_scalars(given: list[VariantNode | None], target: Any, fails: bool) -> Array:
    by_kind: dict[Any, tuple[list[int], list[Any]]] = {}
    for row, node in enumerate(given):
        if node is None:
            continue
        value = node.value() if node.kind not in (OBJECT, ARRAY) else None
        kind, plain = (None, None) if value is None else scalar(value)
        if kind is None or not can_cast(kind, target):
            _refused(node, target, fails)
            continue
        rows, values = by_kind.setdefault(kind, ([], []))
        rows.append(row)
        values.append(plain)
    places = np.full(len(given), -1)
    parts = [pa.nulls(0, target)]
    for kind, (rows, values) in by_kind.items():
        made = cast(column_of(values, kind), kind, target, lenient=True)
        for row, valid in zip(rows, valid_mask(made).tolist(), strict=True):
            if not valid:
                _refused(given[row], target, fails)
        places[rows] = sum(map(len, parts)) + np.arange(len(rows))
        parts.append(made)
    return pa.concat_arrays(parts).take(pa.array(places, mask=places < 0))


def column_of(values: list[Any], kind: Any) -> Array:
    """Values, dates and times as numbers, as a column."""
    if kind == DATE:
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, pa.int64() if pa.types.is_timestamp(kind) else kind).cast(kind)


def scalar(value: Any) -> tuple[Any, Any]:
    """The type of a value that is neither an object nor an array, and the value in a column."""
    if isinstance(value, bool):
        return BOOLEAN, value
    if isinstance(value, int):
        return BIGINT, value
    if isinstance(value, float):
        return DOUBLE, value
    if isinstance(value, Decimal):
        plain, precision, scale = shortened(value)
        return decimal(min(max(precision, 1), MAX_PRECISION), scale), plain
    if isinstance(value, Typed):
        return _KINDS[value.kind], value.value
    return (STRING if isinstance(value, str) else BINARY), value


def _refused(node: VariantNode | None, target: Any, fails: bool) -> None:
    if fails and node is not None:
        raise EvaluationError(
            "INVALID_VARIANT_CAST",
            f"the VARIANT {json_of(node.value())} is not {a_type(target)}; try_variant_get "
            "gives NULL",
        )


def text_of(value: Any) -> str:
    """A value as a text: of an object or an array, its JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return java_float(value)
    if isinstance(value, Typed) and value.kind != "FLOAT":
        return _datetime_text(value)
    return json_of(value)


def _datetime_text(value: Typed) -> str:
    column = column_of([value.value], _KINDS[value.kind])
    return str(to_text(column, lambda part: part)[0].as_py())


def json_of(value: Any) -> str:
    """A value as JSON; fields are in the order of their names."""
    if isinstance(value, dict):
        fields = sorted(value.items(), key=lambda each: each[0].encode())
        return "{" + ",".join(f"{quoted(name)}:{json_of(item)}" for name, item in fields) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_of, value)) + "]"
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    if isinstance(value, Decimal):
        return f"{shortened(value)[0]:f}"
    if isinstance(value, float) or (isinstance(value, Typed) and value.kind == "FLOAT"):
        number = value if isinstance(value, float) else value.value
        text = java_float(number, single=not isinstance(value, float))
        return text if number - number == 0 else quoted(text)
    if isinstance(value, Typed):
        zone = "+00:00" if value.kind == "TIMESTAMP" else ""
        return quoted(_datetime_text(value) + zone)
    if isinstance(value, bytes):
        return quoted(base64.b64encode(value).decode())
    return quoted(value)


class _Written(str):
    """A number as it was written, with a point or an exponent."""


def parsed(text: str) -> Any:
    """The value of a text of JSON; ValueError if it has none."""
    value, end = _DECODER.raw_decode(text.lstrip(_SPACES))
    if isinstance(value, (int, _Written)) and text.lstrip(_SPACES)[end : end + 1] not in _END:
        raise ValueError("a number does not end here")
    return _plain(value)  # as for Spark, what comes after the first value does not matter


def _plain(value: Any) -> Any:
    """With numbers as they are kept."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, _Written):
        exact = Decimal(value)
        _, digits, exponent = exact.as_tuple()
        is_exact = "e" not in value.lower() and max(len(digits), -int(exponent)) <= MAX_PRECISION
        return exact if is_exact else float(value)
    is_large = type(value) is int and len(str(abs(value))) > MAX_PRECISION
    return float(value) if is_large else value


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a field is there twice")
    return made


def _no_constant(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_fields, parse_float=_Written, parse_constant=_no_constant
)


@kernel("parse_json")
def _parse_json(call: Call, args: Sequence[Value]) -> Array:
    return _parsed_texts(args[0], fails=True)


@kernel("try_parse_json", total=True)
def _try_parse_json(call: Call, args: Sequence[Value]) -> Array:
    return _parsed_texts(args[0], fails=False)


@room(_CALLS_TO_READ)
def _parsed_texts(texts: Array, fails: bool) -> Array:
    def pair(text: str | None) -> Pair | None:
        try:
            return None if text is None else encoded(parsed(text))
        except (ValueError, RecursionError):
            if fails:
                raise EvaluationError(
                    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
                    f"parse_json: this is not JSON: {text}",
                ) from None
            return None

    return variants_of(map(pair, texts.to_pylist()))


@kernel("is_variant_null", total=True, strict=False)
def _is_null(call: Call, args: Sequence[Value]) -> Array:
    return pa.array([node is not None and node.is_null for node in nodes(args[0])], BOOLEAN)


@kernel("is_valid_variant", total=True)
def _is_valid(call: Call, args: Sequence[Value]) -> Array:
    def valid(node: VariantNode) -> bool:
        try:
            node.value()
        except (EvaluationError, ValueError, IndexError):
            return False
        return True

    return pa.array([None if node is None else valid(node) for node in nodes(args[0])], BOOLEAN)


@kernel("to_variant_object to_variant")
def _to_variant(call: Call, args: Sequence[Value]) -> Array:
    kind, values = args[0].type, plain_values(args[0])
    return variants_of(
        None if value is None else encoded(as_variant(value, kind)) for value in values
    )


def as_variant(value: Any, kind: Any) -> Any:
    """A value of a type as one of a VARIANT."""
    if value is None:
        return None
    if kind == VARIANT:
        return VariantNode(value["value"], value["metadata"]).value()
    if is_struct(kind):
        return {field.name: as_variant(value[field.name], field.type) for field in kind}
    if is_map(kind):
        return {key: as_variant(item, kind.item_type) for key, item in value}
    if is_array(kind):
        return [as_variant(item, kind.value_type) for item in value]
    name = next((name for name, own in _KINDS.items() if own == kind), None)
    return value if name is None else Typed(name, value)


@kernel("$variant_entries", total=True)
def _entries(call: Call, args: Sequence[Value]) -> Array:
    """The items of arrays and the fields of objects, with their places, names and values."""
    given = nodes(args[0])
    lengths: list[int] = []
    names: list[str | None] = []
    parts: list[Pair] = []
    for node in given:
        kind = None if node is None else node.kind
        items = node.items() if node is not None and kind in (OBJECT, ARRAY) else []
        fields = list(node.fields()) if node is not None and kind == OBJECT else [None] * len(items)
        lengths.append(len(items))
        names += fields
        parts += [each.pair() for each in items]
    places = [place for length in lengths for place in range(length)]
    rows = pa.StructArray.from_arrays(
        [pa.array(places, pa.int32()), pa.array(names, STRING), variants_of(parts)],
        fields=list(call.kind.value_type),
    )
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, rows)
