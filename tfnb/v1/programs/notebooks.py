"""Notebooks as programs: the cells' code for `tfnb check`, and their run one after the other for `tfnb run`.

Invariant: a line of a cell is told by the number of the cell among those with code and its own number, from 1.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tfnb.v1.programs.errors import BadNotebookError

__all__ = ["NotebookCode", "run_cells"]

# Magics of cells whose rest is Python that runs in the notebook's process.
_PYTHON_CELLS = {"capture", "prun", "python3", "time", "timeit", "tensorflow", "tfnb_build", "tfnb_profile"}
_MAGIC_LINE = re.compile(r"^(\s*)(?:[%!?]|[\w.]+\?{1,2}\s*$).*$")
_MAGIC_VALUE = re.compile(r"^(\s*[\w.,\s\[\]]+=\s*)[%!].*$")


def _cells(path: str | os.PathLike[str]) -> list[str]:
    """The sources of the cells with code, of the fourth format or an earlier one, in which cells stand in worksheets.

    Raises `BadNotebookError`, and `OSError` as `open` does.
    """
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    try:
        notebook = json.loads(text)
        language = notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        sheets = notebook.get("worksheets", [notebook])
        cells = [cell for sheet in sheets for cell in sheet["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["input"] if "input" in cell else cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise BadNotebookError(f"{os.fspath(path)} is no notebook: {type(e).__name__}: {str(e)[:200]}") from None
    if str(language).lower() not in ("python", "python2", "python3", ""):
        raise BadNotebookError(f"{os.fspath(path)} is a notebook of {language}, needed Python")
    return sources


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


def run_cells(path: str, arguments: Sequence[str]) -> None:
    """Runs the cells of a notebook in their order, as the command `ipython` does, which knows the magics.

    The first error is printed as a notebook shows it, and ends the process with status 1. What a cell's last line is
    worth is not printed, as with `python`. Raises `BadNotebookError`.
    """
    _cells(path)
    colours = () if sys.stdout.isatty() else ("--colors=nocolor",)
    sys.argv[:] = ["ipython", "--no-banner", "--HistoryManager.enabled=False", *colours, path, "--", *arguments]
    runpy.run_module("IPython", run_name="__main__", alter_sys=True)
