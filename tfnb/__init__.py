"""tfnb: a Jupyter-first research environment for stateful dataflow graphs.

`import tfnb as tf` gives the graph-mode API of TensorFlow 0.6 to 1.x. This module is the package's edge: importing it
loads the namespace alone, and each part of the package (operations, training, sessions, devices, widgets) is loaded
when a program first uses one of its names. Invariant: a public name stands in the API table of exactly one module.
"""

from __future__ import annotations

from tfnb.release import VERSION as __version__  # noqa: F401

# isort: split
import sys as _sys
from importlib import import_module as _import_module
from pathlib import Path as _Path
from typing import Any as _Any

from tfnb import errors as errors
from tfnb import frontend as _frontend
from tfnb import lessons as _lessons
from tfnb import summary as _summary
from tfnb import train as _train
from tfnb import upcalls as _upcalls
from tfnb.caches import clear_caches as clear_caches
from tfnb.caches import list_caches as list_caches
from tfnb.client.namespace import Namespace as _Namespace
from tfnb.client.namespace import Tables as _Tables
from tfnb.errors import OpError as OpError

# Their exit functions are registered here, so that those which a program registers after `import tfnb` run before them.
from tfnb.system import progress as _progress  # noqa: F401

# isort: split
from tfnb.system import process_end as _process_end  # noqa: F401

# public name -> module of the source, imported on first use
_MODULES = {"test": "tfnb.train.testing", "notebook": "tfnb.notebook", "datasets": "tfnb.datasets"}
# modules of the source, which are no public names but can be reached
_INNER = frozenset(
    "caches client codegen devices dimension doctor frontend ir ops passes placement release runtime session settings "
    "size_terms size_trace sizes suggestions system types v1".split()
)
# what lower layers need of higher ones (`upcalls.py`): name -> module and function; all others are operations
_UPCALLS = {
    "eval": ("tfnb.session.default", "evaluate"),
    "run": ("tfnb.session.default", "run_operation"),
    "create_op": ("tfnb.client.graph.create_op", "create_op"),
    "default_strategy": ("tfnb.train.distribute.strategies", "default_strategy"),
    "graph": ("tfnb.ir.builder", "GraphBuilder"),
    "shape_message": ("tfnb.ir.graphdef.tensor_proto", "encode_shape"),
}


def __getattr__(name: str) -> _Any:
    module = f"tfnb.{name}" if name in _INNER else _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'tfnb' has no attribute {name!r}")
    value = globals()[name] = _import_module(module)
    return value


def __dir__() -> list[str]:
    names = {*globals(), *_MODULES, *_namespace.names_at("")} - _INNER
    return sorted(n for n in names if not n.startswith("_"))


def load_ipython_extension(shell: _Any) -> None:
    """Adds the magics %tfnb, %%tfnb_build, %%tfnb_profile and %%tensorflow to the `shell`, for `%load_ext tfnb`."""
    _import_module("tfnb.notebook.magics").register(shell)


def _load_upcall(name: str) -> None:
    """Installs a function that a lower layer calls for the first time."""
    module, function = _UPCALLS.get(name, ("tfnb.ops", ""))
    with _namespace.loading:
        loaded = _import_module(module)  # the catalogue installs those of the operations itself
    if function:
        _upcalls.install({name: getattr(loaded, function)})


def _tables() -> _Tables:
    """What the namespace consists of: the names of the core, and what the houses bring."""
    core = _Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8")
    houses = _frontend.names()
    return _Tables(
        (core, *(house.NAMES for house in houses)),
        {place: shown for house in houses for place, shown in house.VIEWS.items()},
        {package: reason for house in houses for package, reason in house.REFUSED_PACKAGES.items()},
        {name: reason for house in houses for name, reason in house.REFUSED_NAMES.items()},
    )


_upcalls.load_by(_load_upcall)
_frontend.enter()
_namespace = _Namespace(_sys.modules[__name__], (errors, _lessons, _summary, _train), _tables)
_finders: _Any = _sys.meta_path
_finders.append(_namespace)

if "IPython" in _sys.modules:
    _import_module("tfnb.notebook.registration").register(lambda: _import_module("tfnb.notebook.displays"))
