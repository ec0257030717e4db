"""Values of VARIANT with something put in, added, taken out, or without nulls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from driftline.engine.expressions.arrays import Array, Value
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.variants.access import Step, nodes, steps_of, variants_of
from driftline.engine.expressions.variants.codec import Pair, encoded
from driftline.plan.expressions import Call


class _Mismatch(ValueError):
    """A path that does not fit a value, or a field that is there already."""


def _changed(
    call: Call, args: Sequence[Value], change: Callable[[Any, tuple[Step, ...], Any, int], Any]
) -> Array:
    """Each value with a change at its path, by another value; where one is null, null. By the
    functions that try, one that cannot be changed is null, too."""
    function, tries = call.function.removeprefix("try_"), call.function.startswith("try_")
    made: list[Pair | None] = []
    rows = zip(nodes(args[0]), args[1].to_pylist(), nodes(args[2]), strict=True)
    for row, (node, path, new) in enumerate(rows):
        if node is None or path is None or new is None:
            made.append(None)
            continue
        steps = steps_of(path, function)
        if not steps and function != "variant_array_append":
            raise EvaluationError("INVALID_VARIANT_PATH", f"{function}: {path} is the whole value")
        try:
            made.append(encoded(change(node.value(), steps, new.value(), row)))
        except _Mismatch as error:
            if not tries:
                raise EvaluationError(
                    "VARIANT_PATH_TYPE_MISMATCH", f"{function}: {path}: {error}"
                ) from None
            made.append(None)
    return variants_of(made)


@kernel("variant_insert try_variant_insert")
def _insert(call: Call, args: Sequence[Value]) -> Array:
    return _changed(call, args, lambda value, steps, new, _: _put(value, steps, new, True, True))


@kernel("variant_set try_variant_set")
def _set(call: Call, args: Sequence[Value]) -> Array:
    creates = args[3].to_pylist()
    return _changed(
        call, args, lambda value, steps, new, row: _put(value, steps, new, False, creates[row])
    )


def _put(value: Any, steps: tuple[Step, ...], new: Any, inserts: bool, creates: bool) -> Any:
    """The value with another one at a path: between others, or in the place of one."""
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if not isinstance(value, dict):
            raise _Mismatch(f"there is no object with a field {step}")
        if step in value and not rest and inserts:
            raise _Mismatch(f"there is a field {step} already")
        if step in value:
            return value | {step: _put(value[step], rest, new, inserts, creates) if rest else new}
        return value | {step: _made(rest, new)} if creates else value
    if not isinstance(value, list):
        raise _Mismatch(f"there is no array with an item {step}")
    if step < len(value):
        if inserts and not rest:
            return [*value[:step], new, *value[step:]]
        inner = _put(value[step], rest, new, inserts, creates) if rest else new
        return [*value[:step], inner, *value[step + 1 :]]
    if not creates:
        return value
    return [*value, *[None] * (step - len(value)), _made(rest, new)]


def _made(steps: tuple[Step, ...], new: Any) -> Any:
    """Objects and arrays around a value, so that a path leads to it."""
    for step in reversed(steps):
        new = {step: new} if isinstance(step, str) else [*[None] * step, new]
    return new


@kernel("variant_array_append try_variant_array_append")
def _append(call: Call, args: Sequence[Value]) -> Array:
    return _changed(call, args, lambda value, steps, new, _: _appended(value, steps, new))


def _appended(value: Any, steps: tuple[Step, ...], new: Any) -> Any:
    if not steps:
        if not isinstance(value, list):
            raise _Mismatch("it leads to no array")
        return [*value, new]
    step, rest = steps[0], steps[1:]
    if isinstance(step, str) and isinstance(value, dict):
        return value | {step: _appended(value[step], rest, new)} if step in value else value
    if isinstance(step, int) and isinstance(value, list):
        if step >= len(value):
            return value
        return [*value[:step], _appended(value[step], rest, new), *value[step + 1 :]]
    raise _Mismatch(f"there is nothing with {step}")


@kernel("variant_delete", strict=False)
def _delete(call: Call, args: Sequence[Value]) -> Array:
    made: list[Pair | None] = []
    for node, *paths in zip(nodes(args[0]), *(each.to_pylist() for each in args[1:]), strict=True):
        if node is None:
            made.append(None)
            continue
        value = node.value()
        for path in paths:
            steps = () if path is None else steps_of(path, call.function)
            if path is not None and not steps:
                raise EvaluationError(
                    "INVALID_VARIANT_PATH", f"{call.function}: {path} is the whole value"
                )
            value = _without(value, steps) if steps else value
        made.append(encoded(value))
    return variants_of(made)


def _without(value: Any, steps: tuple[Step, ...]) -> Any:
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if not isinstance(value, dict) or step not in value:
            return value
        if rest:
            return value | {step: _without(value[step], rest)}
        return {name: item for name, item in value.items() if name != step}
    if not isinstance(value, list) or step >= len(value):
        return value
    inner = [_without(value[step], rest)] if rest else []
    return [*value[:step], *inner, *value[step + 1 :]]


@kernel("variant_strip_nulls")
def _strip_nulls(call: Call, args: Sequence[Value]) -> Array:
    flags = args[1].to_pylist()
    return variants_of(
        None if node is None or flag is None else encoded(_stripped(node.value(), flag))
        for node, flag in zip(nodes(args[0]), flags, strict=True)
    )


def _stripped(value: Any, from_arrays: bool) -> Any:
    if isinstance(value, dict):
        fields = ((name, item) for name, item in value.items() if item is not None)
        return {name: _stripped(item, from_arrays) for name, item in fields}
    if isinstance(value, list):
        items = (item for item in value if item is not None or not from_arrays)
        return [_stripped(item, from_arrays) for item in items]
    return value
