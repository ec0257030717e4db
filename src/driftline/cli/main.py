"""The `driftline` command. Only the command that is asked for is loaded: a start is quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer

from driftline.cli.commands.app import app
from driftline.cli.errors import EXIT_BAD, guarded
from driftline.running.environment import concealed
from driftline.running.problems import Problem, one_line

HOMES = {
    "check": "commands.logs",
    "history": "commands.logs",
    "run": "commands.run",
    "explain": "commands.queries",
    "audit": "commands.queries",
    "state": "commands.upkeep",
    "prepare": "commands.upkeep",
    "demo": "demo",
}
"""The module of each command, in the order in which --help shows them."""
COLLECT_AFTER = 500_000
"""How many objects are made before garbage is collected: loading modules makes some 200,000 objects
and no garbage, and each collection goes through those made since the last."""


def load(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command with the one that the arguments name, or else with all."""
    name = next((each for each in arguments if not each.startswith("-")), "")
    for home in [HOMES[name]] if name in HOMES else dict.fromkeys(HOMES.values()):
        import_module(f"driftline.cli.{home}")
    return app


def main() -> None:
    """The entry point of the command."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments  # wherever it stands
    gc.set_threshold(COLLECT_AFTER)
    if debug:
        os.environ["DRIFTLINE_DEBUG"] = "1"  # for Spark, which is quiet else
    code = guarded(lambda: _run([a for a in arguments if a != "--debug"]), debug=debug)
    if "duckdb" not in sys.modules:  # which prints what it calls leaks if nothing is collected
        gc.freeze()  # at the end Python collects twice: there is no need to go through modules
    sys.exit(code)


def _need_once(command: Any, arguments: list[str]) -> None:
    """Refuse a second value for an option that has one: the first would be lost without a word."""
    for part in getattr(command, "commands", {}).values() if arguments else ():
        if part.name != next((each for each in arguments if not each.startswith("-")), None):
            continue
        given = [each.partition("=")[0] for each in arguments[: (*arguments, "--").index("--")]]
        for option in part.params:
            kinds = (getattr(option, each, False) for each in ("multiple", "is_flag", "count"))
            if not any(kinds) and sum(given.count(name) for name in option.opts) > 1:
                raise Problem(f"{option.opts[0]} is given twice: give it once")


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(load(arguments))
    _need_once(command, arguments)
    try:
        result = command.main(arguments, prog_name="driftline", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        usage = getattr(getattr(error, "ctx", None), "command_path", "driftline")
        if error.format_message():  # else the help has been shown, for want of a command
            print(
                f"driftline: {concealed(one_line(error.format_message()))} (see {usage} --help)",
                file=sys.stderr,
            )
        return EXIT_BAD
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
