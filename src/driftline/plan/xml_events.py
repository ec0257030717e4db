"""A text of XML as the events of a pull parser: the starts and ends of its elements, and the texts
between them.

Names are as they are written, with their prefixes. Comments and instructions are left out, and cut
a text in two. Nothing outside of the text is read, and entities that it declares itself are
malformed. What comes after the outermost element is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.parsers import expat

_WHITE = " \t\r\n"


class MalformedXml(ValueError):
    """A text that is no XML, from some place on."""


@dataclass(frozen=True)
class Start:
    """The start of an element."""

    name: str
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Text:
    """A text in an element."""

    data: str

    @property
    def is_white(self) -> bool:
        """Whether there is nothing but space in it."""
        return not self.data.strip(_WHITE)


@dataclass(frozen=True)
class End:
    """The end of an element."""

    name: str


Event = Start | Text | End


class Events:
    """The events of a text, one after the other, from those of the outermost element on."""

    def __init__(self, text: str) -> None:
        self._events: list[Event] = []
        self._text: list[str] = []
        self._place = self._depth = 0
        self._error: str | None = None
        self._read(text)

    def peek(self) -> Event:
        """The next event; an error where the text is malformed."""
        if self._place < len(self._events):
            return self._events[self._place]
        raise MalformedXml(self._error or "there are no more elements")

    def next(self) -> Event:
        """The next event, which is then passed."""
        event = self.peek()
        self._place += 1
        return event

    def _read(self, text: str) -> None:
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.CommentHandler = lambda _: self._flush()
        parser.ProcessingInstructionHandler = lambda *_: self._flush()
        parser.EntityDeclHandler = self._refuse
        try:
            parser.Parse(text.encode(), True)
        except expat.ExpatError as error:
            if self._depth or not self._events:
                self._flush()
                self._error = str(error)
        except MalformedXml as error:
            self._error = str(error)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._flush()
        self._depth += 1
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        self._events.append(Start(name, tuple(pairs)))

    def _end(self, name: str) -> None:
        self._flush()
        self._depth -= 1
        self._events.append(End(name))

    def _flush(self) -> None:
        if self._text:
            self._events.append(Text("".join(self._text)))
            self._text.clear()

    @staticmethod
    def _refuse(*_: object) -> None:
        raise MalformedXml("entities that a text declares itself are not expanded")
