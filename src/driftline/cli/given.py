"""What is given as inputs: by `--input` or by the script, and of which stream each is."""

from __future__ import annotations

import io
import sys
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlencode

from driftline.cli.streams import form_by_name, need_csv, parted, taken_csv, taken_form
from driftline.event_log.apart import STDIN, Used, is_there
from driftline.running.environment import filled_in
from driftline.running.problems import Problem
from driftline.running.streams import Form, Streamed, files_of

if TYPE_CHECKING:
    from driftline.plan.nodes import Source
    from driftline.sql import Script

STANDARD_INPUT = "-"
LINES_LOOKED_AT = 10
"""So many tell what standard input is."""

PATTERN = "*["
"""With one of these a path is a pattern."""


@dataclass(frozen=True)
class DeclaredInput:
    """An input that the script itself names, and its options."""

    name: str
    path: str
    options: Mapping[str, str]

    @property
    def by(self) -> str:
        return f"CREATE STREAM {self.name}: path"


@dataclass(frozen=True)
class Given:
    """A file, or what was read of standard input or a topic, and of which stream it is; `by`: what
    names it."""

    name: str | None
    path: str
    data: Path | bytes
    stream: str | None = None  # what a log calls it, if not by its name
    form: Form | None = None  # what it is, if that was written
    by: str = "--input"
    csv: Mapping[str, str] = field(default_factory=dict)  # and how, if it is CSV

    @property
    def shown(self) -> str:
        return "<stdin>" if self.path == STANDARD_INPUT else self.path

    @cached_property
    def format(self) -> Form:
        """What it is: as was written, or else by the name of a file, and by the first lines of JSON
        and of standard input."""
        from driftline.engine.readers.json_records import is_log

        if self.form is not None:
            return self.form
        if isinstance(self.data, bytes):
            return "csv" if _is_csv(self.data) else "log" if is_log(self.data) else "json"
        found = form_by_name(self.data)
        if found is None:
            raise Problem(
                f"{self.by}: {self.path}: its format is inferred from .jsonl, .csv or .parquet: "
                f"name it so, or say it, {self.path}?format=csv"
            )
        return "log" if found == "json" and is_log(self.data) else found

    def opened(self) -> str | IO[bytes]:
        return str(self.data) if isinstance(self.data, Path) else self.stream_of_bytes()

    def stream_of_bytes(self) -> IO[bytes]:
        """What was read, to be read again."""
        assert isinstance(self.data, bytes)
        stream = io.BytesIO(self.data)
        stream.name = self.shown
        return stream


def _is_csv(data: bytes) -> bool:
    """Whether none of the first lines is an object of JSON."""
    lines = data.removeprefix(BOM_UTF8).split(b"\n", LINES_LOOKED_AT)[:LINES_LOOKED_AT]
    begun = [line.lstrip()[:1] for line in lines if line.strip()]
    return bool(begun) and b"{" not in begun


def with_declared(
    wanted: Sequence[str], script: Script, sources: Mapping[str, Source]
) -> list[str | DeclaredInput]:
    """The arguments of --input, and what the script says of the streams that none of them names."""
    given = {named(text, sources)[0] for text in wanted}
    found: list[str | DeclaredInput] = [*wanted]
    for name, connector in script.inputs.items():
        if name not in sources or name in given:
            continue
        options = {
            key: filled_in(value, f"CREATE STREAM {name}: {key}")
            for key, value in connector.options.items()
        }
        found.append(DeclaredInput(name, options.pop("path"), options))
    return found


def files_read(wanted: Sequence[str | DeclaredInput], sources: Mapping[str, Source]) -> list[Used]:
    """The files and directories that are to be read."""
    found = []
    for each in wanted:
        _, path = named(each, sources)
        if path == STANDARD_INPUT:
            found.append(Used("standard input", STDIN))
        elif path:
            what = f"the path of {each.name}," if isinstance(each, DeclaredInput) else "--input"
            found += [Used(what, parted(one)[0]) for one in expanded(path, named_by(each))]
    return found


def expanded(path: str, by: str) -> list[str]:
    """The paths that a pattern such as data/*.csv stands for now, by their names, each with the
    options behind it; any other is itself."""
    place, options = parted(path)
    if "://" in place or is_there(place) or not any(sign in place for sign in PATTERN):
        return [path]
    found = sorted(glob(place, recursive=True))  # noqa: PTH207 - it may be absolute
    if not found:
        raise Problem(f"{by}: {place}: there is no such file")
    behind = f"?{urlencode(options)}" if options else ""
    return [f"{each}{behind}" for each in found]


def named_by(given: str | DeclaredInput) -> str:
    """What names an input, for errors."""
    return given.by if isinstance(given, DeclaredInput) else "--input"


def named(text: str | DeclaredInput, sources: Mapping[str, Source]) -> tuple[str | None, str]:
    if isinstance(text, DeclaredInput):
        return text.name, text.path
    if is_there(text):
        return None, text
    for name in sorted(sources, key=len, reverse=True):
        before, after = text[: len(name)], text[len(name) :]
        if before.lower() == name.lower() and after.startswith("="):
            return name, after[1:]
    before, sign, after = text.partition("=")
    if sign and before.isidentifier():
        return _known(before, sources), after
    return None, text


def given_by(name: str | None, path: str, options: Mapping[str, str], by: str) -> Given:
    place, more = parted(path)
    left = {**more, **options}
    form, csv, stream = taken_form(left, by), taken_csv(left), left.pop("stream", None)
    if place == STANDARD_INPUT:
        data: Path | bytes = sys.stdin.buffer.read()
    elif not place or not is_there(place):
        raise Problem(f"{by}: {place or f'{name}='}: there is no such file")
    else:
        data = Path(place)
    if left:
        known = "format, stream, delimiter, timestampFormat and dateFormat"
        raise Problem(f"{by}: {place}: a file has no option {next(iter(left))}; there are {known}")
    given = Given(name, place, data, stream, form, by, csv)
    if csv:
        need_csv(csv, given.format, by)
    return given


def logs_of(name: str | None, given: Streamed, by: str) -> list[Given]:
    """A directory of event logs as its files, which are read one after another; or what a topic has
    now."""
    if given.kind == "kafka":
        from driftline.running.kafka import all_there_is, lines, topic_of

        text = lines(all_there_is(topic_of(given)))
        return [Given(name, given.shown, text, given.stream, "log", by)]
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"{by}: {given.shown} is for --runner spark")
    return [
        Given(name, str(path), path, given.stream, by=by)
        for path in files_of(Path(given.place), given.first)
    ]


def _known(name: str, sources: Mapping[str, Source]) -> str:
    for each in sources:
        if each.lower() == name.lower():
            return each
    near = get_close_matches(name, sources, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it reads {', '.join(sources) or 'none'}"
    raise Problem(f"--input: the query reads no stream {name}; {hint}")


def guessed(path: str, sources: Mapping[str, Source]) -> str:
    """The stream that a file of records without a name can only be."""
    stem = Path(path).name.split(".")[0].lower()
    for name in sources:
        if name.lower() == stem:
            return name
    if not sources:
        raise Problem(
            f"--input {path}: the query reads no stream, so that there is nothing to read"
        )
    if len(sources) == 1:
        return next(iter(sources))
    raise Problem(
        f"{path} holds plain records: say of which stream, --input {next(iter(sources))}={path}"
    )
