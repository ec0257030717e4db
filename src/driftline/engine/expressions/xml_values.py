"""from_xml and to_xml: texts of XML as structs, and structs as texts of XML.

A text is read as Spark reads it, event by event. An element is the field of its name, an attribute
the field of its name after a prefix, and the text beside other elements the field `valueTag`. Where
a value is not of its type its field is null, and what follows it in the same element is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value, counted, per_distinct, plain_values
from driftline.engine.expressions.csv_values import (
    CORRUPT,
    FORMATS,
    Options,
    by_pattern,
    moment_text,
    options_of,
    plain_text,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.text_casts import parser
from driftline.plan.expressions import Call
from driftline.plan.functions.xml_types import Xml
from driftline.plan.literals import fits
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    TIME,
    TIMESTAMP_NTZ,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_nested,
    is_struct,
    is_timestamp,
)
from driftline.plan.xml_events import End, Events, MalformedXml, Start, Text

Read = Callable[[str], Any]
_WORDS = {"true": True, "1": True, "false": False, "0": False}
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_JAVA_FLOAT = re.compile(
    r"[\x00-\x20]*([+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?))[\x00-\x20]*",
    re.ASCII,
)
_SOME_NUMBER = re.compile(r"(-?)(,*\d[\d,]*(?:\.\d*)?|\.\d+)(E-?\d+)?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ISO_DATE = "yyyy-MM-dd"


class _Misfit(ValueError):
    """A value that is not of its type, or stands where none is expected."""


class _Partial(_Misfit):
    """An element some of whose fields could not be read, and the others."""

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__("some fields")
        self.row = row


# Reading


@kernel("from_xml")
def _from_xml(call: Call, args: Sequence[Value]) -> Array:
    options, kind = options_of(args[2:]), call.kind
    corrupt = options.get("columnnameofcorruptrecord", CORRUPT)
    strict = options.get("mode", "").upper() == "FAILFAST"
    keeps = any(each.name == corrupt for each in kind)

    def value(text: str) -> dict[str, Any]:
        try:
            return reader.whole(text)
        except _Partial as error:
            row = error.row
        except (_Misfit, MalformedXml):
            row = {}
        if strict:
            raise EvaluationError(
                "MALFORMED_RECORD_IN_PARSING", f"{text!r} is not XML of the type of from_xml"
            )
        return {**row, corrupt: text} if keeps else row

    reader = _Reader(options, kind)
    return per_distinct(value, [args[0]], counted(kind)).cast(kind)


class _Reader:
    """How elements are read as values of types."""

    def __init__(self, options: Options, kind: Any) -> None:
        self.xml, self.options, self.kind = Xml(options), options, kind
        self.wildcard = options.get("wildcardcolname", "xs_any")
        self._fields: dict[Any, dict[str, Any]] = {}
        self._readers: dict[Any, Read] = {}

    def whole(self, text: str) -> dict[str, Any]:
        """A text as a struct."""
        events = Events(text)
        start = events.next()
        assert isinstance(start, Start)
        return self._struct(events, self.kind, self._attributes(start, self.kind))

    def _field(self, kind: Any, name: str) -> Any:
        """The field of a struct by its name, in which upper and lower case are the same."""
        if kind not in self._fields:
            self._fields[kind] = {each.name.lower(): each for each in reversed(list(kind))}
        return self._fields[kind].get(name.lower())

    def _attributes(self, start: Start, kind: Any) -> dict[str, Any]:
        found = {}
        for name, text in self.xml.attributes(start).items():
            field = self._field(kind, name)
            if field is not None:
                found[field.name] = self._value(text, field.type)
        return found

    def _struct(self, events: Events, kind: Any, row: dict[str, Any]) -> dict[str, Any]:
        """An element whose start is passed, up to and with its end."""
        whole = True
        while not isinstance(event := events.next(), End):
            if isinstance(event, Start):
                try:
                    self._element(events, event, kind, row)
                except (_Misfit, MalformedXml):
                    whole = False
            elif not event.is_white:
                self._add_text(kind, row, event.data)
        if not whole:
            raise _Partial(row)
        return row

    def _element(self, events: Events, start: Start, kind: Any, row: dict[str, Any]) -> None:
        """The field of a struct that an element is."""
        name = self.xml.name(start.name)
        field = self._field(kind, name)
        if field is None and self.wildcard not in (each.name for each in kind):
            _skip(events)
        elif field is None:
            _add(row, kind.field(self.wildcard), self._any(events, STRING, start, name))
        elif is_array(field.type):
            item = field.type.value_type
            _add(row, field, self._any(events, item, start, name, is_item=True))
        else:
            row[field.name] = self._any(events, field.type, start, name)

    def _any(
        self, events: Events, kind: Any, start: Start, name: str, *, is_item: bool = False
    ) -> Any:
        """An element as a value of a type."""
        if not is_struct(kind):
            return self._inside(events, kind, name, () if is_item else start.attributes)
        attributes = self._attributes(start, kind)
        row = self._inside(events, kind, name, ())
        return {**(row or {}), **attributes}

    def _inside(
        self, events: Events, kind: Any, name: str, attributes: tuple[tuple[str, str], ...]
    ) -> Any:
        """What is between the start of an element, which is passed, and its end."""
        event = events.peek()
        if isinstance(event, End):
            self._end(events, name)
            return "" if kind == STRING and self.xml.null != "" else None
        if kind == STRING:
            return self._value(self._written(events, name), kind)
        if is_struct(kind):
            return self._struct(events, kind, {})
        if isinstance(event, Start):
            if is_map(kind):
                return self._map(events, kind.item_type, attributes)
            if is_array(kind):
                return self._inside(events, kind.value_type, name, ())
            raise _Misfit("an element where a value is expected")
        if is_array(kind):
            events.next()
            value = self._value(event.data, kind.value_type)
        elif event.is_white:
            events.next()
            return self._inside(events, kind, name, attributes)
        else:
            value = self._value(event.data, kind)
            events.next()
        self._end(events, name)
        return value

    def _map(
        self, events: Events, kind: Any, attributes: tuple[tuple[str, str], ...]
    ) -> list[tuple[str, Any]]:
        found = {self.xml.prefix + name: self._value(text, kind) for name, text in attributes}
        while not isinstance(event := events.next(), End):
            if isinstance(event, Start):
                key = self.xml.name(event.name)
                found[key] = self._inside(events, kind, key, ())
            elif not event.is_white:
                found[self.xml.value_tag] = self._value(event.data, kind)
        return list(found.items())

    def _add_text(self, kind: Any, row: dict[str, Any], text: str) -> None:
        field = self._field(kind, self.xml.value_tag)
        if field is None or field.name != self.xml.value_tag:
            return
        item = field.type.value_type if is_array(field.type) else field.type
        _add(row, field, self._value(text, item))

    def _written(self, events: Events, name: str) -> str:
        """All that is inside of an element, as text."""
        parts: list[str] = []
        depth = 0
        while True:
            event = events.next()
            if isinstance(event, Start):
                given = "".join(f' {key}="{value}"' for key, value in event.attributes)
                parts.append(f"<{event.name}{given}>")
                depth += 1
            elif isinstance(event, End):
                parts.append(f"</{event.name}>")
                depth -= 1
            else:
                parts.append(event.data)
            if depth <= 0 and isinstance(events.peek(), End):
                break
        self._end(events, name)
        return "".join(parts)

    def _end(self, events: Events, name: str) -> None:
        """Passes the end of an element, with nothing but space before it."""
        while isinstance(event := events.next(), Text) and event.is_white:
            pass
        if not isinstance(event, End) or self.xml.name(event.name) != name:
            raise _Misfit(f"{name} does not end here")

    # Values

    def _value(self, text: str | None, kind: Any) -> Any:
        """A text as a value of a type that is not nested."""
        known = None if text is None else self.xml.value(text)
        if known is None:
            return None
        if kind not in self._readers:
            self._readers[kind] = self._reader(kind)
        value = self._readers[kind](known)
        if value is None:
            raise _Misfit(f"{known!r} is not of its type")
        return value

    def _reader(self, kind: Any) -> Read:
        if is_nested(kind):
            return lambda text: None
        if kind == STRING:
            return str
        if kind == BOOLEAN:
            return lambda text: _WORDS.get(text.lower())
        if is_integer(kind):
            return _signed(_whole(kind)) if kind in (INT, BIGINT) else _whole(kind)
        if is_float(kind):
            return _signed(_float(kind))
        if is_decimal(kind):
            return _decimal(kind)
        pattern = self.options.get(FORMATS.get(kind, ""), _ISO_DATE if kind == DATE else None)
        if pattern is not None:
            return by_pattern(kind, pattern)
        read = parser(kind)
        if kind == TIMESTAMP_NTZ:
            return lambda text: None if re.search(r":\d+ *([+-]|Z|[A-Z])", text) else read(text)
        return read


def _add(row: dict[str, Any], field: Any, value: Any) -> None:
    """A further value of a field, if it has a list of them; else the value."""
    row[field.name] = [*row.get(field.name, ()), value] if is_array(field.type) else value


def _skip(events: Events) -> None:
    """Passes an element whose start is passed."""
    depth = 1
    while depth:
        event = events.next()
        depth += isinstance(event, Start) - isinstance(event, End)


def _signed(read: Read) -> Read:
    """The sign before a number is read by itself: a second one is the number's own."""

    def signed(text: str) -> Any:
        value = read(text[1:] if text[:1] in ("+", "-") else text)
        return -value if value is not None and text.startswith("-") else value

    return signed


def _whole(kind: Any) -> Read:
    def read(text: str) -> int | None:
        value = int(text) if _WHOLE.fullmatch(text) else None
        return value if value is not None and fits(value, kind) else None

    return read


def _float(kind: Any) -> Read:
    exact = parser(kind)

    def read(text: str) -> Any:
        if _JAVA_FLOAT.fullmatch(text):
            return exact(text)
        found = _SOME_NUMBER.match(text)
        if found is None:
            return None
        return exact(found[1] + found[2].replace(",", "") + (found[3] or ""))

    return read


def _decimal(kind: Any) -> Read:
    exact = parser(kind)

    def read(text: str) -> Any:
        plain = text.replace(",", "")
        return exact(plain) if _DECIMAL.fullmatch(plain) else None

    return read


# Writing

_NAME_START = (
    ":A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = re.compile(rf"[{_NAME_START}][{_NAME_START}\-.0-9\xb7\u0300-\u036f\u203f-\u2040]*")
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_IN_TEXT = {ord("&"): "&amp;", ord("<"): "&lt;", ord("\r"): "&#xd;"}
_IN_ATTRIBUTE = {**_IN_TEXT, ord('"'): "&quot;", ord("\n"): "&#xa;", ord("\t"): "&#x9;"}


@kernel("to_xml")
def _to_xml(call: Call, args: Sequence[Value]) -> Array:
    options, kind = options_of(args[1:]), args[0].type
    writer = _Writer(options)
    name = options.get("rowtag", "ROW")
    rows = plain_values(args[0])
    texts = [None if each is None else writer.row(name, kind, each) for each in rows]
    return pa.array(texts, STRING)


class _Writer:
    """How values are written as elements, each on a line of its own."""

    def __init__(self, options: Options) -> None:
        self.xml, self.options = Xml(options), options
        self.item = options.get("arrayelementname", "item")
        self.indent = options.get("indent", "    ")
        self.null = self.xml.null

    def row(self, name: str, kind: Any, value: Any) -> str:
        """A struct as text."""
        written: list[str] = []
        self._element(written, name, kind, value, 0)
        return "".join(written) + ("" if self.indent else "\n")

    def _element(self, out: list[str], name: str, kind: Any, value: Any, depth: int) -> bool:
        """Writes a value, and says whether as an element: a null is none, and what is beside other
        elements is a text."""
        if value is None and self.null is None:
            return False
        if name == self.xml.value_tag:
            return self._content(out, [], kind, value, depth)
        attributes: list[str] = []
        inside: list[str] = []
        has_elements = self._content(inside, attributes, kind, value, depth + 1)
        if self.indent:
            out.append(("\n" if depth else "") + self.indent * depth)
        out.append(f"<{_checked(name)}{''.join(attributes)}")
        if not inside:
            out.append("/>")
            return True
        end = "\n" + self.indent * depth if self.indent and has_elements else ""
        out += [">", *inside, f"{end}</{name}>"]
        return True

    def _content(
        self, out: list[str], attributes: list[str], kind: Any, value: Any, depth: int
    ) -> bool:
        """What is inside of an element, and whether there is an element."""
        if value is None or not is_nested(kind):
            text = str(self.null) if value is None else self._text(value, kind)
            out.append(_escaped(text, _IN_TEXT).replace("]]>", "]]&gt;"))
            return False
        if is_array(kind):
            parts = [(self.item, kind.value_type, each) for each in value]
        elif is_map(kind):
            key = kind.key_type
            parts = [(self._text(name, key), kind.item_type, each) for name, each in value]
        else:
            parts = [(each.name, each.type, value[each.name]) for each in kind]
        ends = False
        for name, own, each in parts:
            if not self._is_attribute(name):
                ends = self._child(out, name, own, each, depth, ends)
            elif each is not None or self.null is not None:
                text = str(self.null) if each is None else _as_java_has_it(each, own)
                bare = _checked(name.removeprefix(self.xml.prefix))
                attributes.append(f' {bare}="{_escaped(text, _IN_ATTRIBUTE)}"')
        return ends

    def _child(
        self, out: list[str], name: str, kind: Any, value: Any, depth: int, ends: bool
    ) -> bool:
        """A part of a value, a list as several; whether there is an element then."""
        items = value if is_array(kind) and value is not None else [value]
        own = kind.value_type if is_array(kind) and value is not None else kind
        for item in items:
            if item is not None or self.null is not None:
                ends |= self._element(out, name, own, item, depth)
        return ends

    def _is_attribute(self, name: str) -> bool:
        return name.startswith(self.xml.prefix) and name != self.xml.value_tag

    def _text(self, value: Any, kind: Any) -> str:
        if kind in FORMATS:
            return moment_text(value, kind, self.options)
        if isinstance(value, Decimal):
            return str(value)
        return plain_text(value, kind)


def _as_java_has_it(value: Any, kind: Any) -> str:
    """The value of an attribute: dates and times are numbers, of a TIME nanoseconds."""
    if kind == DATE or is_timestamp(kind):
        return str(value)
    if kind == TIME:
        return str(value * 1000)
    return str(value) if isinstance(value, Decimal) else plain_text(value, kind)


def _checked(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise EvaluationError("XML_NAME", f"to_xml: {name!r} is not the name of an element")
    return name


def _escaped(text: str, by: dict[int, str]) -> str:
    bad = _NO_CHARACTER.search(text)
    if bad is not None:
        raise EvaluationError("XML_CHARACTER", f"to_xml: there is no {bad[0]!r} in XML")
    return text.translate(by)
