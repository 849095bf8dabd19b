"""The command `tfnb`, which is also `python -m tfnb`: finds the command that is meant, and lists those there are.

A command's module is imported when it is called. Invariant: importing this module runs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import cast

from tfnb.frontend import Command, commands
from tfnb.release import VERSION

__all__ = ["main"]

_COMMANDS = {
    "doctor": Command(
        "doctor [--fix] [--json] [CHECK ...]",
        "look at this installation, and name the command that mends what is wrong",
        "tfnb.doctor.command_line",
    ),
    "prepare": Command(
        "prepare [--again]",
        "compile the kernels that first programs have in common, as when an image is built",
        "tfnb.preparation.command_line",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process; returns the exit status.

    Arguments that begin with the name of no command are those of the command whose name may be left out.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    available = {**commands(), **_COMMANDS}
    if given == ["--version"]:
        sys.stdout.write(f"tfnb {VERSION}\n")
        return 0
    if not given or given[0] in ("-h", "--help"):
        sys.stdout.write(_help(available))
        return 0 if given else 2
    command = available.get(given[0]) or next(iter(available.values()))
    return cast(int, import_module(command.module).main(given))


def _help(available: Mapping[str, Command]) -> str:
    """The text of `tfnb --help`."""
    usages = [*(f"tfnb {command.usage}" for command in available.values()), "tfnb --version"]
    width = max(map(len, available))
    lines = [f"  {name.ljust(width)}  {command.summary}" for name, command in available.items()]
    heads = ("usage: ", *["       "] * (len(usages) - 1))
    usage = "\n".join(map("".join, zip(heads, usages, strict=True)))
    return "\n".join((usage, "", *lines, "", "`tfnb COMMAND --help` tells more of each.", ""))


if __name__ == "__main__":
    sys.exit(main())
