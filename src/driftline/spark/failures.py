"""Failures of a query on Spark in one sentence, taken from Spark's long messages."""

from __future__ import annotations

import re

_NAMED = re.compile(
    r"\s*(?:Caused by: |: )?((?:[\w$]+\.)+[A-Z][\w$]*|[\w$]*(?:Error|Exception)): (.*)"
)
_WHERE_IT_WAS = re.compile(r"\s+at \S+\(|\s*File \"|Traceback|==|SQLSTATE|\s*\.\.\. \d+ more")
_FILE = re.compile(
    r"\[FAILED_READ_FILE[.\w]*\] Encountered error while reading file (.+?)\.(?: |$)"
    r"(Data type mismatches .+?\.(?= |$))?"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CLASS = re.compile(r"^\[[A-Z_.0-9]+\] ")
_SPARKS = re.compile(r"\s*(SQLSTATE: \w+|If necessary set \"spark\.sql\.ansi\.enabled\".*?error\.)")

TOO_SLOW = "Python worker failed to connect back"
"""What Spark says of a process that took more than ten seconds to start."""


def cause(text: str) -> str:
    r"""The sentence at the bottom of a message with stack traces.

    >>> cause('''[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted: \\
    ... org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered error
    ... \tat org.apache.spark.Reader(Reader.scala:1)
    ... Caused by: org.apache.spark.SparkIllegalArgumentException: CSV header does not conform.
    ...  Header: a, b
    ... \tat org.apache.spark.CSV(CSV.scala:2)
    ... === Streaming Query ===
    ... some.Error: of the plan''')
    'CSV header does not conform. Header: a, b'
    >>> cause('''a.B: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/3.gz.
    ... \tat org.apache.spark.Reader(Reader.scala:1)
    ... Caused by: java.io.IOException: not a gzip file''')
    'file:/3.gz: not a gzip file'
    >>> cause("Invalid value 'x' for option 'y'")
    "Invalid value 'x' for option 'y'"
    """
    message = _COLOUR.sub("", text.partition("=== Streaming Query ===")[0])
    if TOO_SLOW in message:
        return (
            "Python processes took more than ten seconds to start, again and again: the machine is "
            "too busy; run it again, and with the same --checkpoint it goes on"
        )
    sentence = message.split("terminated with exception: ")[-1]
    found: list[str] = []
    lines = message.splitlines()
    for number, line in enumerate(lines):
        match = _NAMED.match(line)
        if match is None or match[2].startswith("Traceback"):
            continue
        found = [match[2]]
        for following in lines[number + 1 :]:
            if not following.strip() or _WHERE_IT_WAS.match(following) or _NAMED.match(following):
                break
            found.append(following)
    whole = " ".join(" ".join(found).split()) if found else " ".join(sentence.split())
    sentence = _CLASS.sub("", _SPARKS.sub("", whole)).strip()
    if (file := _FILE.search(" ".join(message.split()))) is None:
        return sentence
    path, types = file.groups()
    return f"{path}: {types}" if types else sentence if path in sentence else f"{path}: {sentence}"


def could_not_start(text: str, master: str | None = None) -> str:
    """Why there is no Spark, and what to do.

    >>> could_not_start("a.SparkException: Could not parse Master URL: 'local[x'", "local[x")
    "Spark could not be started with --master local[x: Could not parse Master URL: 'local[x'"
    """
    given = "" if master is None else f" with --master {master}"
    why = cause(text)
    if "stopped SparkContext" in text:
        why = "no cluster answered there"
    elif "JAVA_GATEWAY_EXITED" in text:
        why = (
            "Java has ended before it was there: is Java 17 or newer installed, and are --master "
            "and --conf right? --debug shows what it said"
        )
    return f"Spark could not be started{given}: {why}"
