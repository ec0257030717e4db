"""Names of classes, files, functions and attributes explain themselves, as CONTRIBUTING.md asks."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "driftline"
TREES = {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}

COUNTERPARTS = ("plan/nodes/", "engine/", "model/reference/")
"""A node of a plan, the operator that runs it and its reference may share a name: one class in
each of these folders."""

STILL_TWICE = {"Bounds", "Variable"}
"""Class names that are used twice. Users know both `Bounds`: those of `dl.stream` and the matrix of
`driftline.time`. Fingerprints of plans, which checkpoints hold, have the names of classes in
expressions and in patterns: both have a `Variable`. This set only becomes shorter."""

MOST_FILES = 3
STILL_OFTEN = {"aggregates.py", "as_of.py", "conditions.py", "errors.py", "explode.py"}
STILL_OFTEN |= {"streams.py", "tables.py"}
"""File names that are used more often than that. This set only becomes shorter."""

UNCLEAR = re.compile(
    r"(^|_)(re)?(say|says|said|saying|tell|tells|told|telling|spoken|worn|net|netted|nets|let_go"
    r"|parcels?|wish(es)?|curious|believed|somebody|quietly)(_|$)"
)
"""Words for which the field has nouns and verbs of its own: emit, consolidate, evict, advance …"""

STILL_UNCLEAR: set[str] = set()
"""Functions and attributes of the engine with such a word. This set only becomes shorter."""


def classes() -> dict[str, list[str]]:
    """The files of each public class of the package, by its name."""
    found = defaultdict(list)
    for path, tree in TREES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(PACKAGE).as_posix())
    return found


def are_counterparts(files: list[str]) -> bool:
    """Whether each of some files is in another one of the folders of counterparts."""
    folders = [folder for file in files for folder in COUNTERPARTS if file.startswith(folder)]
    return len(folders) == len(files) == len({*folders})


def names(tree: ast.Module) -> Iterator[str]:
    """The functions, methods, fields and attributes that a file defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                targets = each.targets if isinstance(each, ast.Assign) else []
                targets += [each.target] if isinstance(each, ast.AnnAssign) else []
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_public_classes_have_names_of_their_own() -> None:
    twice = {
        name: files
        for name, files in classes().items()
        if len(files) > 1 and not are_counterparts(files)
    }
    new = {name: files for name, files in twice.items() if name not in STILL_TWICE}
    assert not new, "say of which operator each is, or begin what only its file uses with _"
    assert {*twice} == STILL_TWICE, "these are used once by now: shorten STILL_TWICE"


def test_few_files_have_the_same_name() -> None:
    files = [path.name for path in TREES if path.name != "__init__.py"]
    often = {name for name in files if files.count(name) > MOST_FILES}
    assert not often - STILL_OFTEN, "name each file by what it holds"
    assert often == STILL_OFTEN, "these are fewer by now: shorten STILL_OFTEN"


def test_the_engine_names_things_in_the_words_of_the_field() -> None:
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {name}"
        for path, tree in TREES.items()
        if path.is_relative_to(PACKAGE / "engine")
        for name in names(tree)
        if UNCLEAR.search(name)
    }
    assert not found - STILL_UNCLEAR, "see `UNCLEAR` for better words"
    assert found == STILL_UNCLEAR, "these are gone by now: shorten STILL_UNCLEAR"
