"""Functions of XML: what a path of XPath leads to (`pip install "driftline[xml]"`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, constant, needs, register
from driftline.plan.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, DataType

XPATHS: dict[str, DataType] = {
    "xpath": pa.list_(STRING),
    "xpath_boolean": BOOLEAN,
    "xpath_double": DOUBLE,
    "xpath_number": DOUBLE,
    "xpath_float": FLOAT,
    "xpath_int": INT,
    "xpath_long": BIGINT,
    "xpath_short": SMALLINT,
    "xpath_string": STRING,
}
_NAME = r"[^\W\d][\w.\-]*"
_TOKEN = re.compile(
    rf"""(?P<name>{_NAME}(?::(?!:)(?:{_NAME}|\*))?)|(?P<value>"[^"]*"|'[^']*'|\d+(?:\.\d*)?|\.\d+)"""
    r"|(?P<sign>::|\.\.|//|!=|<=|>=|\S)"
)
_OPERATORS = ("and", "or", "div", "mod")
_KINDS_OF_NODES = ("comment", "text", "processing-instruction", "node")
_GOES_ON = ("/", "//", "::", "@", "$")


def _function(name: str, kind: DataType) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        needs("lxml", "xml", name)
        text = argument(args[0], STRING, name, 1)
        path = constant(argument(args[1], STRING, name, 2), f"the path of {name}")
        if not path:
            return Literal(None, kind)
        return Call(name, (text, Literal(_checked(path, name), STRING)), kind)


for _name, _kind in XPATHS.items():
    _function(_name, _kind)


def _checked(path: str, name: str) -> str:
    """The path as it was written, if it is one."""
    from lxml import etree

    if any(":" in token for token, what in _tokens(path) if what == "name"):
        raise ExpressionError(
            f"{name}: names in {path!r} have no prefix, since it is not looked at"
        )
    try:
        etree.XPath(from_the_document(path))
    except etree.XPathError:
        raise ExpressionError(f"{name}: this is not a path of XPath: {path}") from None
    return path


def _tokens(path: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(path):
        yield found[0], str(found.lastgroup)


def from_the_document(path: str) -> str:
    """The path with a / before everything that begins at the document, which is where a path
    begins in Java; in lxml it begins at the outermost element.

    >>> from_the_document("sum(a/b) + count(//c[d = 1])")
    'sum ( / a / b ) + count ( // c [ d = 1 ] )'
    """
    tokens = list(_tokens(path))
    made: list[str] = []
    depth, before, is_operand = 0, "", False
    for place, (token, what) in enumerate(tokens):
        after = tokens[place + 1][0] if place + 1 < len(tokens) else ""
        is_operator = is_operand and (token in _OPERATORS or token == "*")
        is_call = what == "name" and after == "(" and token not in _KINDS_OF_NODES
        begins = not is_operator and (
            (what == "name" and not is_call) or token in (".", "..", "@", "*")
        )
        if begins and depth == 0 and before not in _GOES_ON:
            made.append("/")
        made.append(token)
        depth += (token == "[") - (token == "]")
        is_operand = not is_operator and (
            what in ("name", "value") or token in (")", "]", ".", "..", "*")
        )
        before = token
    return " ".join(made)
