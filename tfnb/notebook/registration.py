"""What `import tfnb` in a running IPython registers there: rich displays, error texts, progress and a magic.

On a machine where no notebook has imported it before, the import starts the preparation of the cache of kernels.

Invariant: classes are registered by their names and displays load on first use, so that the import loads neither graphs
nor sessions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from IPython import get_ipython

import tfnb.notebook as notebook
from tfnb.notebook.progress import WaitView
from tfnb.notebook.replaceable_output import in_kernel
from tfnb.notebook.tracebacks import install as install_tracebacks
from tfnb.preparation.state import start as start_preparation
from tfnb.system.progress import set_view

__all__ = ["register"]

# module, class, the display in `tfnb.notebook.displays`
_DISPLAYS = (
    ("tfnb.caches", "Caches", "caches_html"),
    ("tfnb.client.variables.variable", "Variable", "variable_html"),
    ("tfnb.ir.builder", "GraphBuilder", "graph_html"),
    ("tfnb.ir.operation", "Operation", "operation_html"),
    ("tfnb.ir.tensor", "Tensor", "tensor_html"),
    ("tfnb.lessons.checking", "Progress", "progress_html"),
    ("tfnb.session.config", "RunMetadata", "steps_html"),
    ("tfnb.session.local", "DeviceDescription", "device_html"),
    ("tfnb.session.recording", "Recording", "steps_html"),
    ("tfnb.session.session", "Session", "session_html"),
)


class _Display:
    """A display that is loaded when something is shown."""

    def __init__(self, load: Callable[[], ModuleType], name: str) -> None:
        self._load, self._name = load, name

    def __call__(self, value: object) -> Any:
        return getattr(self._load(), self._name)(value)


def register(load: Callable[[], ModuleType]) -> None:
    """Registers the displays with a running IPython; without one it does nothing.

    load: returns the module `tfnb.notebook.displays`.
    """
    shell = get_ipython()
    if shell is None:
        return
    install_tracebacks(shell)
    if in_kernel():
        set_view(WaitView)
        start_preparation()
    shell.register_magic_function(_tfnb_build, "cell", "tfnb_build")
    html = shell.display_formatter.formatters["text/html"]
    for module, name, display in _DISPLAYS:
        html.for_type_by_name(module, name, _Display(load, display))


def _tfnb_build(line: str, cell: str) -> object:
    """Shows the code of the cell as a diagram that can be edited: `%%tfnb_build [NAME]`."""
    shell = get_ipython()
    notebook.register_magics(shell)  # these include the real %%tfnb_build, whose modules are imported only now
    return shell.run_cell_magic("tfnb_build", line, cell)
