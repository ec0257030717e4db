"""What went wrong in a query on Spark, in a sentence: Spark tells it with all that led to it."""

from __future__ import annotations

import re

_NAMED = re.compile(
    r"\s*(?:Caused by: )?((?:[\w$]+\.)+[A-Z][\w$]*|[\w$]*(?:Error|Exception)): (.*)"
)
_WHERE_IT_WAS = re.compile(r"\s+at \S+\(|\s*File \"|Traceback|==|SQLSTATE|\s*\.\.\. \d+ more")
_CLASS = re.compile(r"^\[[A-Z_.0-9]+\] ")
_SPARKS = re.compile(r"\s*(SQLSTATE: \w+|If necessary set \"spark\.sql\.ansi\.enabled\".*?error\.)")


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
    >>> cause("Invalid value 'x' for option 'y'")
    "Invalid value 'x' for option 'y'"
    """
    told = text.partition("=== Streaming Query ===")[0]
    said = told.split("terminated with exception: ")[-1]
    found: list[str] = []
    lines = told.splitlines()
    for number, line in enumerate(lines):
        match = _NAMED.match(line)
        if match is None or match[2].startswith("Traceback"):
            continue
        found = [match[2]]
        for following in lines[number + 1 :]:
            if not following.strip() or _WHERE_IT_WAS.match(following) or _NAMED.match(following):
                break
            found.append(following)
    whole = " ".join(" ".join(found).split()) if found else " ".join(said.split())
    return _CLASS.sub("", _SPARKS.sub("", whole)).strip()
