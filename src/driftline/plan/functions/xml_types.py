"""from_xml, to_xml and schema_of_xml, and the types that texts of XML have."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, constant, register, wrong_argument
from driftline.plan.functions.csv_types import MODES, READING, TIME_FORMATS, options
from driftline.plan.functions.json_types import written_type
from driftline.plan.literals import fits
from driftline.plan.temporal import parse_time, parse_timestamp
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    VOID,
    DataType,
    is_array,
    is_map,
    is_nested,
    is_struct,
    quoted,
    type_name,
)
from driftline.plan.xml_events import End, Events, MalformedXml, Start, Text

NAMES = ("attributePrefix", "valueTag")
_ELEMENTS = ("excludeAttribute", "ignoreSurroundingSpaces", "ignoreNamespace", "nullValue")
_FROM = (*NAMES, *_ELEMENTS, *READING, "wildcardColName")
_TO = ("rowTag", *NAMES, "arrayElementName", "nullValue", "indent", *TIME_FORMATS)
_SCHEMA = (*NAMES, *_ELEMENTS, "inferSchema", "mode", "columnNameOfCorruptRecord")
_UNREAD = (BINARY, INTERVAL, INTERVAL_MONTHS, VOID, VARIANT)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_DOUBLE = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[\x00-\x20]*", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_SIGNS = ("+", "-")


class Xml:
    """How elements and attributes are named, and what of them counts, by options whose names are
    in lower case."""

    def __init__(self, given: dict[str, str]) -> None:
        self.prefix = given.get("attributeprefix", "_")
        self.value_tag = given.get("valuetag", "_VALUE")
        self.null = given.get("nullvalue")
        self.has_attributes = not _is_true(given, "excludeattribute")
        self._trims = given.get("ignoresurroundingspaces", "true").lower() == "true"
        self._is_plain = _is_true(given, "ignorenamespace")

    def name(self, written: str) -> str:
        """The name of an element, without a prefix if prefixes do not matter."""
        return written.rpartition(":")[2] if self._is_plain else written

    def value(self, text: str) -> str | None:
        """A text as it counts; None if it stands for null."""
        text = text.strip("".join(map(chr, range(33)))) if self._trims else text
        return None if text == self.null else text

    def attributes(self, start: Start) -> dict[str, str | None]:
        """The attributes of an element, as fields."""
        if not self.has_attributes:
            return {}
        return {self.prefix + self.name(name): self.value(text) for name, text in start.attributes}


def _is_true(given: dict[str, str], name: str) -> bool:
    return given.get(name, "").lower() == "true"


def _given(args: Arguments, function: str, known: tuple[str, ...]) -> dict[str, str]:
    """The options, if there are any."""
    found: dict[str, str] = {}
    for each in args:
        found = options(each, function, known)
    if "" in (found.get("valuetag"), found.get("rowtag")):
        raise ExpressionError(f"{function}: valueTag and rowTag are not empty")
    if found.get("valuetag", "_VALUE") == found.get("attributeprefix", "_"):
        raise ExpressionError(f"{function}: valueTag and attributePrefix are not the same")
    return found


@register("from_xml", 2, 3)
def _from_xml(args: Arguments) -> Expression:
    text = argument(args[0], STRING, "from_xml", 1)
    written = constant(args[1], "the type of from_xml")
    kind = written_type(written) if isinstance(written, str) else VOID
    if not is_struct(kind):
        raise ExpressionError("the type of from_xml is a text, such as 'a INT, b STRING'")
    _check(kind)
    _given(args[2:], "from_xml", _FROM)
    return Call("from_xml", (text, Literal(written, STRING), *args[2:]), kind)


def _check(kind: DataType) -> None:
    if kind in _UNREAD or (is_map(kind) and kind.key_type != STRING):
        raise ExpressionError(f"from_xml does not read a {type_name(kind)}")
    for place in range(kind.num_fields):
        inside = kind.field(place).type
        if is_array(inside) and not is_struct(kind):
            raise ExpressionError("from_xml reads ARRAYs as fields of a STRUCT, and not elsewhere")
        _check(inside)


@register("to_xml", 1, 2)
def _to_xml(args: Arguments) -> Expression:
    if not is_struct(args[0].type) or args[0].type == VARIANT:
        raise wrong_argument("to_xml", 1, "STRUCT", args[0])
    given = _given(args[1:], "to_xml", _TO)
    if given.get("attributeprefix") == "":
        raise ExpressionError("to_xml: attributePrefix is not empty")
    _check_written(args[0].type, Xml(given))
    return Call("to_xml", args, STRING)


def _check_written(kind: DataType, xml: Xml, name: str = "") -> None:
    if kind in (INTERVAL, INTERVAL_MONTHS, VARIANT):
        raise ExpressionError(f"to_xml does not write a {type_name(kind)}: cast it to STRING")
    is_attribute = name.startswith(xml.prefix) and name != xml.value_tag
    if is_attribute and (is_nested(kind) or kind == BINARY):
        raise ExpressionError(f"to_xml: {name} is an attribute, and no {type_name(kind)}")
    if is_struct(kind) and len(set(_names(kind))) < kind.num_fields:
        raise ExpressionError("to_xml: the fields of a struct have different names")
    for place in range(kind.num_fields):
        field = kind.field(place)
        _check_written(field.type, xml, field.name if is_struct(kind) else "")


@register("schema_of_xml", 1, 2)
def _schema_of_xml(args: Arguments) -> Expression:
    text = constant(argument(args[0], STRING, "schema_of_xml", 1), "the text of schema_of_xml")
    if text is None:
        raise ExpressionError("schema_of_xml takes a text of XML, and not NULL")
    given = _given(args[1:], "schema_of_xml", _SCHEMA)
    try:
        kind = _Inference(given).of_text(text)
    except MalformedXml as error:
        if given.get("mode", MODES[0]).upper() != MODES[0]:
            raise ExpressionError(f"schema_of_xml: this is not XML: {error}") from None
        kind = pa.struct([(given.get("columnnameofcorruptrecord", "_corrupt_record"), STRING)])
    except RecursionError:
        raise ExpressionError("schema_of_xml: the elements are nested too deeply") from None
    return Literal(_ddl(kind) or "STRUCT<>", STRING)


def _ddl(kind: DataType) -> str | None:
    """The type as Spark writes it; what is always null is a STRING, and a struct without fields is
    none."""
    if is_array(kind):
        inside = _ddl(kind.value_type)
        return inside and f"ARRAY<{inside}>"
    if is_struct(kind):
        fields = [(field.name, _ddl(field.type)) for field in kind]
        known = ", ".join(f"{quoted(name)}: {inside}" for name, inside in fields if inside)
        return f"STRUCT<{known}>" if known else None
    return "STRING" if kind == VOID else type_name(kind)


class _Inference:
    """The type of a text, as Spark infers it."""

    def __init__(self, given: dict[str, str]) -> None:
        self.xml = Xml(given)
        self.infers = given.get("inferschema", "true").lower() == "true"

    def of_text(self, text: str) -> DataType:
        """The struct of the outermost element."""
        events = Events(text)
        start = events.next()
        assert isinstance(start, Start)
        return self._struct(events, self._attributes(start))

    def _attributes(self, start: Start) -> list[tuple[str, DataType]]:
        return [(name, self._of_value(text)) for name, text in self.xml.attributes(start).items()]

    def _struct(self, events: Events, attributes: list[tuple[str, DataType]]) -> DataType:
        """The struct of an element whose start is passed."""
        fields: dict[str, tuple[str, DataType]] = {}

        def add(name: str, kind: DataType) -> None:
            first, known = fields.get(name.lower(), (name, None))
            if known is not None:
                kind = self._merged(known, kind)
                kind = kind if is_array(known) else pa.list_(kind)
            fields[name.lower()] = first, kind

        for each in attributes:
            add(*each)
        while not isinstance(event := events.next(), End):
            if isinstance(event, Start):
                add(self.xml.name(event.name), self._element(events, event))
            elif not event.is_white:
                add(self.xml.value_tag, self._of_value(self.xml.value(event.data)))
        return pa.struct(sorted(fields.values(), key=lambda field: field[0]))

    def _element(self, events: Events, start: Start) -> DataType:
        """The type of an element: of its text, if it has nothing else."""
        kind = VOID
        if isinstance(events.peek(), End):
            events.next()
        else:
            is_text = isinstance(events.peek(), Text)
            kind = self._struct(events, [])
            if is_text and kind.num_fields == 0:
                kind = VOID
            elif is_text and self._is_value(kind):
                kind = kind.field(0).type
        attributes = self._attributes(start)
        if not attributes:
            return kind
        if not is_struct(kind):
            kind = pa.struct([] if kind == VOID else [(self.xml.value_tag, kind)])
        fields = [(field.name, field.type) for field in kind]
        return pa.struct(sorted([*fields, *attributes], key=lambda field: field[0]))

    def _is_value(self, kind: DataType) -> bool:
        if kind.num_fields != 1:
            return False
        (field,) = kind
        return field.name.lower() == self.xml.value_tag.lower() and not is_nested(field.type)

    def _of_value(self, text: str | None) -> DataType:
        """The type of a text."""
        if not self.infers:
            return STRING
        if not text:
            return VOID
        unsigned = text[1:] if text.startswith(_SIGNS) else text
        if unsigned[:1].isdecimal() and _WHOLE.fullmatch(unsigned) and fits(int(unsigned), BIGINT):
            return BIGINT
        if _DOUBLE.fullmatch(unsigned):
            return DOUBLE
        if parse_time(text) is not None:
            return TIME
        if _DATE.fullmatch(text) and parse_timestamp(text) is not None:
            return DATE
        if parse_timestamp(text) is not None:
            return TIMESTAMP
        return BOOLEAN if text.lower() in ("true", "false") else STRING

    def _merged(self, one: DataType, other: DataType) -> DataType:
        """The type that holds values of both."""
        if VOID in (one, other) or one == other:
            return other if one == VOID else one
        if is_array(one) or is_array(other):
            kinds = (each.value_type if is_array(each) else each for each in (one, other))
            return pa.list_(self._merged(*kinds))
        if is_struct(one) and is_struct(other):
            return self._both(one, other)
        for struct, plain in ((one, other), (other, one)):
            if is_struct(struct) and self.xml.value_tag in _names(struct):
                return self._both(struct, pa.struct([(self.xml.value_tag, plain)]))
        if {one, other} == {BIGINT, DOUBLE}:
            return DOUBLE
        return TIMESTAMP if {one, other} == {DATE, TIMESTAMP} else STRING

    def _both(self, one: DataType, other: DataType) -> DataType:
        fields: dict[str, tuple[str, DataType]] = {}
        for field in (*one, *other):
            name, known = fields.get(field.name.lower(), (field.name, VOID))
            fields[name.lower()] = name, self._merged(known, field.type)
        return pa.struct(sorted(fields.values(), key=lambda field: field[0]))


def _names(fields: Iterable[pa.Field]) -> list[str]:
    return [field.name for field in fields]
