"""Notebooks as programs: the cells' code for `tfnb check`, and their run one after the other for `tfnb run`.

Invariant: a line of a cell is told by the number of the cell among those with code and its own number, from 1.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from tfnb.old_programs.runner import BadNotebookError

__all__ = ["NotebookCode", "run_cells"]

# Magics of cells whose rest is Python that runs in the notebook's process.
_PYTHON_CELLS = {"capture", "prun", "python3", "time", "timeit", "tensorflow", "tfnb_build", "tfnb_profile"}
_MAGIC_LINE = re.compile(r"^(\s*)(?:[%!?]|[\w.]+\?{1,2}\s*$).*$")
_MAGIC_VALUE = re.compile(r"^(\s*[\w.,\s\[\]]+=\s*)[%!].*$")


def _cells(path: str | os.PathLike[str]) -> list[str]:
    """The sources of the cells with code. Raises `BadNotebookError`, and `OSError` as `open` does."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old notebooks have no ids, which nbformat adds
            notebook = nbformat.reads(text, as_version=4)
        language = notebook.metadata.get("kernelspec", {}).get("language", "python")
        cells = [str(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    except Exception as e:
        raise BadNotebookError(f"{os.fspath(path)} is no notebook: {type(e).__name__}: {str(e)[:200]}") from None
    if language.lower() not in ("python", "python2", "python3", ""):
        raise BadNotebookError(f"{os.fspath(path)} is a notebook of {language}, needed Python")
    return cells


@dataclass(frozen=True)
class NotebookCode:
    """The code of a notebook as one text of Python, in which magics and commands of the shell stand as `pass`."""

    text: str
    starts: tuple[int, ...]  # the line of the text before the first line of each cell

    @staticmethod
    def read(path: str | os.PathLike[str]) -> NotebookCode:
        """Reads a notebook. Raises `BadNotebookError`, and `OSError` as `open` does."""
        lines: list[str] = []
        starts = []
        for source in _cells(path):
            starts.append(len(lines))
            lines.extend(_python_lines(source))
        return NotebookCode("\n".join(lines) + "\n", tuple(starts))

    def place(self, line: int) -> str:
        """Returns "cell 3, line 2" for a line of the text."""
        cell = sum(start < line for start in self.starts)
        return f"cell {cell}, line {line - self.starts[cell - 1]}" if cell else f"line {line}"


def _python_lines(source: str) -> list[str]:
    lines = source.splitlines()
    if lines and lines[0].startswith("%%") and lines[0][2:].split(" ")[0].strip() not in _PYTHON_CELLS:
        return ["pass"] * len(lines)  # another language
    found = []
    for line in lines:
        value = _MAGIC_VALUE.match(line)
        magic = _MAGIC_LINE.match(line)
        found.append(f"{value[1]}None" if value else f"{magic[1]}pass" if magic else line)
    return found


def run_cells(path: str) -> None:
    """Runs the cells of a notebook in their order, in a shell of IPython, which knows the magics.

    What cells display is printed. The first error is printed as a notebook shows it, on standard error, and ends the
    process with status 1. Raises `BadNotebookError`.
    """
    cells = _cells(path)
    shell = _shell()
    for source in cells:
        result = shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if isinstance(error, SystemExit):
            raise error
        if error is not None:
            raise SystemExit(1)


def _shell() -> InteractiveShell:
    """A shell whose cells are the module `__main__`. It keeps no history, and writes its files into a folder of its
    own, which the process removes at its end.
    """
    folder = tempfile.mkdtemp(prefix="tfnb-notebook-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config = Config()
    config.HistoryManager.enabled = False
    if not sys.stderr.isatty():
        config.InteractiveShell.colors = "nocolor"
    program = ModuleType("__main__")
    program.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = program
    shell: InteractiveShell = _Shell.instance(config=config, ipython_dir=folder, user_module=program)
    return shell


class _Shell(InteractiveShell):
    """A shell that prints errors where those of other programs go."""

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        sys.stderr.write(f"{self.InteractiveTB.stb2text(stb)}\n")
