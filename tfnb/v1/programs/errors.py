"""The errors for files that are no program: there is none, it is of Python 2, or it is no notebook.

Invariant: each says which file it is, and what can be done.
"""

from __future__ import annotations

from pathlib import Path

from tfnb.errors import InvalidArgumentError, NotFoundError

__all__ = ["BadNotebookError", "MissingFileError", "ProgramSyntaxError", "syntax_error"]


class MissingFileError(NotFoundError, FileNotFoundError):
    """There is no program of this name."""


class BadNotebookError(InvalidArgumentError, ValueError):
    """A file is no notebook, or not one of Python."""


class ProgramSyntaxError(InvalidArgumentError, SyntaxError):
    """The text of a program is no Python 3."""


def syntax_error(path: str | Path, error: SyntaxError) -> ProgramSyntaxError:
    """Returns the error for a text that Python does not compile."""
    where = f"{path}:{error.lineno}: {(error.text or '').strip()}"
    hint = "if this is a program of Python 2, convert a copy of it first: pip install fissix; fissix -w FILE"
    return ProgramSyntaxError(f"{error.msg}, in {where}\n{hint}")
