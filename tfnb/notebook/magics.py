"""`%load_ext tfnb`: magics for notebooks, `%tfnb`, `%%tfnb_build`, `%%tfnb_profile` and `%%tensorflow`.

`%%tfnb_build` is there as soon as tfnb is imported, since its cells must show their diagrams when a notebook is run.

Invariant: a magic only calls public functions, so a program can do the same.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

from tfnb import frontend
from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.widget import BuilderView, build_cell
from tfnb.notebook.traces.view import timeline
from tfnb.session.default import get_default_session
from tfnb.session.recording import Recording
from tfnb.session.session import Session

__all__ = ["TfnbMagics", "register"]


def register(shell: InteractiveShell) -> None:
    """Registers the magics with an IPython shell."""
    shell.register_magics(TfnbMagics)


@magics_class
class TfnbMagics(Magics):
    """The magics `%tfnb`, `%%tfnb_build`, `%%tfnb_profile` and `%%tensorflow`."""

    @line_magic
    def tfnb(self, line: str) -> Any:
        """Shows the summaries in a folder, as `tf.view` does: `%tfnb LOGDIR`."""
        path = line.strip().strip("\"'")
        if not path:
            raise UsageError("%tfnb needs a folder of event files: %tfnb logs")
        view = getattr(sys.modules["tfnb"], "view", None)
        if view is None:
            raise UsageError("this tfnb has no viewer of event files")
        return view(path)

    @cell_magic
    def tfnb_build(self, line: str, cell: str) -> BuilderView:
        """Shows the code of the cell as a diagram that can be edited: `%%tfnb_build [NAME]`.

        The edits change the cell. With a name, that variable of the notebook is the builder.
        """
        name = line.strip()
        if name and not name.isidentifier():
            raise UsageError(f"%%tfnb_build: needed the name of a variable, got {name!r}")
        view = build_cell(cell)
        if name:
            self.shell.user_ns[name] = view
        return view

    @cell_magic
    def tfnb_profile(self, line: str, cell: str) -> None:
        """Runs the cell, records the steps of its sessions and shows their timeline: `%%tfnb_profile [SESSION]`.

        Without the name of a session it records the default session and all sessions that are variables of the
        notebook.
        """
        recording = Recording()
        with ExitStack() as stack:
            for session in self._sessions(line.strip()):
                stack.enter_context(session.recorded(recording))
            self.shell.run_cell(cell)
        if len(recording):
            display(timeline(recording))
        else:
            sys.stderr.write("%%tfnb_profile: no session ran a step in this cell\n")

    @cell_magic
    def tensorflow(self, line: str, cell: str) -> None:
        """Runs the cell with tfnb for its `import tensorflow`: `%%tensorflow [ERA]`, an era as of `tfnb.install`.

        The names that the cell imports stay usable; in later cells `import tensorflow` means what it meant before.
        """
        try:
            with frontend.import_hook().installation(line.strip() or None):
                self.shell.run_cell(cell)
        except InvalidArgumentError as error:
            raise UsageError(f"%%tensorflow: {error}") from None

    def _sessions(self, name: str) -> list[Session]:
        variables = self.shell.user_ns
        if name:
            session = variables.get(name)
            if not isinstance(session, Session):
                raise UsageError(f"%%tfnb_profile: {name} is no session")
            return [session]
        candidates = [v for v in variables.values() if isinstance(v, Session)]
        default = get_default_session()
        if isinstance(default, Session):
            candidates.append(default)
        sessions = [s for s in dict.fromkeys(candidates) if not s.closed]
        if not sessions:
            raise UsageError("%%tfnb_profile: there is no open session; make one in a cell before")
        return sessions
