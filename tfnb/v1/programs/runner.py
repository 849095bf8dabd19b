"""Runs a program as `python PROGRAM` does, with tfnb for its `import tensorflow`.

Invariant: the program is the module `__main__`, `sys.argv` and `sys.path` are as Python sets them for a script.
"""

from __future__ import annotations

import os
import runpy
import sys
import tokenize
from collections.abc import Sequence
from types import CodeType, ModuleType

from tfnb.v1.programs.errors import MissingFileError, syntax_error
from tfnb.v1.programs.hook import install
from tfnb.v1.programs.notebooks import run_cells
from tfnb.v1.programs.python_names import give_back

__all__ = ["NOTEBOOK", "compile_program", "run_module", "run_program"]


NOTEBOOK = ".ipynb"  # the end of the name of a file with cells


def run_program(path: str, arguments: Sequence[str] = (), era: str | None = None) -> None:
    """Runs the program in the file `path` with its `arguments`; it may be a notebook, or a folder or archive with a
    `__main__.py`.

    era: see `tfnb.install`. Raises `MissingFileError` if there is no such file, `ProgramSyntaxError` for a program of
    Python 2, and what the program raises.
    """
    if not os.path.exists(path):
        raise MissingFileError(f"there is no file {path}")
    sys.argv[:] = [path, *arguments]
    install(era)
    give_back()
    if path.endswith(NOTEBOOK):
        sys.path[0] = os.path.dirname(os.path.abspath(path))
        run_cells(path, arguments)
        return
    if not os.path.isfile(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    code = compile_program(path)
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    # The program's module stays __main__ after its end, as threads and functions at exit use its names.
    program = ModuleType("__main__")
    program.__file__, program.__builtins__ = path, __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = program
    exec(code, vars(program))


def run_module(name: str, arguments: Sequence[str] = (), era: str | None = None) -> None:
    """Runs a module by its dotted name with its `arguments`, as `python -m NAME` does."""
    sys.argv[:] = [name, *arguments]
    sys.path[0] = os.getcwd()
    install(era)
    give_back()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def compile_program(path: str) -> CodeType:
    """Returns the compiled text of a file. Raises `ProgramSyntaxError` with what to do if it is no Python 3."""
    try:
        with tokenize.open(path) as file:
            source = file.read()
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise syntax_error(path, error) from None
