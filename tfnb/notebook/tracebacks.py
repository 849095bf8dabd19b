"""Errors in a notebook: the user's own cells and lines, without the frames of tfnb.

A mistake in one line of a cell is detected some nine calls deep in tfnb, and IPython shows five or more lines of code
for each call. `install` sets IPython's handler of exceptions, which leaves out the frames of tfnb and shows the
statement at fault between its two neighbours. `%xmode --show`, IPython's own switch for hidden frames, shows all
frames, and `%xmode --hide` hides those of tfnb again. Invariant: an exception keeps its whole traceback; only the text
that IPython shows is shorter. A traceback without a frame of tfnb is shown as it would be without the handler.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from tfnb.errors import name_cells

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["cell_name", "install", "without_our_frames"]

CONTEXT = 3  # the number of statements that are shown of a frame: the faulty statement and its two neighbours

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def install(shell: InteractiveShell) -> None:
    """Names cells by their numbers, and hides the frames of tfnb unless the user has set a handler of exceptions."""
    name_cells(lambda filename: cell_name(shell, filename))
    if not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show)


def cell_name(shell: InteractiveShell, filename: str) -> str | None:
    """Returns `cell [2]` for the file name under which IPython compiled its second cell; None for any other file."""
    label = shell.compile.format_code_name(filename)
    if label is None:
        return None
    kind, name = label  # ("Cell", "In[2]")
    return f"{kind.lower()} {name.removeprefix('In')}"


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Returns the frames of the user, and those of libraries that tfnb did not call; None if no frame is left."""
    entries = []
    in_package = False  # whether tfnb, or a library that tfnb called, is running
    for entry in _entries(traceback):
        filename = entry.tb_frame.f_code.co_filename
        if filename.startswith(_PACKAGE):
            in_package = True
        elif not filename.startswith(_LIBRARIES):
            in_package = False
        if not in_package:
            entries.append(entry)
    shorter = None
    for entry in reversed(entries):
        shorter = TracebackType(shorter, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shorter


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _show(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    """Shows an exception; IPython calls this function as its handler of exceptions."""
    from_package = any(entry.tb_frame.f_code.co_filename.startswith(_PACKAGE) for entry in _entries(traceback))
    if from_package and shell.InteractiveTB.skip_hidden and not hasattr(error, "_render_traceback_"):
        _show_short(shell, kind, error, traceback, tb_offset)
    else:
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset, running_compiled_code=True)


def _show_short(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    traceback: TracebackType | None,
    tb_offset: int | None,
) -> None:
    """Shows an error and its causes without the frames of tfnb, and then restores the tracebacks of the causes."""
    shorter = without_our_frames(traceback)

    def lines() -> list[str]:
        return shell.InteractiveTB.structured_traceback(kind, error, shorter, tb_offset, CONTEXT)

    full_tracebacks = [(e, e.__traceback__) for e in _chain(error)]
    # IPython calls this method of an exception to get the lines to show.
    error._render_traceback_ = lines  # type: ignore[attr-defined]
    try:
        for cause, frames in full_tracebacks:
            cause.__traceback__ = without_our_frames(frames)
        shell.showtraceback((kind, error, shorter), tb_offset=tb_offset, running_compiled_code=True)
    finally:
        del error._render_traceback_  # type: ignore[attr-defined]
        for cause, frames in full_tracebacks:
            cause.__traceback__ = frames


def _chain(error: BaseException) -> list[BaseException]:
    """Returns the error and the errors that Python shows before it: its causes, or the errors that were being
    handled.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and all(current is not e for e in chain):
        chain.append(current)
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)
    return chain
