"""The commands `tfnb run` and `tfnb check`: run programs of TensorFlow 0.x and 1.x, and read them.

Invariant: everything after the program's name belongs to the program.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tfnb.v1.programs.check import check_files
from tfnb.v1.programs.eras import ERAS
from tfnb.v1.programs.errors import BadNotebookError, MissingFileError, ProgramSyntaxError
from tfnb.v1.programs.runner import run_module, run_program

__all__ = ["main"]

_HELP = """usage: tfnb [run] [--era ERA] PROGRAM [ARGUMENT ...]
       tfnb [run] [--era ERA] -m MODULE [ARGUMENT ...]
       tfnb check [--era ERA] PROGRAM [PROGRAM ...]

Runs a program for TensorFlow 0.x or 1.x unchanged: its `import tensorflow` means tfnb. PROGRAM may be a notebook,
whose cells run in their order; `check` takes folders, too.
`check` reads programs without running them and says which names are missing and what will differ.

  --era ERA   the version whose meanings the program expects: 0.6, 0.12, 1.5 or 1.15;
              without it the types of a call's arguments decide
  -m MODULE   run a module by its dotted name
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process; returns the exit status.

    With `tfnb run` that is when the program has ended. Exceptions of the program are not caught.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given and given[0] in ("run", "check") else "run"
    head, rest = _split(given)
    parser = argparse.ArgumentParser(prog="tfnb", add_help=False, allow_abbrev=False)
    parser.add_argument("--era", choices=ERAS)
    parser.add_argument("-m", dest="module")
    parser.add_argument("-h", "--help", action="store_true")
    options = parser.parse_args(head)
    if options.help or not (rest or options.module):
        sys.stdout.write(_HELP)
        return 0 if options.help else 2
    if command == "check":
        return check_files(rest, options.era)
    try:
        if options.module is not None:
            run_module(options.module, rest, options.era)
        else:
            run_program(rest[0], rest[1:], options.era)
    except (ProgramSyntaxError, MissingFileError, BadNotebookError) as error:
        sys.stderr.write(f"tfnb: {error}\n")
        return 1
    return 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Returns the options of `tfnb`, and what follows them: the program and its arguments, or those of the module."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        option = arguments[at]
        at += 2 if option in ("--era", "-m") else 1
        if option == "-m":
            break
    return arguments[:at], arguments[at:]
