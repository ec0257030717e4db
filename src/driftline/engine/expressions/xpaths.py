"""xpath and its like: what a path leads to in a text of XML, by lxml.

Nothing outside of the text is read, and entities that it declares itself are refused. Names are
found without their namespaces, as by Spark, whose parser does not know these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftline.engine.expressions.arrays import Array, Value, per_distinct
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.functions.xml import from_the_document

_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+))[ \t\r\n]*", re.ASCII)


def document(text: str, function: str) -> Any:
    """The tree of a text of XML, or an error."""
    from lxml import etree

    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(text.strip().encode(), parser)
    except etree.XMLSyntaxError as error:
        raise EvaluationError(
            "XML_MALFORMED", f"{function}: this is not XML: {error.msg}"
        ) from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.iterentities()):
        raise EvaluationError(
            "XML_MALFORMED", f"{function}: entities that a text declares itself are not expanded"
        )
    return root


def without_namespaces(root: Any) -> Any:
    """The tree with plain names."""
    for element in root.iter("*"):
        element.tag = _plain(element.tag)
        for name, value in element.attrib.items():
            if "}" in name:
                del element.attrib[name]
                element.set(_plain(name), value)
    return root


def _plain(name: str) -> str:
    return name.rpartition("}")[2]


def _found(call: Call, args: Sequence[Value], answer: Callable[[Any], Any]) -> Array:
    from lxml import etree

    given: Any = call.args[1]
    path = etree.XPath(from_the_document(given.value))

    def value(text: str) -> Any:
        if not text:
            return None
        try:
            found = path(without_namespaces(document(text, call.function)).getroottree())
        except etree.XPathError as error:
            raise EvaluationError("XPATH", f"{call.function}: {given.value}: {error}") from None
        return answer(found)

    return per_distinct(value, [args[0]], call.kind)


@kernel("xpath")
def _xpath(call: Call, args: Sequence[Value]) -> Array:
    def texts(found: Any) -> list[str | None]:
        if not isinstance(found, list):
            raise EvaluationError("XPATH", f"{call.function}: the path leads to no nodes")
        return [_own_text(node) for node in found]

    return _found(call, args, texts)


def _own_text(node: Any) -> str | None:
    """What the DOM calls the value of a node; an element has none."""
    if isinstance(node, str):
        return str(node)
    return None if isinstance(node.tag, str) else node.text


@kernel("xpath_string")
def _string(call: Call, args: Sequence[Value]) -> Array:
    return _found(call, args, _text)


@kernel("xpath_boolean")
def _boolean(call: Call, args: Sequence[Value]) -> Array:
    return _found(call, args, lambda found: bool(found) and found == found)


@kernel("xpath_double xpath_number xpath_float")
def _double(call: Call, args: Sequence[Value]) -> Array:
    return _found(call, args, _number)


@kernel("xpath_int xpath_long xpath_short")
def _integer(call: Call, args: Sequence[Value]) -> Array:
    bits = 64 if call.function == "xpath_long" else 32

    def whole(found: Any) -> int:
        number = _number(found)
        if math.isnan(number):
            return 0
        limit = 1 << (bits - 1)
        most = int(max(min(number, limit), -limit))
        exact = min(most, limit - 1)
        return int(np.int64(exact).astype(np.int16)) if call.function == "xpath_short" else exact

    return _found(call, args, whole)


def _text(found: Any) -> str:
    """The text of what was found: of nodes, that of the first."""
    if isinstance(found, list):
        if not found:
            return ""
        first = found[0]
        return str(first) if isinstance(first, str) else str(first.xpath("string()"))
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, float):
        if math.isnan(found):
            return "NaN"
        if math.isinf(found):
            return "Infinity" if found > 0 else "-Infinity"
        return str(int(found)) if found == int(found) else np.format_float_positional(found)
    return str(found)


def _number(found: Any) -> float:
    if isinstance(found, (bool, float)):
        return float(found)
    match = _NUMBER.fullmatch(_text(found))
    return float(match[1]) if match else math.nan
