"""Imports are held to the table of layers in CONTRIBUTING.md, folders to their `__init__`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "driftline"
NO_MODULES = ("__init__", "__main__")

# Imports that break the table, each with the reason why it may.
EXCEPTIONS = {
    ("driftline.sql", "api"): "driftline.sql(…) gives a Query",
    ("driftline.sql", "spark"): "… or one over DataFrames",
    ("driftline.api.streams", "spark"): "stream(df) gives a query over DataFrames",
}


class Layer(NamedTuple):
    """`peers`: all layers in one row of the table; `knows`: those it may import, None if all."""

    peers: tuple[str, ...]
    knows: frozenset[str] | None

    def may_import(self, other: str) -> bool:
        return self.knows is None or other in self.knows or other in self.peers


def layers(page: Path) -> dict[str, Layer]:
    """The table of layers on a page."""
    table = re.search(
        r"^\| layer \| knows \|.*?\n\|[-|]+\n(.*?)\n\n", page.read_text(), re.M | re.S
    )
    assert table is not None
    found: dict[str, Layer] = {}
    for line in table[1].splitlines():
        names, listed, _ = (cell.strip() for cell in line.strip("|").split("|"))
        knows = {"nothing": frozenset[str](), "all": None}.get(
            listed, frozenset(listed.split(", "))
        )
        peers = tuple(names.split(", "))
        found |= dict.fromkeys(peers, Layer(peers, knows))
    return found


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(nodes: Iterator[ast.AST]) -> Iterator[tuple[str, int]]:
    """The modules of this package that some nodes of a syntax tree import, with their lines."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else str(node.module) for name in within]
        else:
            continue
        for name in names:
            if name.split(".")[0] == PACKAGE.name:
                yield name, node.lineno


def when_loaded(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded: none inside functions or for types alone."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from when_loaded(node.orelse)
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from when_loaded(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from when_loaded(handler.body)


def layer(module: str) -> str | None:
    """The layer of a module; None is the package itself, which gives out the public names."""
    return (*module.split("."), None)[1]


def need_no_cycle(needs: dict[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way[way.index(name) :], name))
        if name not in done:
            for other in sorted(needs[name]):
                visit(other, (*way, name))
            done.add(name)

    for name in sorted(needs):
        visit(name, ())


def test_every_import_is_one_that_the_table_of_layers_allows() -> None:
    table = layers(ROOT / "CONTRIBUTING.md")
    wrong, needed = [], set()
    for module, path in MODULES.items():
        own = layer(module)
        if own is None:
            continue
        assert own in table, f"{own} is not in the table of layers in CONTRIBUTING.md"
        for name, line in imported(ast.walk(ast.parse(path.read_text()))):
            other = layer(name)
            if other is None or table[own].may_import(other):
                continue
            if (module, other) in EXCEPTIONS:
                needed.add((module, other))
            else:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {own} does not know {other}")
    assert not wrong, "\n".join(wrong)
    assert needed == set(EXCEPTIONS), "these exceptions are not needed any more: remove them"


def test_the_layers_of_the_table_exist_and_have_no_cycle() -> None:
    table = layers(ROOT / "CONTRIBUTING.md")
    for name in table:
        assert (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file(), name
    rows = {row.peers[0]: row.knows or () for row in table.values()}
    need_no_cycle(
        {name: {table[other].peers[0] for other in knows} for name, knows in rows.items()}
    )


def test_the_design_shows_the_same_layers() -> None:
    assert layers(ROOT / "docs" / "design.md") == layers(ROOT / "CONTRIBUTING.md")


def rooms_of_the_engine() -> dict[str, set[str]]:
    """Which rooms of the engine each room needs when it is loaded."""
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if layer(module) != "engine" or module == "driftline.engine":
            continue
        own = module.split(".")[2]
        needs = found.setdefault(own, set())
        for name, _ in imported(when_loaded(ast.parse(path.read_text()).body)):
            if layer(name) == "engine" and name != "driftline.engine":
                needs |= {name.split(".")[2]} - {own}
    return found


def test_no_rooms_of_the_engine_need_each_other() -> None:
    need_no_cycle(rooms_of_the_engine())


FOLDERS = sorted({path.parent for path in MODULES.values()})


@pytest.mark.parametrize("folder", FOLDERS, ids=module_name)
def test_every_folder_says_what_is_in_it(folder: Path) -> None:
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert text, f"{folder} has an __init__ without a docstring"
    inside = {path.stem for path in folder.glob("*.py")} - set(NO_MODULES)
    inside |= {path.name for path in folder.iterdir() if (path / "__init__.py").is_file()}
    silent = [name for name in sorted(inside) if not re.search(rf"\b{name}\b", text)]
    assert not silent, f"{folder.name}/__init__.py does not say what these are: {silent}"


def test_every_file_of_the_engine_has_a_test_or_a_neighbour_that_has_one() -> None:
    engine = PACKAGE / "engine"
    for folder in (path for path in FOLDERS if path.is_relative_to(engine)):
        tests = ROOT / "tests" / folder.relative_to(PACKAGE)
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
        assert list(tests.glob("test_*.py")), f"there is no test for {folder.name}"
        for path in folder.glob("*.py"):
            mirrored = (tests / f"test_{path.stem}.py").is_file()
            assert mirrored or path.stem == "__init__" or path.stem in text, path
