"""Errors in a notebook: the user's own cells and lines, without the frames of tfnb.

A mistake in one line of a cell is detected some nine calls deep in tfnb, and IPython shows five or more lines of code
for each call. `install` sets IPython's handler of exceptions, which leaves out the frames of tfnb and shows the
statement at fault between its two neighbours. `%xmode --show`, IPython's own switch for hidden frames, shows all
frames, and `%xmode --hide` hides those of tfnb again. Invariant: an exception keeps its whole traceback; only the text
that IPython shows is shorter. A traceback without a frame of tfnb is shown as it would be without the handler.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from tfnb.errors import name_cells
from tfnb.suggestions import did_you_mean

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["cell_name", "install", "name_near_keyword", "without_our_frames"]

CONTEXT = 3  # the number of statements that are shown of a frame: the faulty statement and its two neighbours

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(?P<keyword>\w+)'$")


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
    if isinstance(error, TypeError):
        name_near_keyword(error, traceback)
    from_package = any(entry.tb_frame.f_code.co_filename.startswith(_PACKAGE) for entry in _entries(traceback))
    if from_package and shell.InteractiveTB.skip_hidden and not hasattr(error, "_render_traceback_"):
        _show_short(shell, kind, error, traceback, tb_offset)
    else:
        shell.showtraceback((kind, error, traceback), tb_offset=tb_offset, running_compiled_code=True)


def name_near_keyword(error: TypeError, traceback: TracebackType | None) -> None:
    """Adds the keyword that was meant to Python's message of one that a function of tfnb does not have.

    The call itself runs no code of tfnb, so the function is the one that the statement at fault names.
    """
    match = _UNEXPECTED.search(str(error))
    *_, last = [None, *_entries(traceback)]
    if match is None or last is None:
        return
    for function in _called(last, match["keyword"]):
        try:
            known = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        if str(getattr(function, "__module__", "")).partition(".")[0] == "tfnb" and match["keyword"] not in known:
            error.args = (f"{error}{did_you_mean(match['keyword'], known)}", *error.args[1:])
            return


def _called(entry: TracebackType, keyword: str) -> Iterator[Callable[..., object]]:
    """Yields the functions that the statement of a frame calls by their names, with this keyword."""
    frame = entry.tb_frame
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError):  # magics of IPython, for example
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.lineno <= entry.tb_lineno <= (node.end_lineno or node.lineno):
            continue
        if any(k.arg == keyword for k in node.keywords):
            function = _looked_up(node.func, {**frame.f_builtins, **frame.f_globals, **frame.f_locals})
            if callable(function):
                yield function


def _looked_up(expression: ast.expr, names: Mapping[str, object]) -> object:
    """Returns the value of a name, or of a name in a module or a class; None for any other expression."""
    if isinstance(expression, ast.Name):
        return names.get(expression.id)
    if isinstance(expression, ast.Attribute):
        owner = _looked_up(expression.value, names)
        # A property of an object would run code, one of its class does not.
        place = owner if isinstance(owner, ModuleType | type) else type(owner)
        return getattr(place, expression.attr, None)
    return None


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
